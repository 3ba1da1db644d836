package tui

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
	cmdobject "github.com/holdfast-ops/holdfast/internal/om/command/object"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// deed is an action that is chosen.
type deed struct {
	target target
	name   string
}

func (d deed) String() string { return d.name + " " + d.target.String() }

// action is an action that may be chosen.
type action struct {
	key    screen.Key
	name   string
	short  string
	losing bool // data is lost, or a configuration
}

// menu is the choice of an action.
type menu struct {
	target  target
	actions []action
	at      int
}

// actionsOn lists what may be done to a target.
func actionsOn(t target) []action {
	p, err := object.Parse(t.path)
	switch {
	case t.path == "" && t.node != "":
		return []action{
			{"f", "freeze", "forbid the daemon of the node to act by itself", false},
			{"u", "unfreeze", "let the daemon of the node act by itself", false},
		}
	case err != nil || p == object.Cluster():
		return nil
	case t.rid != "":
		return []action{
			{"s", "start", "start the resource on this node, now", false},
			{"o", "stop", "stop the resource on this node, now", false},
			{"t", "restart", "stop then start the resource", false},
			{"n", "run", "run the resource, when it is a task or a sync", false},
			{"p", "provision", "make what the resource describes", false},
			{"U", "unprovision", "destroy what provisioning made", true},
		}
	case t.node != "" && p.Kind.Runs():
		return []action{
			{"s", "start", "start the instance on this node, now", false},
			{"o", "stop", "stop the instance on this node, now", false},
			{"t", "restart", "stop then start the instance", false},
			{"f", "freeze", "forbid the daemon to act on the instance by itself", false},
			{"u", "unfreeze", "let the daemon act on the instance by itself", false},
			{"c", "clear", "forget a failure of the instance", false},
			{"p", "provision", "make what the resources describe", false},
			{"U", "unprovision", "destroy what provisioning made", true},
		}
	case t.node == "" && p.Kind.Runs():
		return []action{
			{"s", "start", "start the object where its placement says", false},
			{"o", "stop", "stop the object wherever it runs", false},
			{"t", "restart", "stop then start each running instance", false},
			{"f", "freeze", "forbid the daemons to act on the object by themselves", false},
			{"u", "unfreeze", "let the daemons act on the object by themselves", false},
			{"b", "abort", "abort the orchestration in progress", false},
			{"c", "clear", "forget the failures of the instances", false},
			{"p", "provision", "make what the object describes, and start it", false},
			{"U", "unprovision", "destroy what provisioning made", true},
			{"P", "purge", "stop, unprovision and delete the object", true},
			{"D", "delete", "delete the configuration, stop nothing", true},
		}
	case t.node == "":
		return []action{{"D", "delete", "delete the object", true}}
	}
	return nil
}

// offer opens the menu of what may be done to what is selected.
func (m Model) offer() Model {
	if m.page().kind == textPage {
		return m
	}
	t := m.target()
	actions := actionsOn(t)
	switch {
	case len(actions) == 0:
		m.note = note{text: "there is nothing to do here: select an object, an instance, a resource or a node", at: m.now}
	case m.state != live:
		m.note = note{text: "not connected", bad: true, at: m.now}
	default:
		m.menu = &menu{target: t, actions: actions}
	}
	return m
}

// choose takes a key of the menu.
func (m Model) choose(k screen.Key) (Model, []screen.Cmd) {
	c := *m.menu
	switch k {
	case "up":
		c.at = max(0, c.at-1)
	case "down", "tab":
		c.at = min(len(c.actions)-1, c.at+1)
	case "esc", "q", "left", "backspace":
		m.menu = nil
		return m, nil
	case "enter":
		m.menu = nil
		return m.confirm(c.target, c.actions[c.at]), nil
	default:
		for _, a := range c.actions {
			if a.key == k {
				m.menu = nil
				return m.confirm(c.target, a), nil
			}
		}
	}
	m.menu = &c
	return m, nil
}

// confirm asks before anything is done; by the name of the object when something
// is lost.
func (m Model) confirm(t target, a action) Model {
	d := deed{t, a.name}
	if a.losing {
		want := t.path
		m.ask = &question{kind: askName, label: fmt.Sprintf("%s: what is lost does not come back. Type %s to go on: ", d, want), what: d, want: want}
		return m
	}
	m.ask = &question{kind: askConfirm, label: d.String() + "? y/n ", what: d}
	return m
}

// doneMsg says what became of something.
type doneMsg struct {
	gen  int
	text string
	err  error
	at   time.Time
}

// patience is how long the end of an action is waited for.
const patience = 5 * time.Minute

// do does it, and tells how it ends.
func (m Model) do(d deed) (Model, []screen.Cmd) {
	m.note = note{text: d.String() + ": asked", at: m.now}
	world, name, gen := m.world, m.context, m.gen
	return m, []screen.Cmd{{Run: func(ctx context.Context, send func(screen.Msg)) {
		say := func(text string, err error) {
			if err != nil {
				text = err.Error()
			}
			send(doneMsg{gen: gen, text: d.String() + ": " + text, err: err, at: time.Now()})
		}
		c, err := world.Open(name)
		if err != nil {
			say("", err)
			return
		}
		say(carryOut(ctx, c, d, func(text string) { say(text, nil) }))
	}}}
}

// carryOut does what is asked and waits for its end.
func carryOut(ctx context.Context, c Cluster, d deed, say func(string)) (string, error) {
	t := d.target
	if t.path == "" {
		return "done", c.FreezeNode(ctx, t.node, d.name == "freeze")
	}
	p, err := object.Parse(t.path)
	if err != nil {
		return "", err
	}
	if t.node == "" {
		id, err := c.Orchestrate(ctx, p, cmdobject.Action{Name: d.name})
		if err != nil || id == "" {
			return "done", err
		}
		say("accepted")
		end, err := c.WaitOrchestration(ctx, id, patience)
		return ended(end.State, end.Reason, err)
	}
	ids, err := c.ActOn(ctx, t.node, p, instance.Action{Name: d.name, InstanceAction: api.InstanceAction{Rid: t.rid, SessionID: c.NewSession()}})
	if err != nil || ids.ExecID == "" {
		return "done", err
	}
	say("accepted")
	end, err := c.WaitExec(ctx, t.node, ids.ExecID, patience)
	return ended(end.State, end.Error, err)
}

// ended says how something ended.
func ended(state, reason string, err error) (string, error) {
	switch {
	case err != nil:
		return "", fmt.Errorf("it was accepted, and how it ends is not known: %w", err)
	case state == api.StateFailed || state == api.StateAborted:
		return "", errors.New(join(state, reason))
	case state == api.StateRunning || state == api.StateQueued:
		return "it goes on", nil
	}
	return state, nil
}

// contextsMsg are the contexts of the user.
type contextsMsg struct {
	list []Context
	err  error
}

func listContexts(w World) screen.Cmd {
	return screen.Cmd{Run: func(_ context.Context, send func(screen.Msg)) {
		list, err := w.Contexts()
		send(contextsMsg{list, err})
	}}
}

// loginMsg is the end of a login.
type loginMsg struct {
	context string
	err     error
}

func login(w World, name string, password secret.String) screen.Cmd {
	return screen.Cmd{Run: func(ctx context.Context, send func(screen.Msg)) {
		send(loginMsg{name, w.Login(ctx, name, password)})
	}}
}
