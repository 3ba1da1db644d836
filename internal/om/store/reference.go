package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// references answers what the text of a configuration refers to beyond the
// configuration itself. What exists only while resources run is postponed: who
// runs them wraps the Lookup of the evaluator.
type references struct {
	store *Store
	path  object.Path
	doc   *config.Document
	node  string
	scope *config.Scope // nil while it is evaluated
}

func (r *references) lookup(section, name string) (value string, ok bool, err error) {
	if value, ok = r.ofNode(section, name); ok {
		return value, true, nil
	}
	if value, ok = r.ofObject(name); ok {
		return value, true, nil
	}
	if value, ok, err = r.ofCluster(name); ok || err != nil {
		return value, ok, err
	}
	if value, ok = r.ofScope(section, name); ok {
		return value, true, nil
	}
	if runtimeReference(r.doc, name) {
		return "", false, config.ErrPostponed
	}
	return r.ofSite(name)
}

// ofNode answers with what every configuration may say of where it is evaluated.
func (r *references) ofNode(section, name string) (string, bool) {
	group, index, indexed := strings.Cut(section, "#")
	if !indexed {
		index = section
	}
	paths := r.store.host.Paths
	switch name {
	case "nodename":
		return r.node, true
	case "short_nodename":
		return short(r.node), true
	case "rid":
		return section, true
	case "rindex":
		return index, true
	case "rgroup":
		return group, true
	case "svcmgr":
		return r.store.host.Self + " svc", true
	case "nodemgr":
		return r.store.host.Self + " node", true
	case "etc":
		return paths.Etc(), true
	case "var":
		return paths.Var(), true
	case "dns_janitor_major":
		return "3", true
	case "dnsuxsockd":
		return filepath.Join(paths.Var(), "dns"), true
	case "dnsuxsock":
		return filepath.Join(paths.Var(), "dns", "pdns.sock"), true
	}
	return "", false
}

// ofObject answers with the names of the object.
func (r *references) ofObject(name string) (string, bool) {
	p := r.path
	if p.IsZero() {
		if name == "namespace" {
			return object.SystemNamespace, true
		}
		return "", false
	}
	switch name {
	case "name", "svcname":
		return p.Name, true
	case "short_name":
		return short(p.Name), true
	case "scaler_name":
		return withoutSlice(p.Name), true
	case "scaler_short_name":
		return short(withoutSlice(p.Name)), true
	case "namespace":
		return p.Namespace, true
	case "kind":
		return string(p.Kind), true
	case "path", "svcpath":
		return p.String(), true
	case "private_var":
		return r.store.stateDir(p), true
	case "initd":
		return strings.TrimSuffix(r.store.FileName(p), ".conf") + ".d", true
	}
	return "", false
}

// ofCluster answers with facts of the merged cluster configuration. Unlike
// {cluster.secret}, which no object may refer to, these are no secrets.
func (r *references) ofCluster(name string) (string, bool, error) {
	switch name {
	case "fqdn", "domain", "clusterid", "clustername", "clusternodes", "dns", "dnsnodes":
	case "collector_api":
		return r.collector()
	default:
		return "", false, nil
	}
	if _, own := r.doc.Get(config.Key{Section: config.DefaultSection, Option: name}); own && isSite(r.path) {
		return "", false, nil
	}
	c, err := r.store.Cluster()
	if err != nil {
		return "", false, err
	}
	if name == "clusterid" && c.ID == "" || (name == "fqdn" || name == "domain" || name == "clustername") && c.Name == "" {
		return "", false, errNoCluster()
	}
	switch name {
	case "fqdn":
		return r.path.FQDN(c.Name), !r.path.IsZero(), nil
	case "domain":
		return r.path.Domain(c.Name), !r.path.IsZero(), nil
	case "clusterid":
		return c.ID, true, nil
	case "clustername":
		return c.Name, true, nil
	case "dns":
		return strings.Join(c.DNS, " "), true, nil
	default: // clusternodes, dnsnodes
		return strings.Join(c.Nodes, " "), true, nil
	}
}

