package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const separator = " · "

// status is the line at the top.
func (l *loop) status(now time.Time, v view) string {
	state, style := l.state(now)
	parts := []part{{text: clean(l.o.Title), style: bold, least: 12}}
	switch {
	case l.paused:
		parts = append(parts, part{text: "paused"})
	case l.effective != l.interval:
		parts = append(parts, part{text: fmt.Sprintf("every %s (asked %s)", span(l.effective), span(l.interval))})
	default:
		parts = append(parts, part{text: "every " + span(l.interval)})
	}
	if l.shown {
		parts = append(parts, part{text: l.gotAt.Format(time.TimeOnly)})
		if l.frame.Count >= 0 {
			parts = append(parts, part{text: plural(l.frame.Count, "row"), drop: 3})
		}
		parts = append(parts, part{text: rough(l.took), drop: 2})
	}
	parts = append(parts, part{text: state, style: style, least: 40})
	if l.running && now.Sub(l.startedAt) >= time.Second {
		parts = append(parts, part{text: "refreshing " + seconds(now.Sub(l.startedAt)), drop: 1})
	}
	if l.diff {
		parts = append(parts, part{text: "diff on", drop: 1})
	} else {
		parts = append(parts, part{text: "diff off", drop: 1})
	}
	if v.total > v.window && !l.help && v.window > 0 {
		parts = append(parts, part{text: fmt.Sprintf("lines %d–%d of %d", l.scroll.top+1, l.scroll.top+v.window, v.total), drop: 4})
	}
	if l.keyboard {
		parts = append(parts, part{text: "? keys"})
	}
	parts = squeeze(parts, l.canvas.size.Width)
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = l.painted(p.text, p.style)
	}
	return strings.Join(texts, separator)
}

// part is a piece of the status line.
type part struct {
	text, style string
	least       int // columns it can be cut to, 0 when it cannot
	drop        int // when it is left out of a line too narrow, 1 first; 0 for never
}

// squeeze fits parts into a width, as far as they give way: first the title gets
// shorter, as it is known; then some are dropped, then the others are cut.
func squeeze(parts []part, width int) []part {
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.text == "" })
	excess := func() int {
		sum := -Width(separator)
		for _, p := range parts {
			sum += Width(p.text) + Width(separator)
		}
		return sum - width
	}
	cut := func(i int) {
		if over := excess(); over > 0 && parts[i].least > 0 {
			w := Width(parts[i].text)
			parts[i].text = Cut(parts[i].text, max(w-over, min(w, parts[i].least)))
		}
	}
	if len(parts) > 0 {
		cut(0)
	}
	for drop := 1; drop <= 4 && excess() > 0; drop++ {
		parts = slices.DeleteFunc(parts, func(p part) bool { return p.drop == drop })
	}
	for i := range parts {
		cut(i)
	}
	return parts
}

// state is how the last refresh went.
func (l *loop) state(now time.Time) (text, style string) {
	switch {
	case l.failures > 0 && l.shown:
		return fmt.Sprintf("stale %s · %s · last: %s", seconds(now.Sub(l.gotAt)), plural(l.failures, "error"), clean(l.last.Error())), red
	case l.failures > 0:
		return fmt.Sprintf("no answer yet · %s · last: %s", plural(l.failures, "error"), clean(l.last.Error())), red
	case l.shown:
		return "ok", green
	default:
		return "waiting for the first answer", plain
	}
}

// marker is the line at the cut of a body that does not fit.
func (l *loop) marker(place scroll, v view) string {
	above, below := place.top, v.total-place.top-v.window
	var hidden []string
	if above > 0 {
		hidden = append(hidden, fmt.Sprintf("%d above", above))
	}
	if below > 0 {
		hidden = append(hidden, fmt.Sprintf("%d below", below))
	}
	text := "── " + strings.Join(hidden, ", ")
	switch {
	case l.help, !l.keyboard:
	default:
		text += " · ↓/j ↑/k line · PgDn/^F PgUp/^B page · Home/g End/G ends"
	}
	return l.painted(text+" ──", faint)
}

// helpText is the map of the keys.
func helpText(colour bool) []string {
	lines := []string{""}
	for _, k := range [...][2]string{
		{"q", "quit"},
		{"space r", "refresh now"},
		{"p", "pause, go on"},
		{"+ -", "longer, shorter interval"},
		{"d", "highlight what changed: on, off"},
		{"↓ j  ↑ k", "scroll a line"},
		{"PgDn ^F  PgUp ^B", "scroll a page"},
		{"Home g  End G", "go to an end"},
		{"^L", "paint the screen again"},
		{"^Z", "suspend"},
		{"?", "close this map"},
	} {
		name, gap := k[0], strings.Repeat(" ", 18-Width(k[0]))
		if colour {
			name = "\x1b[1m" + name + "\x1b[0m"
		}
		lines = append(lines, "  "+name+gap+k[1])
	}
	return append(lines, "",
		"  Reversed: a cell that changed. Green: a row that is new. Faint: one that left.")
}

// rough is a duration to three digits: 218ms, 3.05s.
func rough(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	if d < time.Minute {
		return d.Round(10 * time.Millisecond).String()
	}
	return seconds(d)
}

// seconds is a duration in whole seconds.
func seconds(d time.Duration) string { return span(d.Truncate(time.Second)) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
