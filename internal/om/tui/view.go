package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
)

// View implements screen.Model: a line that says where one is, the page, and a line
// that says what may be done.
func (m Model) View() screen.Frame {
	width, height := m.size.Width, m.size.Height
	if width < 20 || height < 4 {
		return screen.Frame{Lines: []screen.Line{{{Text: "too small"}}}}
	}
	body := m.window(m.body(width))
	if m.menu != nil {
		box := m.menuLines()
		keep := max(0, m.room()-len(box))
		body = slices.Concat(pad(body, keep)[:keep], box[:min(len(box), m.room())])
	}
	body = pad(body, m.room())
	if said := m.said(); m.ask != nil && len(said) > 0 {
		body = append(slices.Clip(body[:m.room()-1]), said) // what the question is about
	}
	lines := append([]screen.Line{m.header(width), {}}, body...)
	footer, cursor := m.footer()
	f := screen.Frame{Lines: append(lines, footer)}
	if m.ask != nil {
		f.Typing, f.Cursor = true, screen.Position{Line: height - 1, Column: cursor}
	}
	return f
}

// room is how many lines a page has.
func (m Model) room() int { return max(1, m.size.Height-3) }

func pad(lines []screen.Line, n int) []screen.Line {
	for len(lines) < n {
		lines = append(lines, nil)
	}
	return lines
}

// window cuts what is shown of a page out of it: around the cursor of a list, at the
// place of a text.
func (m Model) window(body []screen.Line) []screen.Line {
	p, room := m.page(), m.room()
	if len(body) <= room {
		return body
	}
	last := len(body) - room
	if m.scrolls() {
		top := min(p.top, last)
		if p.tail {
			top = last
		}
		return body[top : top+room]
	}
	fixed, cursor := m.fixed(body)
	room -= fixed
	if room < 1 {
		return body[:m.room()]
	}
	list := body[fixed:]
	top := max(0, min(cursor-fixed-room/2, len(list)-room))
	return append(body[:fixed:fixed], list[top:top+room]...)
}

// fixed returns how many lines stay above the list, and the line of the cursor.
func (m Model) fixed(body []screen.Line) (fixed, cursor int) {
	fixed = -1
	for i, line := range body {
		if len(line) == 0 {
			continue
		}
		switch {
		case line[0].Text == cursorMark:
			cursor = i
			if fixed < 0 {
				fixed = i
			}
		case line[0].Text == rowMark && fixed < 0:
			fixed = i
		}
	}
	if fixed < 0 || fixed > m.room()/2 {
		fixed = 0
	}
	return fixed, cursor
}

// What begins a row of a list: the cursor is seen without colours too.
const (
	cursorMark = "> "
	rowMark    = "  "
)

// header says where one is.
func (m Model) header(width int) screen.Line {
	where := []string{"ox"}
	if name := m.status.Cluster.Config.Name; name != "" {
		where = append(where, name)
	}
	if m.context != "" {
		where = append(where, m.context)
	}
	left := " " + strings.Join(where, " · ")
	if t := m.title(); t != "" {
		left += " › " + t
	}
	state, style := m.stateText()
	room := width - watch.Width(state) - 3
	if room < 10 {
		return screen.Line{{Text: watch.Cut(" "+state, width), Style: style + screen.Reverse}}
	}
	left = watch.Cut(left, room)
	left += strings.Repeat(" ", room-watch.Width(left))
	return screen.Line{{Text: left, Style: screen.Reverse + iostreams.Bold}, {Text: "  ", Style: screen.Reverse}, {Text: state, Style: style + screen.Reverse}, {Text: " ", Style: screen.Reverse}}
}

// title names the page.
func (m Model) title() string {
	p := m.page()
	switch p.kind {
	case gridPage:
		return ""
	case contextsPage:
		return "contexts"
	case objectPage:
		return p.path
	case instancePage:
		return p.path + " › " + p.node
	case resourcePage:
		return p.path + " › " + p.node + " › " + p.rid
	case nodePage:
		return p.node
	case textPage:
		return p.title
	case eventsPage:
		return "events"
	case helpPage:
		return "help"
	}
	return ""
}

// stateText says how the connection is.
func (m Model) stateText() (string, iostreams.Style) {
	switch {
	case m.state == live:
		return "live", iostreams.Green
	case m.loginNeeded():
		return "login needed", iostreams.Yellow
	case m.trouble != nil:
		return "lost " + ago(m.now.Sub(m.since)), iostreams.Red
	case m.state == connecting:
		return "connecting", iostreams.Yellow
	}
	return "not connected", iostreams.Yellow
}

func (m Model) loginNeeded() bool {
	needed := LoginNeeded(nil)
	return errors.As(m.trouble, &needed)
}

