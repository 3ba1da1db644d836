package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// site is the merge of node.conf over cluster.conf. Immutable.
type site struct {
	node, cluster *cachedFile // what it was made of
	doc           *config.Document

	// The settings, decoded when first asked for.
	clusterSettings func() (*schema.ClusterSettings, error)
	nodeSettings    func() (*schema.NodeSettings, error)
}

// Merged returns the configuration the node lives by: that of the cluster, where
// each keyword of node.conf, whatever its scope, hides the same keyword.
func (s *Store) Merged() (*config.Document, error) {
	doc, err := s.merged()
	if err != nil {
		return nil, err
	}
	return doc.Clone(), nil
}

// merged returns a shared document.
func (s *Store) merged() (*config.Document, error) {
	m, err := s.site()
	if err != nil {
		return nil, err
	}
	return m.doc, nil
}

func (s *Store) site() (*site, error) {
	node, err := s.loadOrEmpty(object.Path{})
	if err != nil {
		return nil, err
	}
	cluster, err := s.loadOrEmpty(object.Cluster())
	if err != nil {
		return nil, err
	}
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	known := s.shared.site
	if known != nil && same(known.node, node) && same(known.cluster, cluster) {
		return known, nil
	}
	doc, err := merge(cluster.Doc, node.Doc, s.schema(""))
	if err != nil {
		return nil, fmt.Errorf("merge %s over %s: %w", node.Name, cluster.Name, err)
	}
	fresh := &site{node: node, cluster: cluster, doc: doc}
	fresh.clusterSettings = sync.OnceValues(func() (*schema.ClusterSettings, error) { return s.decodeCluster(doc) })
	fresh.nodeSettings = sync.OnceValues(func() (*schema.NodeSettings, error) { return s.decodeNode(doc) })
	s.shared.site = fresh
	return fresh, nil
}

// same tells whether two loads saw the same file; missing ones are all the same.
func same(a, b *cachedFile) bool { return a == b || a.Checksum == "" && b.Checksum == "" }

