package instance

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// loaded is an object as this node reads its configuration, for one request.
type loaded struct {
	engine    *Engine
	store     *store.Store // of the engine, may be degraded
	path      object.Path
	file      *store.File
	settings  *schema.ObjectSettings
	ev        *config.Evaluator
	flags     flags
	groups    grouping
	resources []*member // in start order
	subsets   map[string]schema.SubsetSettings

	configuring sync.Mutex // guards ev, which serves one goroutine, and what follows
	looked      bool       // a reference to what runs was met while a resource was configured
	looking     []string   // the resources whose devices are being looked up
}

// member is a resource of a loaded object.
type member struct {
	resource.Resource

	env resource.Env
	err error // why it could not be configured
	// moving tells that the configuration refers to what runs, as a device: it is
	// evaluated again each time.
	moving bool
}

// load reads the configuration and configures the resources. A resource that
// cannot be configured keeps its error and does not prevent the others. Neither
// does the configuration of the cluster prevent what needs none.
func (e *Engine) load(p object.Path, r Request) (*loaded, error) {
	if r.Action.needsCluster() {
		return e.loadFrom(e.Store, p, r)
	}
	return e.loadFrom(e.Store.Degraded(), p, r)
}

func (e *Engine) loadFrom(s *store.Store, p object.Path, r Request) (*loaded, error) {
	file, err := s.Load(p)
	if err != nil {
		return nil, err
	}
	ev, err := s.Evaluator(p, file.Doc, "")
	if err != nil {
		return nil, err
	}
	settings, err := s.Settings(p, ev)
	if err != nil {
		return nil, err
	}
	l := &loaded{engine: e, store: s, path: p, file: file, settings: settings, ev: ev, flags: e.flags(p), groups: e.grouping(p, settings)}
	l.lookUpDevices()
	if !l.here() {
		return nil, &NotFoundError{Path: p, Node: e.Host.Hostname}
	}
	if err := l.readSubsets(); err != nil {
		return nil, err
	}
	base := l.environ(r)
	for _, section := range file.Doc.Sections() {
		group, index, ok := resource.SplitID(section)
		if _, known := resource.Rank(group); !ok || !known {
			continue
		}
		l.resources = append(l.resources, l.member(section, group, index, base, r))
	}
	slices.SortStableFunc(l.resources, func(a, b *member) int { return compare(a.facts(), b.facts()) })
	return l, nil
}

// here reports whether the object has an instance on this node.
func (l *loaded) here() bool {
	node := l.engine.Host.Hostname
	return slices.Contains(l.settings.Nodes, node) || slices.Contains(l.settings.DRPNodes, node) ||
		slices.Contains(l.settings.EncapNodes, node)
}

func (l *loaded) readSubsets() error {
	l.subsets = map[string]schema.SubsetSettings{}
	for _, section := range l.file.Doc.Sections() {
		name, ok := strings.CutPrefix(section, "subset#")
		if !ok {
			continue
		}
		var s schema.SubsetSettings
		t := &keyword.Table{}
		s.Keywords(t)
		if err := keyword.Decode(l.ev, section, t, l.store.Context()); err != nil {
			return fmt.Errorf("%s: %w", l.path, err)
		}
		l.subsets[name] = s
	}
	return nil
}

// parallel reports whether the resources of a set are acted upon at once.
func (l *loaded) parallel(group, subset string) bool {
	if subset == "" {
		return false
	}
	if s, ok := l.subsets[group+":"+subset]; ok {
		return s.Parallel
	}
	return l.subsets[subset].Parallel
}

// environ is the environment every command of the object receives.
func (l *loaded) environ(r Request) []string {
	env := slices.Clone(l.engine.Environ)
	if env == nil {
		env = []string{"PATH=" + launch.DefaultPath}
	}
	set := func(name, value string) { env = append(env, name+"="+value) }
	if root := l.engine.Host.Paths.Root; root != "" {
		set("OSVC_ROOT_PATH", root)
	}
	leader := "0"
	if r.Leader {
		leader = "1"
	}
	set("OPENSVC_SVCPATH", l.path.String())
	set("OPENSVC_SVCNAME", l.path.Name)
	set("OPENSVC_NAME", l.path.Name)
	set("OPENSVC_NAMESPACE", l.path.Namespace)
	set("OPENSVC_KIND", string(l.path.Kind))
	set("OPENSVC_ID", l.settings.ID)
	set("OPENSVC_ACTION", string(r.Action))
	set("OPENSVC_SID", r.Session)
	set("OPENSVC_LEADER", leader)
	return append(env, r.Env...)
}

func (l *loaded) member(rid, group, index string, base []string, r Request) *member {
	h := l.engine.Host
	m := &member{Resource: resource.Resource{RID: rid, Spec: resource.Spec{Group: group}}}
	m.env = resource.Env{
		Host:       h,
		Path:       l.path,
		ObjectID:   l.settings.ID,
		RID:        rid,
		StateDir:   l.flags.resource(rid),
		CommandDir: strings.TrimSuffix(filepath.Join(h.Paths.Etc(), l.path.ConfigFile()), ".conf") + ".d",
		Log:        l.engine.log().With(logAttrs(l.path, r)...).With(slog.String("resource", rid)),
		Vars:       append(slices.Clip(base), "OPENSVC_RID="+rid),
		Data:       l.engine.Data,
		Session:    r.Session,
		Force:      r.Force,
		Confirm:    r.Confirm,
		Scheduled:  r.Origin == OriginScheduler,
	}
	m.env.Installation = l.installation(rid)
	m.env.Renew, m.env.Head, m.env.Apart = l.engine.Renew, l.head, l.engine.apart
	m.env.Terminal, m.env.TTY = l.engine.Terminal, l.engine.TTY
	if strings.ContainsAny(index, "/\x00") || index == "." || index == ".." {
		m.err = fmt.Errorf("%s: the index %q of a resource may not hold a slash", rid, index)
		return m
	}
	typ, _, err := l.ev.Value(rid, config.Option{Name: "type", Inherit: config.LeafOnly})
	if err != nil {
		m.err = fmt.Errorf("%s.type: %w", rid, err)
		return m
	}
	if m.Spec, m.err = l.engine.Registry.Find(group, typ); m.err != nil {
		m.Spec = resource.Spec{Group: group, Name: typ}
		m.err = fmt.Errorf("%s: %w", rid, m.err)
		return m
	}
	l.configure(m)
	return m
}

// configure evaluates the keywords of a resource. What refers to a resource that
// does not run yet is configured again just before it is acted upon.
func (l *loaded) configure(m *member) {
	m.Common = resource.Common{}
	m.Driver = m.Spec.New(m.env)
	l.looked = false
	defer func() { m.moving = l.looked }()
	m.err = keyword.Decode(l.ev, m.RID, resource.Table(&m.Common, m.Driver), l.store.Context())
	if group := l.groups.of(m.RID, m.Common.Subset); m.Spec.Processes && group != m.env.Cgroup {
		m.env.Cgroup = group
		l.configure(m)
	}
}

// ready configures again a resource that waits for another one.
func (l *loaded) ready(m *member) error {
	l.configuring.Lock()
	defer l.configuring.Unlock()
	if m.moving || errors.Is(m.err, config.ErrPostponed) {
		l.configure(m)
	}
	return m.err
}

func (l *loaded) find(rid string) *member {
	for _, m := range l.resources {
		if m.RID == rid {
			return m
		}
	}
	return nil
}