// ago is a span of time in its largest unit.
func ago(d time.Duration) string {
	switch d = max(d, 0).Truncate(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// noteLife is how long there is something to read on the last line.
const noteLife = 20 * time.Second

// footer is the last line: a question, what there is to say, or the keys.
func (m Model) footer() (line screen.Line, cursor int) {
	width := m.size.Width
	if q := m.ask; q != nil {
		text := q.text
		if q.kind == askPassword {
			text = "" // nothing of it is shown, not its length either
		}
		label := watch.Cut(q.label, max(10, width-2))
		for watch.Width(label)+watch.Width(text) >= width && text != "" {
			_, first := utf8.DecodeRuneInString(text)
			text = text[first:]
		}
		style := iostreams.Bold
		if q.kind == askName {
			style += iostreams.Red
		}
		return screen.Line{{Text: label, Style: style}, {Text: text}}, min(width-1, watch.Width(label)+watch.Width(text))
	}
	if said := m.said(); len(said) > 0 {
		return said, 0
	}
	return screen.Line{{Text: watch.Cut(" "+m.hints(), width), Style: iostreams.Faint}}, 0
}

// said is the last thing there was to say, as long as it is news.
func (m Model) said() screen.Line {
	width := m.size.Width
	switch {
	case m.note.text != "" && (m.now.Sub(m.note.at) < noteLife || m.note.bad):
		style := iostreams.Style("")
		if m.note.bad {
			style = iostreams.Red
		}
		return screen.Line{{Text: watch.Cut(" "+oneLine(m.note.text), width), Style: style}}
	case m.trouble != nil:
		text := " " + oneLine(m.trouble.Error())
		if m.again > 0 && m.ask == nil {
			text += " · trying again · r now"
		}
		return screen.Line{{Text: watch.Cut(text, width), Style: iostreams.Red}}
	}
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// hints are the keys of the page.
func (m Model) hints() string {
	if m.menu != nil {
		return "↑↓ enter choose · esc leave"
	}
	switch m.page().kind {
	case gridPage:
		return "↑↓←→ enter look · a act · l log · v config · / filter · e events · c contexts · h help · q quit"
	case contextsPage:
		return "↑↓ select · enter connect · h help · q back"
	case objectPage, nodePage:
		return "↑↓ select · enter look · a act · l log · v configuration · h help · q back"
	case instancePage:
		return "↑↓ select · enter look · a act on the resource · l log · v configuration · h help · q back"
	case resourcePage:
		return "↑↓ scroll · a act · l log · h help · q back"
	case textPage, eventsPage:
		return "↑↓ PgUp PgDn Home End scroll · h help · q back"
	case helpPage:
		return "↑↓ scroll · q back"
	}
	return ""
}

// menuLines are the actions one may choose.
func (m Model) menuLines() []screen.Line {
	title := " act on " + m.menu.target.String() + " "
	lines := []screen.Line{{{Text: "──" + title + strings.Repeat("─", max(0, m.size.Width-watch.Width(title)-2)), Style: iostreams.Bold}}}
	for i, a := range m.menu.actions {
		mark, style := rowMark, iostreams.Style("")
		if i == m.menu.at {
			mark, style = cursorMark, screen.Reverse
		}
		name := fmt.Sprintf("%s  %s", a.key, a.name)
		if a.losing && style == "" {
			style = iostreams.Red
		}
		gap := strings.Repeat(" ", max(1, 16-len(name)))
		lines = append(lines, screen.Line{{Text: mark}, {Text: name, Style: style}, {Text: gap + a.short}})
	}
	return lines
}

// spans turns a cell into spans, all reversed when it is selected.
func spans(c grid.Cell, selected bool) screen.Line {
	line := make(screen.Line, 0, len(c))
	for _, s := range c {
		style := s.Style
		if selected {
			style += screen.Reverse
		}
		line = append(line, screen.Span{Text: s.Text, Style: style})
	}
	return line
}

func widthOf(c grid.Cell) int { return watch.Width(c.String()) }

// columns lays rows out in columns, as package grid does, each behind a mark.
func columns(rows [][]grid.Cell, selected int) []screen.Line {
	var widths []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], widthOf(c))
		}
	}
	lines := make([]screen.Line, len(rows))
	for i, r := range rows {
		mark := rowMark
		if i == selected {
			mark = cursorMark
		}
		line := screen.Line{{Text: mark}}
		for j, c := range r {
			line = append(line, spans(c, i == selected && j == 0)...)
			if widths[j] > 0 && j < len(r)-1 {
				line = append(line, screen.Span{Text: strings.Repeat(" ", widths[j]-widthOf(c)+grid.Gap)})
			}
		}
		lines[i] = line
	}
	return lines
}