// errNoCluster is for the references to a name that is to come: a value made
// without it would change, and what was made for the former value would be lost.
func errNoCluster() error {
	return errors.New("the cluster has no identity yet: start the daemon once, it makes one, or choose its name with om cluster config update --set cluster.name=<name>")
}

func (r *references) collector() (string, bool, error) {
	for _, key := range []config.Key{{Section: "collector", Option: "url"}, {Section: "node", Option: "collector"}, {Section: "node", Option: "dbopensvc"}} {
		value, _, err := r.store.siteValue(r.node, key.Section, key.Option)
		if err != nil || value != "" {
			return value, err == nil, err
		}
	}
	return "", false, errors.New("no collector is configured: set collector.url with om cluster config update")
}

// ofScope answers with the node lists of the object, selectors expanded, unless
// the section has an option of that name.
func (r *references) ofScope(section, name string) (string, bool) {
	if r.scope == nil || isSite(r.path) {
		return "", false
	}
	if section != config.DefaultSection && r.doc.Mentions(section, name) {
		return "", false
	}
	switch strings.TrimPrefix(name, config.DefaultSection+".") {
	case "nodes":
		return strings.Join(r.scope.Nodes, " "), true
	case "drpnodes":
		return strings.Join(r.scope.DRPNodes, " "), true
	case "encapnodes":
		return strings.Join(r.scope.EncapNodes, " "), true
	}
	return "", false
}

// ofSite answers {node.<option>} and {node.<section>.<option>} out of the node
// configuration, for the sections that hold no secret, and {labels.<name>} with
// the label of the node when the configuration has none of that name.
func (r *references) ofSite(name string) (string, bool, error) {
	if label, ok := strings.CutPrefix(name, "labels."); ok && !r.doc.Mentions("labels", label) {
		return r.siteReference(name, "labels", label)
	}
	rest, ok := strings.CutPrefix(name, "node.")
	if !ok || isSite(r.path) && r.doc.Mentions("node", rest) {
		return "", false, nil
	}
	section, option, dotted := strings.Cut(rest, ".")
	switch {
	case !dotted:
		return r.siteReference(name, "node", rest)
	case section == "env", section == "labels", section == "node":
		return r.siteReference(name, section, option)
	default:
		return "", false, fmt.Errorf("section %s of the node configuration may not be referred to: only env, labels and node are", section)
	}
}

func (r *references) siteReference(name, section, option string) (string, bool, error) {
	if section == "node" && !isSite(r.path) && slices.Contains(siteSecrets(), strings.ToLower(option)) {
		return "", false, fmt.Errorf("node.%s of the node configuration may not be referred to: it is a secret of the node", option)
	}
	value, found, err := r.store.siteValue(r.node, section, option)
	if err == nil && !found {
		err = fmt.Errorf("the node configuration sets no %s.%s, referred to as {%s}", section, option, name)
	}
	return value, found, err
}

// siteSecrets lists the keywords of the node that are nobody else's: who holds its
// reservation key may take its disks, and its uuid is its password at the collector.
func siteSecrets() []string { return []string{"prkey", "uuid"} }

// siteValue evaluates a keyword of the merged configuration as a node does.
func (s *Store) siteValue(node, section, option string) (value string, found bool, err error) {
	ev, err := s.siteEvaluator(node)
	if err != nil {
		return "", false, err
	}
	o, ok := ev.Options(section, option)
	if !ok {
		return "", false, nil
	}
	return ev.Value(section, o)
}

// runtimeReference tells the references to what exists only once a resource of
// the configuration runs.
func runtimeReference(doc *config.Document, name string) bool {
	section, option, ok := strings.Cut(name, ".")
	if !ok || !strings.Contains(section, "#") || !doc.Has(section) || doc.Mentions(section, option) {
		return false
	}
	base, _, _ := strings.Cut(option, ".") // uid.0
	switch base {
	case "exposed_devs", "capacity", "free", "uid", "gid":
		return true
	case "mnt":
		return strings.HasPrefix(section, "volume#")
	}
	return false
}

func short(name string) string {
	before, _, _ := strings.Cut(name, ".")
	return before
}

// withoutSlice drops the index of a scaler slice: "3.web" is a slice of "web".
func withoutSlice(name string) string { return strings.TrimLeft(name, "0123456789.") }
