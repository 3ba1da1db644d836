package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// Setup is a cluster before anything happens to it. The configurations are those
// of a real one: what the simulation does not need of them is not looked at.
type Setup struct {
	Cluster *config.Document
	Objects []Object
}

// Object is the configuration of an object.
type Object struct {
	Path object.Path
	Doc  *config.Document
}

// NewSetup parses configurations by the names of their files: cluster.conf, and
// web.conf, svc/web.conf or test/svc/web.conf for objects.
func NewSetup(files map[string]string) (Setup, error) {
	var s Setup
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		doc, err := config.Parse([]byte(files[name]))
		if err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		bare, ok := strings.CutSuffix(name, ".conf")
		if !ok {
			return s, fmt.Errorf("%s: the name of a configuration ends with .conf", name)
		}
		if bare == "cluster" {
			s.Cluster = doc
			continue
		}
		p, err := object.Parse(bare)
		if err != nil {
			return s, fmt.Errorf("%s: %w: name the file after its object, as web.conf or test/svc/web.conf", name, err)
		}
		s.Objects = append(s.Objects, Object{Path: p, Doc: doc})
	}
	if s.Cluster == nil {
		return s, errors.New("no cluster.conf: add one with a [cluster] section, and its nodes")
	}
	return s, nil
}

// site is what the cluster configuration says.
type site struct {
	names       []string
	quorum      bool
	beats       []heartbeat
	arbitrators []arbitrator
	fences      map[string]bool // nodes that have a stonith section
}

type heartbeat struct {
	name              string
	interval, timeout time.Duration
}

// arbitrator is a server whose vote counts.
type arbitrator struct {
	name   string
	weight int
	// exclusive: it is an agent, and gives its vote to one half of a split only.
	exclusive bool
}

func readSite(doc *config.Document) (site, error) {
	s := site{fences: map[string]bool{}}
	var settings schema.ClusterSettings
	t := &keyword.Table{}
	settings.Keywords(t)
	ev := &config.Evaluator{Doc: doc}
	if err := keyword.Decode(ev, "cluster", t, keyword.Context{}); err != nil {
		return s, fmt.Errorf("cluster.conf: %w", err)
	}
	s.names, s.quorum = slices.Concat(settings.Nodes, settings.DRPNodes), settings.Quorum
	if len(s.names) == 0 {
		return s, errors.New("cluster.conf: no nodes: add nodes = n1 n2 n3 to the section [cluster]")
	}
	for _, section := range doc.Sections() {
		group, name, _ := strings.Cut(section, "#")
		var err error
		switch group {
		case "hb":
			err = s.readHeartbeat(ev, section)
		case "arbitrator":
			err = s.readArbitrator(ev, section)
		case "stonith":
			s.fences[name] = true
		}
		if err != nil {
			return s, fmt.Errorf("cluster.conf: [%s]: %w", section, err)
		}
	}
	if len(s.beats) == 0 {
		s.beats = []heartbeat{{"hb#1", 5 * time.Second, 15 * time.Second}}
	}
	return s, nil
}

func (s *site) readHeartbeat(ev *config.Evaluator, section string) error {
	h := schema.HeartbeatSettings{}
	t := &keyword.Table{}
	h.Keywords(t)
	if err := keyword.Decode(ev, section, t, keyword.Context{}); err != nil {
		return err
	}
	s.beats = append(s.beats, heartbeat{section, h.Interval, h.Timeout})
	return nil
}

func (s *site) readArbitrator(ev *config.Evaluator, section string) error {
	a := arbitrator{name: strings.TrimPrefix(section, "arbitrator#")}
	var uri string
	t := &keyword.Table{}
	t.String(&uri, "uri", "")
	t.Int(&a.weight, "weight", "").Default("1")
	t.Bool(&a.exclusive, "exclusive", "").Default("false")
	if err := keyword.Decode(ev, section, t, keyword.Context{}); err != nil {
		return err
	}
	s.arbitrators = append(s.arbitrators, a)
	return nil
}

// nodeConfig is the configuration of a node.
func (s *site) nodeConfig(doc *config.Document, node string) (cluster.NodeConfig, error) {
	var settings schema.NodeSettings
	t := &keyword.Table{}
	settings.Keywords(t)
	ev := &config.Evaluator{Doc: doc, Scope: config.Scope{Node: node, Nodes: s.names}}
	if err := keyword.Decode(ev, "node", t, keyword.Context{}); err != nil {
		return cluster.NodeConfig{}, fmt.Errorf("cluster.conf: %w", err)
	}
	return cluster.NodeConfig{
		Env: settings.Env, MaintenanceGracePeriod: settings.MaintenanceGracePeriod, MaxParallel: settings.MaxParallel,
		ReadyPeriod: settings.ReadyPeriod, RejoinGracePeriod: settings.RejoinGracePeriod, SplitAction: settings.SplitAction,
	}, nil
}

// resource is what the world knows of a resource beside what the monitor does.
type resource struct {
	rid      string
	optional bool
	blind    bool // nothing tells whether it is up: type=… is of no matter, sim_blind=true says so
}

