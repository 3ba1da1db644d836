package run

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// GitHub writes events for the log of a workflow: each step a group, annotations
// for warnings and errors, a table in the summary of the job. All goes to one
// stream, so that it keeps its order.
type GitHub struct {
	out     io.Writer
	summary string // file the table is appended to, none when empty

	mu    sync.Mutex
	open  bool
	rows  []string
	plain Text // only for when a wait says something
}

// NewGitHub returns a sink that writes to out, and a table to a file.
func NewGitHub(out io.Writer, summary string) *GitHub { return &GitHub{out: out, summary: summary} }

// Event implements [Sink].
func (g *GitHub) Event(e Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch e.Name {
	case Started:
		g.close()
		g.plain.beat, g.plain.hold = time.Now(), ""
		g.write("::group::" + e.Message + "\n")
		g.open = true
	case Progress:
		g.write(g.plain.due(e))
	case Done:
		g.say(e)
		g.close()
		g.row("✓", e.Step.Title, short(e.Elapsed))
	case Skipped:
		g.close()
		g.say(e)
	case Warning, Stopping:
		g.write(annotation("warning", e))
		if e.Name == Warning {
			g.row("!", e.Message, short(e.Elapsed))
		}
	case Failed:
		g.close()
		g.write(annotation("error", e))
		g.row("✗", e.Step.Title+" "+e.Message, short(e.Elapsed))
	case Trouble, Advice:
		_, errs := lines(e)
		g.write(errs)
	case Finished:
		g.close()
		g.finish(e)
	case Said:
		g.close()
		g.say(e)
	case Begun, Line, Detail, Confirmed, Output:
		g.say(e)
	}
}

func (g *GitHub) say(e Event) {
	out, _ := lines(e)
	g.write(out)
}

func (g *GitHub) close() {
	if g.open {
		g.write("::endgroup::\n")
	}
	g.open = false
}

func (g *GitHub) write(text string) { _, _ = io.WriteString(g.out, text) }

func (g *GitHub) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(oneLine(c), "|", `\|`)
	}
	g.rows = append(g.rows, "| "+strings.Join(cells, " | ")+" |\n")
}

// finish appends the table to the summary of the job.
func (g *GitHub) finish(e Event) {
	if g.summary == "" {
		return
	}
	text := fmt.Sprintf("### krops-bootstrap: %s of %s\n\n", e.Verb, e.Environment)
	if len(g.rows) > 0 {
		text += "| | Step | Time |\n|---|---|---|\n" + strings.Join(g.rows, "") + "\n"
	}
	if e.Message != "" {
		text += oneLine(e.Message) + "\n"
	}
	if e.Hint != "" {
		text += "\n" + e.Hint + "\n"
	}
	f, err := os.OpenFile(g.summary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // the runner of the workflow reads it as another user
	if err == nil {
		_, err = f.WriteString(text)
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		g.write("::warning::" + Escape("the summary was not written: "+err.Error()) + "\n")
	}
}

func annotation(level string, e Event) string {
	title := ""
	if e.Step.ID != "" {
		title = " title=" + property(e.Step.ID)
	}
	return "::" + level + title + "::" + Escape(e.Message) + "\n"
}

// Escape makes a text fit for a workflow command.
func Escape(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(strings.TrimRight(text, "\n"))
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(Escape(text))
}
