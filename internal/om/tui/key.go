package tui

import (
	"unicode/utf8"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// key does what a key asks.
func (m Model) key(k screen.Key) (Model, []screen.Cmd) {
	if k == "ctrl-c" {
		return m, []screen.Cmd{screen.Quit(nil)}
	}
	m.note = note{}
	switch {
	case m.ask != nil:
		return m.answer(k)
	case m.menu != nil:
		return m.choose(k)
	}
	if m.scrolls() {
		if m.scrollKey(k) {
			return m, nil
		}
	} else if m.moveKey(k) {
		return m, nil
	}
	switch k {
	case "q":
		if len(m.pages) == 1 {
			return m, []screen.Cmd{screen.Quit(nil)}
		}
		return m.leave()
	case "Q":
		return m, []screen.Cmd{screen.Quit(nil)}
	case "esc", "backspace":
		if m.page().kind == gridPage && m.filter != "" {
			m.filter = ""
			return m, nil
		}
		return m.leave()
	case "enter":
		return m.enter()
	case "h", "?":
		if m.page().kind == helpPage {
			return m.back(), nil
		}
		return m.open(page{kind: helpPage}), nil
	case "/":
		if m.page().kind == gridPage {
			m.ask = &question{kind: askFilter, label: "filter: ", text: m.filter}
		}
	case "a":
		return m.offer(), nil
	case "c":
		return m.open(page{kind: contextsPage}), []screen.Cmd{listContexts(m.world)}
	case "e":
		if m.page().kind != eventsPage {
			return m.open(page{kind: eventsPage, tail: true}), nil
		}
	case "l":
		return m.logs()
	case "v":
		return m.configuration()
	case "r":
		return m.reconnect()
	}
	return m, nil
}

// leave goes back. What was read for the page is not read on.
func (m Model) leave() (Model, []screen.Cmd) {
	if m.page().kind == contextsPage && m.state == idle {
		return m, []screen.Cmd{screen.Quit(nil)} // there is nothing behind it
	}
	var cmds []screen.Cmd
	if m.page().kind == textPage {
		cmds = []screen.Cmd{{Name: textCommand}}
	}
	return m.back(), cmds
}

// reconnect asks for everything again.
func (m Model) reconnect() (Model, []screen.Cmd) {
	if m.state == idle {
		return m, nil
	}
	return m, []screen.Cmd{link(m.world, m.context, m.gen)}
}

// enter looks closer at what is selected.
func (m Model) enter() (Model, []screen.Cmd) {
	t := m.target()
	switch m.page().kind {
	case contextsPage:
		if name := m.selection(); name != "" {
			return m.connect(name)
		}
	case gridPage:
		switch {
		case t.path == "" && t.node != "":
			return m.open(page{kind: nodePage, node: t.node}), nil
		case t.path != "" && t.node == "":
			return m.open(page{kind: objectPage, path: t.path}), nil
		case t.path != "":
			if _, there := m.status.Cluster.Object[t.path].Instances[t.node]; there {
				return m.open(page{kind: instancePage, path: t.path, node: t.node}), nil
			}
			m.note = note{text: t.path + " has no instance on " + t.node, bad: true, at: m.now}
		}
	case objectPage, nodePage:
		if t.path != "" && t.node != "" {
			return m.open(page{kind: instancePage, path: t.path, node: t.node}), nil
		}
	case instancePage:
		if t.rid != "" {
			return m.open(page{kind: resourcePage, path: t.path, node: t.node, rid: t.rid}), nil
		}
	case resourcePage, textPage, eventsPage, helpPage:
	}
	return m, nil
}

// moveKey moves the cursor of a list.
func (m Model) moveKey(k screen.Key) bool {
	at, screenful := m.at(), max(1, m.size.Height-4)
	switch k {
	case "up", "k":
		m.move(at - 1)
	case "down", "j":
		m.move(at + 1)
	case "pgup", "ctrl-b":
		m.move(at - screenful)
	case "pgdown", "ctrl-f", " ":
		m.move(at + screenful)
	case "home", "g":
		m.move(0)
	case "end", "G":
		m.move(len(m.rows()) - 1)
	case "left", "backtab":
		m.column(-1)
	case "right", "tab":
		m.column(1)
	default:
		return false
	}
	return true
}

// column moves the cursor of the grid sideways.
func (m Model) column(by int) {
	p := m.page()
	if p.kind != gridPage {
		return
	}
	first := onObject
	if m.selection() == nodesRow {
		first = 0
	}
	p.name, p.column = m.selection(), max(first, min(max(p.column, first)+by, len(m.nodes())-1))
}

// scrolls tells whether the page is a text.
func (m Model) scrolls() bool {
	switch m.page().kind {
	case textPage, eventsPage, helpPage, resourcePage:
		return true
	case gridPage, contextsPage, objectPage, instancePage, nodePage:
	}
	return false
}

// scrollKey moves in a text.
func (m Model) scrollKey(k screen.Key) bool {
	p, room := m.page(), m.room()
	total := len(m.body(m.size.Width))
	last := max(0, total-room)
	top := min(p.top, last)
	if p.tail {
		top = last
	}
	switch k {
	case "up", "k":
		top--
	case "down", "j":
		top++
	case "pgup", "ctrl-b":
		top -= room
	case "pgdown", "ctrl-f", " ":
		top += room
	case "home", "g":
		top = 0
	case "end", "G":
		top = last
	default:
		return false
	}
	p.top = max(0, min(top, last))
	p.tail = (p.kind == eventsPage || p.serial > 0) && p.top == last
	return true
}

// askKind is what is asked on the last line.
type askKind int

const (
	askFilter askKind = iota
	askConfirm
	askName
	askPassword
)

// question is asked on the last line.
type question struct {
	kind  askKind
	label string
	text  string
	what  deed   // to do after a yes
	want  string // the name to type
	user  string // the context of a password
}

// answer takes a key of an answer.
func (m Model) answer(k screen.Key) (Model, []screen.Cmd) {
	q := *m.ask
	m.ask = &q
	switch {
	case k == "esc":
		m.ask = nil
		if q.kind == askFilter {
			m.filter = ""
		}
		return m, nil
	case q.kind == askConfirm:
		m.ask = nil
		if k == "y" || k == "Y" {
			return m.do(q.what)
		}
		m.note = note{text: "nothing was done", at: m.now}
		return m, nil
	case k == "enter":
		m.ask = nil
		return m.submit(q)
	case k == "backspace":
		_, size := utf8.DecodeLastRuneInString(q.text)
		m.ask.text = q.text[:len(q.text)-size]
	case k == "ctrl-u":
		m.ask.text = ""
	case utf8.RuneCountInString(string(k)) == 1 && len(q.text) < 1000:
		m.ask.text += string(k)
	}
	if q.kind == askFilter {
		m.filter = m.ask.text
	}
	return m, nil
}

// submit takes a whole answer.
func (m Model) submit(q question) (Model, []screen.Cmd) {
	switch q.kind {
	case askFilter:
		m.filter = q.text
	case askName:
		if q.text == q.want {
			return m.do(q.what)
		}
		m.note = note{text: "nothing was done: that is not " + q.want, at: m.now}
	case askPassword:
		if q.text == "" {
			return m, nil
		}
		m.note = note{text: "logging in", at: m.now}
		return m, []screen.Cmd{login(m.world, q.user, secret.New(q.text))}
	case askConfirm:
	}
	return m, nil
}

// password asks for the password of a context.
func (m Model) password(name string) Model {
	m.menu = nil
	m.ask = &question{kind: askPassword, label: "password for " + name + ": ", user: name}
	return m
}