// instanceConfig evaluates the configuration of an object as a node does.
func (s *site) instanceConfig(o Object, node string, at time.Time) (*cluster.InstanceConfig, []resource, error) {
	ev, settings, err := s.evaluate(o, node)
	if err != nil {
		return nil, nil, err
	}
	c := &cluster.InstanceConfig{
		Path: o.Path, Nodename: node, Disabled: settings.Disable, Children: settings.Children, Parents: settings.Parents,
		MonitorAction: settings.MonitorAction, PreMonitorAction: settings.PreMonitorAction,
		Orchestrate: settings.Orchestrate, PlacementPolicy: settings.Placement, Topology: settings.Topology,
		Priority: settings.Priority, Stonith: settings.Stonith, Scope: slices.Concat(settings.Nodes, settings.DRPNodes),
		StonithBestEffort: settings.StonithBestEffort,
		HardAffinity:      settings.HardAffinity, HardAntiAffinity: settings.HardAntiAffinity,
		SoftAffinity: settings.SoftAffinity, SoftAntiAffinity: settings.SoftAntiAffinity,
		Drp:       slices.Contains(settings.DRPNodes, node),
		Resources: map[string]cluster.ResourceConfig{}, UpdatedAt: at,
	}
	if settings.Topology == cluster.TopologyFlex {
		c.Flex = &cluster.Flex{Min: settings.FlexMin, Max: settings.FlexMax, Target: settings.FlexTarget}
	}
	var resources []resource
	for _, section := range o.Doc.Sections() {
		group, index, _ := strings.Cut(section, "#")
		if index == "" || group == "subset" {
			continue
		}
		r, rc := resource{rid: section}, cluster.ResourceConfig{}
		t := &keyword.Table{}
		t.Bool(&rc.IsDisabled, "disable", "")
		t.Bool(&rc.IsMonitored, "monitor", "")
		t.Bool(&rc.IsStandby, "standby", "")
		t.Bool(&r.optional, "optional", "")
		t.Bool(&r.blind, "blind", "")
		t.Int(&rc.Restart, "restart", "").Default("0").AtLeast(0)
		t.Duration(&rc.RestartDelay, "restart_delay", "").Default("500ms")
		if err := keyword.Decode(ev, section, t, keyword.Context{}); err != nil {
			return nil, nil, fmt.Errorf("%s: [%s]: %w", o.Path, section, err)
		}
		c.Resources[section] = rc
		resources = append(resources, r)
	}
	return c, resources, nil
}

func (s *site) evaluate(o Object, node string) (*config.Evaluator, *schema.ObjectSettings, error) {
	settings := &schema.ObjectSettings{Kind: o.Path.Kind}
	t := &keyword.Table{}
	settings.Keywords(t)
	if key, unknown := strange(o.Doc, t); unknown {
		return nil, nil, fmt.Errorf("%s: %s: no such keyword: see `om config doc`", o.Path, key)
	}
	ev := &config.Evaluator{Doc: o.Doc, Scope: config.Scope{Node: node, Nodes: s.names}}
	ev.Options = func(section, option string) (config.Option, bool) {
		if k := t.Find(option); section == config.DefaultSection && k != nil {
			return k.Option, true
		}
		return config.Option{Name: option, Scopable: true}, true
	}
	resolving := false
	ev.Lookup = func(_, name string) (string, bool, error) {
		switch name {
		case "nodename":
			return node, true, nil
		case "namespace":
			return o.Path.Namespace, true, nil
		case "name":
			return o.Path.Name, true, nil
		case "kind":
			return string(o.Path.Kind), true, nil
		}
		if name != "nodes" {
			return "", false, nil
		}
		if resolving { // the evaluator sees no circle that goes through here
			return "", false, errors.New("references in a circle: nodes -> nodes")
		}
		resolving = true
		defer func() { resolving = false }()
		text, _, err := ev.Value(config.DefaultSection, config.Option{Name: "nodes", Scopable: true})
		if err != nil {
			return "", false, err
		}
		nodes, err := s.selectNodes(text)
		return strings.Join(nodes, " "), true, err
	}
	if err := keyword.Decode(ev, config.DefaultSection, t, keyword.Context{Nodes: s.selectNodes}); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", o.Path, err)
	}
	if len(settings.Nodes) == 0 {
		settings.Nodes = s.names
	}
	return ev, settings, nil
}

// strange finds a key of the head that is no keyword.
func strange(doc *config.Document, t *keyword.Table) (config.Key, bool) {
	for _, key := range doc.Keys(config.DefaultSection) {
		if t.Find(key.Option) == nil && key.Option != "monitor" && key.Option != "restart" && key.Option != "restart_delay" {
			return key, true
		}
	}
	return config.Key{}, false
}

func (s *site) selectNodes(expr string) ([]string, error) {
	if strings.TrimSpace(expr) == "" {
		return s.names, nil
	}
	selector, err := object.ParseNodeSelector(expr)
	if err != nil {
		return nil, err
	}
	return selector.Select(s.names, nil)
}

// scoped reports whether a document says different things to different nodes.
func scoped(doc *config.Document) bool { return bytes.ContainsAny(doc.Bytes(), "@{") }
