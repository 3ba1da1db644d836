package tui

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

type (
	node    = cluster.Node
	service = cluster.Object
)

// Model is the interface at one moment.
type Model struct {
	world World
	size  screen.Size
	now   time.Time

	context  string // in force, "" for that of the command line
	contexts []Context
	gen      int // counts the connections: news of a former one are late
	state    linkState
	since    time.Time // of the state
	trouble  error     // why the connection is lost
	again    time.Duration

	status api.ClusterStatus
	paths  []string // of its objects, sorted
	events []happening

	pages  []page // the last one is shown
	filter string
	ask    *question
	menu   *menu
	note   note
	texts  int // counts the texts asked for
}

// note is the last thing there was to say.
type note struct {
	text string
	bad  bool
	at   time.Time
}

// Options are how the interface begins.
type Options struct {
	// Choose begins with the choice of a context.
	Choose  bool
	Context string
	Now     time.Time
	// Filter is the one to begin with.
	Filter string
}

// New returns the interface.
func New(w World, o Options) Model {
	m := Model{world: w, context: o.Context, now: o.Now, filter: o.Filter, pages: []page{{kind: gridPage, column: onObject}}}
	if o.Choose {
		m.pages = append(m.pages, page{kind: contextsPage})
	}
	return m
}

// Init implements screen.Model.
func (m Model) Init() []screen.Cmd {
	if m.page().kind == contextsPage {
		return []screen.Cmd{listContexts(m.world)}
	}
	return []screen.Cmd{link(m.world, m.context, m.gen)}
}

// Update implements screen.Model.
func (m Model) Update(msg screen.Msg) (Model, []screen.Cmd) {
	m.pages = slices.Clone(m.pages)
	switch msg := msg.(type) {
	case screen.Size:
		m.size = msg
	case screen.Tick:
		m.now = time.Time(msg)
	case screen.Key:
		return m.key(msg)
	case linkMsg:
		return m.linked(msg), nil
	case newsMsg:
		if msg.gen == m.gen {
			m.status, m.now = msg.status, msg.at
			m.paths = slices.Sorted(maps.Keys(m.status.Cluster.Object))
			m.events = append(slices.Clip(m.events), msg.events...)
			m.events = m.events[max(0, len(m.events)-maxHappenings):]
		}
	case doneMsg:
		if msg.gen == m.gen {
			m.note = note{msg.text, msg.err != nil, msg.at}
			return m.refused(msg.err), nil
		}
	case textMsg:
		if m.text(msg) {
			return m.refused(msg.err), nil
		}
	case contextsMsg:
		m.contexts = msg.list
		if msg.err != nil {
			m.note = note{msg.err.Error(), true, m.now}
		}
	case loginMsg:
		if msg.err != nil {
			m.note = note{msg.err.Error(), true, m.now}
			return m.password(msg.context), nil
		}
		return m.connect(msg.context)
	}
	return m, nil
}

// linked takes in how the connection is.
func (m Model) linked(msg linkMsg) Model {
	if msg.gen != m.gen {
		return m
	}
	m.state = msg.state
	switch msg.state {
	case live:
		m.trouble, m.since = nil, msg.at
	case lost:
		if m.trouble == nil {
			m.since = msg.at
		}
		m.trouble, m.again, m.now = msg.err, msg.again, msg.at
		if needed := LoginNeeded(nil); errors.As(msg.err, &needed) {
			return m.login(needed)
		}
	case idle, connecting:
	}
	return m
}

// refused asks for the password when an answer says that the session ended: the
// events of the connection there is may outlive it. What is being typed or chosen
// is left alone.
func (m Model) refused(err error) Model {
	if needed := LoginNeeded(nil); errors.As(err, &needed) && m.ask == nil && m.menu == nil {
		return m.login(needed)
	}
	return m
}

// login asks for the password a login needs, or says what it needs instead.
func (m Model) login(needed LoginNeeded) Model {
	if needed.WithPassword() {
		return m.password(needed.LoginContext())
	}
	m.note = note{"log in with: ox context login --openid --context " + needed.LoginContext() + ", then r", true, m.now}
	return m
}

// connect goes to another cluster.
func (m Model) connect(name string) (Model, []screen.Cmd) {
	m.gen++
	m.context, m.state, m.trouble, m.status, m.paths, m.events = name, connecting, nil, api.ClusterStatus{}, nil, nil
	m.pages = []page{{kind: gridPage, column: onObject}}
	m.ask, m.menu, m.note = nil, nil, note{}
	return m, []screen.Cmd{{Name: textCommand}, link(m.world, name, m.gen)}
}

// page is what is shown.
func (m Model) page() *page { return &m.pages[len(m.pages)-1] }

// open shows another page, from which one comes back.
func (m Model) open(p page) Model {
	m.pages = append(m.pages, p)
	m.menu, m.ask = nil, nil
	return m
}

// back leaves a page.
func (m Model) back() Model {
	if len(m.pages) > 1 {
		m.pages = m.pages[:len(m.pages)-1]
	}
	return m
}

// board is the picture that om monitor draws too.
func (m Model) board() monitor.Board { return monitor.Board{Status: m.status, Selector: "**"} }

// nodes lists the nodes.
func (m Model) nodes() []string { return m.board().Columns() }

// objects lists the objects the filter leaves, sorted.
func (m Model) objects() []string {
	if m.filter == "" {
		return m.paths
	}
	return filtered(slices.Clone(m.paths), m.filter)
}

// filtered keeps the paths a filter leaves: it is a part of them, or a selector when
// it has what only a selector has.
func filtered(paths []string, filter string) []string {
	if strings.ContainsAny(filter, "*?[,+!") {
		if s, err := object.ParseSelector(filter); err == nil {
			return selected(paths, s)
		}
	}
	return slices.DeleteFunc(paths, func(p string) bool { return !strings.Contains(p, filter) })
}

func selected(paths []string, s *object.Selector) []string {
	all := make([]object.Path, 0, len(paths))
	for _, text := range paths {
		if p, err := object.Parse(text); err == nil {
			all = append(all, p)
		}
	}
	// The error only says that one of several is not there.
	found, _ := s.Select(all, nil)
	texts := make([]string, len(found))
	for i, p := range found {
		texts[i] = p.String()
	}
	slices.Sort(texts)
	return texts
}

func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" || w == "none" }), " ")
}
