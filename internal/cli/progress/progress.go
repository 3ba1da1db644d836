// Package progress shows named steps while they happen. On a terminal the step
// at work is one live line, redrawn in place; elsewhere each change of a step
// is a plain line, so a log reads well.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Steps shows steps on the error stream. It is safe for concurrent use.
type Steps struct {
	streams *iostreams.Streams

	mu   sync.Mutex
	live string // what the live line shows, "" when there is none
}

// New returns a display on the streams.
func New(s *iostreams.Streams) *Steps { return &Steps{streams: s} }

// Step is one named step at work.
type Step struct {
	steps *Steps
	name  string
	began time.Time
}

// Start shows that a step begins.
func (p *Steps) Start(name string) *Step {
	s := &Step{steps: p, name: name, began: time.Now()}
	p.show("...", name, "")
	return s
}

// Update shows where the step is.
func (s *Step) Update(format string, a ...any) {
	s.steps.show("...", s.name, fmt.Sprintf(format, a...))
}

// Done shows that the step succeeded, and how long it took.
func (s *Step) Done() {
	s.steps.finish(iostreams.Green, "ok", s.name, "in "+s.took())
}

// Skip shows that there was nothing to do, and why.
func (s *Step) Skip(why string) {
	s.steps.finish(iostreams.Faint, "--", s.name, why)
}

// Fail shows that the step failed; the error is the caller's to return.
func (s *Step) Fail(err error) {
	s.steps.finish(iostreams.Red, "!!", s.name, fmt.Sprintf("after %s: %v", s.took(), err))
}

func (s *Step) took() string { return time.Since(s.began).Round(time.Millisecond).String() }

func (p *Steps) show(mark, name, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams.ErrTTY {
		p.redraw(line(mark, name, detail))
		return
	}
	p.print(line(mark, name, detail))
}

func (p *Steps) finish(style iostreams.Style, mark, name, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redraw("")
	if p.streams.ErrTTY {
		mark = p.streams.Paint(style, pad(mark))
	}
	p.print(line(mark, name, detail))
}

// redraw replaces the live line, cut to the width of the terminal.
func (p *Steps) redraw(text string) {
	if p.live == "" && text == "" {
		return
	}
	if width := p.streams.Width; width > 0 {
		text = displaywidth.TruncateString(text, width-1, "")
	}
	p.write("\r\x1b[K" + text)
	p.live = text
}

func (p *Steps) print(text string) { p.write(text + "\n") }

// write ignores errors: a broken terminal must not fail the work it shows.
func (p *Steps) write(text string) { _, _ = io.WriteString(p.streams.Err, text) }

func line(mark, name, detail string) string {
	text := pad(mark) + " " + name
	if detail != "" {
		text += ": " + strings.ReplaceAll(detail, "\n", "; ")
	}
	return text
}

func pad(mark string) string { return fmt.Sprintf("%-3s", mark) }
