package run

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// The prefixes of the lines of a run.
const (
	stepMark   = ">>> "
	detailMark = ">>>   "
	goodMark   = "✓   "
	badMark    = "ERROR: "
	cautious   = "WARNING: "
	teardown   = "!   " // begins the warnings of a teardown
	registry   = "    " // begins what is said of the registry
)

const (
	heartbeat = time.Minute            // between two lines of a wait that does not change
	frame     = 120 * time.Millisecond // of the live line
	notable   = 10 * time.Second       // a step that takes so long says how long it took
	deletions = " still deleting..."   // ends what a teardown counts
)

// Text shows events to people. On a terminal what is at work has one live line on
// the error stream, redrawn in place; elsewhere a wait is a plain line now and then.
type Text struct {
	streams *iostreams.Streams
	stop    chan struct{}
	over    chan struct{}

	mu    sync.Mutex
	now   Event     // what is at work; none when its name is empty
	since time.Time // of now
	shown string    // the live line that is on the screen
	turn  int
	beat  time.Time // of the last plain line of a wait
	hold  string    // what it said
}

// NewText returns a display. Close ends it.
func NewText(s *iostreams.Streams) *Text {
	t := &Text{streams: s, stop: make(chan struct{}), over: make(chan struct{})}
	if !s.ErrTTY {
		close(t.over)
		return t
	}
	go t.animate()
	return t
}

// Close takes the live line away.
func (t *Text) Close() {
	close(t.stop)
	<-t.over
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = Event{}
	t.redraw("")
}

func (t *Text) animate() {
	defer close(t.over)
	ticker := time.NewTicker(frame)
	defer ticker.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-ticker.C:
			t.mu.Lock()
			t.turn++
			t.redraw(t.live())
			t.mu.Unlock()
		}
	}
}

// live is the live line of what is at work.
func (t *Text) live() string {
	if t.now.Name == "" {
		return ""
	}
	wheel := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	elapsed := t.now.Elapsed + time.Since(t.since)
	line := string(wheel[t.turn%len(wheel)]) + " " + short(elapsed.Truncate(time.Second))
	if t.now.Budget > 0 {
		line += " of " + short(t.now.Budget)
	}
	if t.now.Step.Waits != "" {
		line += ", waiting for " + t.now.Step.Waits
	}
	if t.now.Name == Progress && t.now.Message != "" {
		line += ": " + oneLine(t.now.Message)
	}
	return line
}

// redraw replaces the live line, cut to the width of the terminal. A terminal
// that is broken must not fail the work it shows.
func (t *Text) redraw(line string) {
	if t.shown == "" && line == "" {
		return
	}
	if width := t.streams.Width; width > 1 {
		line = displaywidth.TruncateString(line, width-1, "")
	}
	_, _ = io.WriteString(t.streams.Err, "\r\x1b[K"+line)
	t.shown = line
}

// Event implements [Sink].
func (t *Text) Event(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Name != Progress {
		t.redraw("")
	}
	switch e.Name {
	case Started:
		t.now, t.since, t.beat, t.hold = e, time.Now(), time.Now(), ""
	case Progress:
		t.progress(e)
		return
	case Done, Failed, Finished, Skipped:
		t.now = Event{}
	case Begun, Line, Detail, Confirmed, Output, Warning, Trouble, Advice, Stopping, Said:
	}
	out, errs := lines(e)
	_, _ = io.WriteString(t.streams.Out, out)
	_, _ = io.WriteString(t.streams.Err, errs)
}

// progress shows where a wait is: on the live line, or as a plain line when what
// holds it up has changed or a while has passed.
func (t *Text) progress(e Event) {
	if t.streams.ErrTTY {
		t.now, t.since = e, time.Now()
		return
	}
	if line := t.due(e); line != "" {
		_, _ = io.WriteString(t.streams.Out, line)
	}
}

func (t *Text) due(e Event) string {
	if (e.Message == "" || e.Message == t.hold) && time.Since(t.beat) < heartbeat {
		return ""
	}
	t.beat, t.hold = time.Now(), e.Message
	return detailMark + waiting(e) + "\n"
}

// waiting says what a wait waits for. Deletions are counted, in the documented
// words; what holds each of them up follows.
func waiting(e Event) string {
	if count, each, ok := strings.Cut(e.Message, deletions); ok {
		line := fmt.Sprintf("%s%s (%ds elapsed, checking again in %ds)", count, deletions, int(e.Elapsed.Seconds()), int(e.Step.Every.Seconds()))
		return line + strings.ReplaceAll(strings.TrimRight(each, "\n"), "\n", "\n"+detailMark+"  ")
	}
	line := "waiting for " + e.Step.Waits
	if e.Message != "" {
		line += ": " + oneLine(e.Message)
	}
	return line + fmt.Sprintf(" (%s of %s)", short(e.Elapsed.Truncate(time.Second)), short(e.Budget))
}

func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return strings.Join(lines, "; ")
}

// lines are what an event says on the two streams.
func lines(e Event) (out, errs string) {
	removing := e.Verb == "teardown"
	result := stepMark
	switch {
	case removing:
		result = goodMark
	case e.Step.ID == "registry":
		result = registry
	}
	switch e.Name {
	case Started:
		out = stepMark + e.Message + "\n"
		if e.Step.Gap {
			out = "\n" + out
		}
	case Line:
		out = mark(stepMark, e.Message)
	case Detail:
		out = mark(detailMark, e.Message)
	case Confirmed:
		out = mark(goodMark, e.Message)
	case Output, Said:
		out = strings.TrimSuffix(e.Message, "\n") + "\n"
	case Done:
		if e.Elapsed >= notable {
			out = detailMark + "took " + short(e.Elapsed) + "\n"
		}
		if e.Message != "" {
			out += mark(result, e.Message)
		}
	case Skipped:
		switch {
		case !e.Already:
		case removing && strings.Contains(e.Message, "skip"):
			out = stepMark + e.Step.Title + "\n" + mark(teardown, e.Message)
		default:
			out = mark(result, e.Message)
		}
	case Warning, Stopping:
		errs = aligned(cautious, e.Message)
		if removing {
			errs = aligned(teardown, e.Message)
		}
	case Trouble:
		errs = aligned(badMark, e.Message)
	case Advice:
		errs = indent("       ", e.Message)
	case Begun, Progress, Failed, Finished:
	}
	return out, errs
}

// mark begins each line of a text with a prefix.
func mark(prefix, text string) string { return indent(prefix, text) }

func indent(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+prefix) + "\n"
}

// aligned begins the first line with a prefix and puts the others below it.
func aligned(prefix, text string) string {
	room := strings.Repeat(" ", min(len(prefix), len(badMark)))
	return prefix + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+room) + "\n"
}
