package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// textMsg is more of a text that was asked for.
type textMsg struct {
	serial int
	lines  []string
	done   bool
	err    error
}

// maxLines bounds a text: of a longer one the end is kept.
const maxLines = 5000

// text takes in more of the text of a page.
func (m Model) text(msg textMsg) (shown bool) {
	for i := range m.pages {
		p := &m.pages[i]
		if p.kind != textPage || p.serial != msg.serial {
			continue
		}
		p.lines = append(slices.Clip(p.lines), msg.lines...)
		p.lines = p.lines[max(0, len(p.lines)-maxLines):]
		p.busy, p.err = !msg.done, msg.err
		shown = true
	}
	return shown
}

// logs shows the log of what is selected.
func (m Model) logs() (Model, []screen.Cmd) {
	t := m.target()
	if m.page().kind == textPage || m.state == idle {
		return m, nil
	}
	if t.path == "" && t.node == "" {
		t.node = m.status.Daemon.Nodename
	}
	if t.node == "" {
		t.node = m.logNode(t.path)
	}
	if t.node == "" {
		m.note = note{text: t.path + " has no instance", bad: true, at: m.now}
		return m, nil
	}
	m.texts++
	title := "log of " + t.node
	if t.path != "" {
		title = "log of " + t.path + " on " + t.node
	}
	m = m.open(page{kind: textPage, path: t.path, node: t.node, title: title, serial: m.texts, tail: true, busy: true})
	return m, []screen.Cmd{readLogs(m.world, m.context, m.texts, t)}
}

// logNode is the node whose log says most about an object: where it runs.
func (m Model) logNode(path string) string {
	first := ""
	for _, n := range m.instancesOf(path) {
		i := m.instance(path, n)
		if first == "" || i.Monitor != nil && i.Monitor.IsLeader {
			first = n
		}
	}
	return first
}

func readLogs(w World, name string, serial int, t target) screen.Cmd {
	return screen.Cmd{Name: textCommand, Run: func(ctx context.Context, send func(screen.Msg)) {
		fail := func(err error) { send(textMsg{serial: serial, done: true, err: err}) }
		var p object.Path
		var err error
		if t.path != "" {
			if p, err = object.Parse(t.path); err != nil {
				fail(err)
				return
			}
		}
		c, err := w.Open(name)
		if err != nil {
			fail(err)
			return
		}
		for line, err := range c.Logs(ctx, t.node, p) {
			if err != nil {
				fail(err)
				return
			}
			send(textMsg{serial: serial, lines: []string{format(line, t.path)}})
		}
		send(textMsg{serial: serial, done: true})
	}}
}

// format prints a line of a log. The object is left out where there is one only.
func format(l LogLine, path string) string {
	who := join(l.Object, l.Rid)
	if l.Object == path {
		who = l.Rid
	}
	if who != "" {
		who += ": "
	}
	return l.At.Local().Format("15:04:05.000") + " " + strings.ToUpper(l.Level) + " " + who + l.Message
}

// configuration shows the configuration of what is selected.
func (m Model) configuration() (Model, []screen.Cmd) {
	t := m.target()
	if t.path == "" || m.page().kind == textPage {
		return m, nil
	}
	m.texts++
	m = m.open(page{kind: textPage, path: t.path, title: "configuration of " + t.path, serial: m.texts, busy: true})
	return m, []screen.Cmd{readConfiguration(m.world, m.context, m.texts, t.path)}
}

func readConfiguration(w World, name string, serial int, path string) screen.Cmd {
	return screen.Cmd{Name: textCommand, Run: func(ctx context.Context, send func(screen.Msg)) {
		text, err := configurationOf(ctx, w, name, path)
		send(textMsg{serial: serial, lines: text, done: true, err: err})
	}}
}

func configurationOf(ctx context.Context, w World, name, path string) ([]string, error) {
	p, err := object.Parse(path)
	if err != nil {
		return nil, err
	}
	c, err := w.Open(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	file, err := c.ConfigFile(ctx, p)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(file.Data), "\n"), "\n"), nil
}