func merge(cluster, node *config.Document, sch *keyword.Schema) (*config.Document, error) {
	doc := cluster.Clone()
	find := sch.Finder(node)
	var fresh, hidden []config.Key
	for _, section := range node.Sections() {
		names := map[string]bool{}
		for _, key := range node.Keys(section) {
			fresh = append(fresh, key)
			for _, name := range spellings(find, key) {
				names[name] = true
			}
		}
		for _, key := range doc.Keys(section) {
			if names[key.Option] {
				hidden = append(hidden, key)
			}
		}
	}
	doc.UnsetAll(hidden)
	for _, key := range fresh {
		value, _ := node.Get(key)
		if err := doc.Set(key, value); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// spellings lists the names of the keyword a key sets: its own, then its aliases.
func spellings(find func(section, option string) (*keyword.Keyword, error), key config.Key) []string {
	k, err := find(key.Section, key.Option)
	if err != nil {
		return []string{key.Option}
	}
	return append([]string{key.Option, k.Name}, k.Aliases...)
}

// siteEvaluator reads the merged configuration as a node does. Of the other
// nodes, only what cluster.conf says is known.
func (s *Store) siteEvaluator(asNode string) (*config.Evaluator, error) {
	doc, err := s.merged()
	if err != nil {
		return nil, err
	}
	return s.evaluator(object.Path{}, doc, asNode), nil
}

// Cluster returns the settings of the cluster section.
func (s *Store) Cluster() (*schema.ClusterSettings, error) {
	m, err := s.site()
	if err != nil {
		return nil, err
	}
	shared, err := m.clusterSettings()
	if err != nil {
		return nil, err
	}
	own := *shared
	return &own, nil
}

func (s *Store) decodeCluster(doc *config.Document) (*schema.ClusterSettings, error) {
	c, t := &schema.ClusterSettings{}, &keyword.Table{}
	c.Keywords(t)
	if err := keyword.Decode(s.evaluator(object.Path{}, doc, ""), "cluster", t, keyword.Context{}); err != nil {
		return nil, err
	}
	if len(c.Nodes) == 0 {
		c.Nodes = []string{s.host.Hostname}
	}
	if len(c.CA) == 0 {
		c.CA = []string{object.SystemNamespace + "/sec/ca"}
	}
	if c.Cert == "" {
		c.Cert = object.SystemNamespace + "/sec/cert"
	}
	return c, nil
}

// Node returns the settings of the node section.
func (s *Store) Node() (*schema.NodeSettings, error) {
	m, err := s.site()
	if err != nil {
		return nil, err
	}
	shared, err := m.nodeSettings()
	if err != nil {
		return nil, err
	}
	own := *shared
	return &own, nil
}

func (s *Store) decodeNode(doc *config.Document) (*schema.NodeSettings, error) {
	n, t := &schema.NodeSettings{}, &keyword.Table{}
	n.Keywords(t)
	n.PrivateKeywords(t)
	if err := keyword.Decode(s.evaluator(object.Path{}, doc, ""), "node", t, keyword.Context{}); err != nil {
		return nil, err
	}
	return n, nil
}

// Listener returns the settings of the listener section.
func (s *Store) Listener() (*schema.ListenerSettings, error) {
	l := &schema.ListenerSettings{}
	if err := s.decodeSite("listener", l.Keywords); err != nil {
		return nil, err
	}
	return l, nil
}

func (s *Store) decodeSite(section string, keywords func(*keyword.Table)) error {
	ev, err := s.siteEvaluator("")
	if err != nil {
		return err
	}
	t := &keyword.Table{}
	keywords(t)
	return keyword.Decode(ev, section, t, s.Context())
}

// Heartbeats returns the settings of the hb sections as a node reads them, in the
// order written; "" is this one. What node.conf of another one says is not known. A
// section that cannot be read is left out, and the error says why.
func (s *Store) Heartbeats(asNode string) ([]schema.HeartbeatSettings, error) {
	doc, err := s.siteAs(asNode)
	if err != nil {
		return nil, err
	}
	var all []schema.HeartbeatSettings
	var errs []error
	for _, section := range doc.Sections() {
		if !strings.HasPrefix(section, "hb#") {
			continue
		}
		h, err := s.heartbeat(doc, section, asNode)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, h)
	}
	return all, errors.Join(errs...)
}

func (s *Store) heartbeat(doc *config.Document, section, asNode string) (h schema.HeartbeatSettings, err error) {
	driver, err := s.Schema(object.Path{}).Driver(doc, section)
	if err != nil {
		return h, err
	}
	h.Name = section
	t := &keyword.Table{}
	h.KeywordsOf(strings.TrimPrefix(driver, "hb."), t)
	return h, keyword.Decode(s.evaluator(object.Path{}, doc, asNode), section, t, s.Context())
}

// Arbitrators returns the settings of the arbitrator sections, in the order written.
func (s *Store) Arbitrators() ([]schema.ArbitratorSettings, error) {
	doc, err := s.merged()
	if err != nil {
		return nil, err
	}
	var all []schema.ArbitratorSettings
	for _, section := range doc.Sections() {
		name, ok := strings.CutPrefix(section, "arbitrator#")
		if !ok {
			continue
		}
		a := schema.ArbitratorSettings{Name: name}
		if err := s.decodeSite(section, a.Keywords); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// Stonith returns the command that fences a node; nil when there is none.
func (s *Store) Stonith(node string) ([]string, error) {
	doc, err := s.merged()
	if err != nil {
		return nil, err
	}
	section := "stonith#" + node
	if !slices.Contains(doc.Sections(), section) {
		return nil, nil
	}
	var settings schema.StonithSettings
	if err := s.decodeSite(section, settings.Keywords); err != nil {
		return nil, err
	}
	return settings.Command, nil
}

// siteAs returns the configuration a node lives by, as far as it is known here.
func (s *Store) siteAs(node string) (*config.Document, error) {
	if node == "" || node == s.host.Hostname {
		return s.merged()
	}
	f, err := s.loadOrEmpty(object.Cluster())
	if err != nil {
		return nil, err
	}
	return f.Doc, nil
}

// ClusterSecret returns what the keys of the cluster are derived from; empty
// before the first start of a daemon.
func (s *Store) ClusterSecret() (secret.String, error) {
	ev, err := s.siteEvaluator("")
	if err != nil {
		return secret.String{}, err
	}
	text, _, err := ev.Value("cluster", config.Option{Name: "secret", Scopable: true})
	if err != nil {
		return secret.String{}, fmt.Errorf("cluster.secret: %w", err)
	}
	return secret.New(text), nil
}

// Nodes returns the nodes of the cluster, in the order of the configuration;
// this one when there is no cluster. It is nil when the cluster configuration
// cannot be read, which [Store.Cluster] explains: this one if [Store.Degraded].
func (s *Store) Nodes() []string {
	c, err := s.Cluster()
	if err != nil && s.degraded {
		return []string{s.host.Hostname}
	}
	if err != nil {
		return nil
	}
	return c.Nodes
}

// Labels returns the labels of this node.
func (s *Store) Labels() (map[string]string, error) {
	ev, err := s.siteEvaluator("")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, key := range ev.Doc.Keys("labels") {
		value, _, err := ev.Value("labels", config.Option{Name: key.Option, Inherit: config.LeafOnly})
		if err != nil {
			return nil, fmt.Errorf("labels.%s: %w", key.Option, err)
		}
		out[key.Option] = value
	}
	return out, nil
}

// NodeLabels returns the labels of the nodes, as far as they are known here:
// those of the peers come from what the daemon last heard of them.
func (s *Store) NodeLabels() map[string]map[string]string {
	var info map[string]struct {
		Labels map[string]string `json:"labels"`
	}
	out := map[string]map[string]string{}
	data, err := os.ReadFile(filepath.Join(s.host.Paths.Var(), "nodes_info.json"))
	if err == nil && json.Unmarshal(data, &info) == nil {
		for node, known := range info {
			out[node] = known.Labels
		}
	}
	if own, err := s.Labels(); err == nil {
		out[s.host.Hostname] = own
	}
	return out
}

// Context gives the keyword converters the nodes of the cluster. Names that are
// not those of its nodes are kept: refusing them is for [Store.Validate].
func (s *Store) Context() keyword.Context {
	return keyword.Context{Nodes: func(selector string) ([]string, error) {
		sel, err := object.ParseNodeSelector(selector)
		if err != nil {
			return nil, err
		}
		var labels map[string]map[string]string
		if sel.HasLabels() {
			labels = s.NodeLabels()
		}
		nodes := s.Nodes()
		if nodes == nil && (sel.HasLabels() || object.HasGlob(selector)) { // nobody knows who that is
			if _, err := s.Cluster(); err != nil {
				return nil, err
			}
		}
		return sel.Expand(nodes, labels), nil
	}}
}

// knownNodes lists the members of the cluster, disaster recovery nodes included.
func (s *Store) knownNodes() ([]string, error) {
	c, err := s.Cluster()
	if err != nil {
		return nil, err
	}
	return slices.Concat(c.Nodes, c.DRPNodes), nil
}
