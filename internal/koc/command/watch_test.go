package command_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/cli/watch/watchtest"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// turn is what the watched command does at one of its runs.
type turn struct {
	rows string // "id name status|id name status"
	note string
	err  error
}

// watchedProgram has commands that do their turns, the last one for ever.
func watchedProgram(turns ...turn) *command.Program {
	n := 0
	next := func() turn {
		n++
		return turns[min(n, len(turns))-1]
	}
	list := command.Command{
		Short: "List things", Output: command.Listed,
		Flags: []command.Flag{{Name: "host", Value: "<host>", Help: "Those of a host"}, {Name: "long", Help: "More"}},
		Run: func(_ context.Context, c *command.Call) error {
			now := next()
			if now.note != "" {
				c.Notef("%s\n", now.note)
			}
			if now.err != nil {
				return now.err
			}
			var rows [][]any
			for row := range strings.SplitSeq(now.rows, "|") {
				var cells []any
				for cell := range strings.SplitSeq(row, " ") {
					cells = append(cells, strings.ReplaceAll(cell, "_", " "))
				}
				if row != "" {
					rows = append(rows, cells)
				}
			}
			return c.List([]render.Column{{Title: "ID"}, {Title: "Name"}, {Title: "Status"}}, render.Rows(rows))
		},
	}
	show := command.Command{
		Short: "Show a thing", Output: command.Shown, Args: []command.Arg{{Name: "<thing>"}},
		Run: func(_ context.Context, c *command.Call) error {
			return c.Show([]render.Field{{Name: "name", Value: c.Text("<thing>")}, {Name: "status", Value: next().rows}})
		},
	}
	secret := show
	secret.NoWatch = true
	entry := func(name string, c command.Command) command.Entry {
		return command.Entry{Name: name, Build: func() command.Command { return c }}
	}
	return &command.Program{
		Name: "koc", Version: "1", Short: "-",
		Services: services([]command.Service{{Name: "thing", Entries: entries(
			entry("thing list", list), entry("thing show", show), entry("secret show", secret),
		)}}),
		Open: func(*command.Call) (*cloud.Cloud, error) { return nil, nil },
	}
}

func process(s *iostreams.Streams, env map[string]string, line string) program.Process {
	return program.Process{
		Name: "koc", Args: strings.Fields(line), Streams: s,
		Env: func(name string) string { return env[name] },
	}
}

// onScreen runs a command line on a terminal of 72 columns without a keyboard for
// a time and returns what is to be seen then.
func onScreen(t *testing.T, p *command.Program, line string, until time.Duration) (screen string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		term := watchtest.NewScreen(72, 12)
		s, _, _, _ := iostreams.Test()
		s.Out, s.OutTTY, s.Color, s.Width = term, true, true, 72
		ctx, cancel := context.WithCancel(t.Context())
		code := make(chan int, 1)
		go func() { code <- p.Run(ctx, process(s, nil, line)) }()
		time.Sleep(until) //nolint:forbidigo // of the bubble
		synctest.Wait()
		// The time of the day is that of the place where the test runs.
		screen = strings.NewReplacer(time.Now().Format("15:04:"), "hh:mm:").Replace(term.Marked())
		cancel()
		if got := <-code; got != 130 {
			t.Errorf("exit code %d", got)
		}
		if faults := term.Faults(); faults != nil {
			t.Error(faults)
		}
		if term.State() != (watchtest.State{}) {
			t.Error("the terminal is not put back")
		}
	})
	return screen
}

func TestAWatchedListingIsRepaintedWithItsChanges(t *testing.T) {
	t.Parallel()
	p := watchedProgram(
		turn{rows: "1 web BUILD|2 db ACTIVE"},
		turn{rows: "1 web ACTIVE|3 app BUILD", note: "host n2 did not answer"},
	)

	got := onScreen(t, p, "--os-cloud secret thing list --host n1 --long -c Name -c Status --watch=1s", 1500*time.Millisecond)

	const want = `‹1:koc thing list --hos…› · every 1s · hh:mm:01 · 2 rows · 0s · ‹32:ok› · diff on
+------+--------+
| Name | Status |
+------+--------+
| web  | ‹7:ACTIVE› |
| ‹2:db  › | ‹2:ACTIVE› |
| ‹32:app › | ‹32:BUILD › |
+------+--------+
‹2:host n2 did not answer›
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
}

func TestAWatchedThingIsComparedFieldByField(t *testing.T) {
	t.Parallel()
	got := onScreen(t, watchedProgram(turn{rows: "BUILD"}, turn{rows: "ACTIVE"}), "thing show web -w", 2500*time.Millisecond)

	const want = `‹1:koc thing show web› · every 2s · hh:mm:02 · 0s · ‹32:ok› · diff on
+--------+--------+
| Field  | Value  |
+--------+--------+
| name   | web    |
| status | ‹7:ACTIVE› |
+--------+--------+
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
}

func TestACompactRowIsOneLine(t *testing.T) {
	t.Parallel()
	long := "1 " + strings.Repeat("word_", 20) + "end ACTIVE"

	whole := onScreen(t, watchedProgram(turn{rows: long}), "thing list --watch --watch-no-title", time.Second)
	compact := onScreen(t, watchedProgram(turn{rows: long}), "thing list --watch --watch-no-title --watch-compact", time.Second)

	if n := strings.Count(whole, "\n"); n < 6 {
		t.Errorf("wrapped:\n%s", whole)
	}
	if n := strings.Count(compact, "\n"); n != 5 || !strings.Contains(compact, "wor… | ACTIVE |") {
		t.Errorf("compact:\n%s", compact)
	}
}

func TestOtherFormatsAreRepaintedLineByLine(t *testing.T) {
	t.Parallel()
	p := watchedProgram(turn{rows: "1 web BUILD|2 db ACTIVE"}, turn{rows: "1 web ACTIVE|2 db ACTIVE"})

	got := onScreen(t, p, "thing list -f value --watch", 2500*time.Millisecond)

	const want = `‹1:koc thing list› · every 2s · hh:mm:02 · 2 rows · 0s · ‹32:ok› · diff on
‹7:1       web     ACTIVE›
2       db      ACTIVE
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
}

// piped runs a command line without a terminal, for at most a minute.
func piped(t *testing.T, p *command.Program, line string) (code int, out, notes string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, _, printed, said := iostreams.Test()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		code = p.Run(ctx, process(s, nil, line))
		out, notes = printed.String(), said.String()
	})
	return code, out, notes
}

func TestAPipeGetsOneSnapshotAfterAnother(t *testing.T) {
	t.Parallel()
	turns := []turn{{rows: "1 web BUILD", note: "slow"}, {rows: "1 web BUILD"}, {rows: "1 web ACTIVE"}}
	for line, want := range map[string]string{
		"thing list --watch=1s --watch-count 3 -f csv":                    "ID,Name,Status\n1,web,BUILD\n1,web,BUILD\n1,web,ACTIVE\n",
		"thing list --watch=1s --watch-until-change -f csv":               "ID,Name,Status\n1,web,BUILD\n1,web,BUILD\n1,web,ACTIVE\n",
		"thing list --watch=1s --watch-count 2 -f json --noindent":        strings.Repeat(`[{"ID": "1", "Name": "web", "Status": "BUILD"}]`+"\n", 2),
		"thing list --watch=1s --watch-until-change -f value -c Status":   "BUILD\nBUILD\nACTIVE\n",
		"thing list --watch=1s --watch-count 1":                           "+----+------+--------+\n| ID | Name | Status |\n+----+------+--------+\n| 1  | web  | BUILD  |\n+----+------+--------+\n",
		"thing list --watch=1s --watch-count 1 --watch-plain -f value":    "1\tweb\tBUILD\n",
		"thing list --watch=1s --watch-count 2 --watch-no-title -f value": "1\tweb\tBUILD\n1\tweb\tBUILD\n",
	} {
		code, out, notes := piped(t, watchedProgram(turns...), line)
		if code != 0 || notes != "slow\n" {
			t.Errorf("%s: exit code %d, notes %q", line, code, notes)
		}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestWhichErrorsEndAWatch(t *testing.T) {
	t.Parallel()
	good := turn{rows: "1 web BUILD"}
	fault := func(service string, status int) turn {
		return turn{err: fmt.Errorf("list: %w", &cloud.Fault{Service: service, Status: status, Message: "m"})}
	}
	for name, c := range map[string]struct {
		line  string
		turns []turn
		code  int
		tries int // answers and complaints
	}{
		"an overloaded service":             {"", []turn{fault("compute", http.StatusServiceUnavailable), good}, 0, 5},
		"a refused credential":              {"", []turn{good, fault("identity", http.StatusUnauthorized)}, 1, 2},
		"a token that ran out":              {"", []turn{good, fault("compute", http.StatusUnauthorized), good}, 0, 5},
		"a bad filter":                      {"", []turn{fault("compute", http.StatusBadRequest)}, 1, 1},
		"a bad filter after a frame":        {"", []turn{good, fault("compute", http.StatusBadRequest)}, 0, 5},
		"something unknown before a frame":  {"", []turn{{err: errors.New("no column Foo")}}, 1, 1},
		"an overloaded service, to exit at": {"--watch-errors exit", []turn{good, fault("compute", http.StatusServiceUnavailable)}, 1, 2},
		"nothing but failures":              {"", []turn{fault("compute", http.StatusServiceUnavailable)}, 1, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, notes := piped(t, watchedProgram(c.turns...), "thing list -f value --watch=1s --watch-count 5 "+c.line)
			tries := strings.Count(out, "\n") + strings.Count(notes, "\n")
			if code != c.code || tries != c.tries {
				t.Errorf("exit code %d after %d lines; printed\n%s%s", code, tries, out, notes)
			}
		})
	}
}

func TestCommandLinesOfAWatchThatAreWrong(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"thing list --watch=100ms":               "interval 100ms is too short: at least 250ms",
		"thing list --watch=soon":                `interval "soon" is no duration`,
		"thing list --watch-count 3":             "--watch-count needs --watch",
		"thing list --watch --watch-errors what": "--watch-errors",
		"secret show x --watch":                  "--watch",
		"--debug thing list --watch":             "add --watch-plain",
		"--timing thing list --watch":            "add --watch-plain",
	} {
		term := watchtest.NewScreen(80, 10)
		s, _, _, notes := iostreams.Test()
		s.Out, s.OutTTY = term, true
		code := watchedProgram(turn{}).Run(t.Context(), process(s, nil, line))
		if code != command.Rejected || !strings.Contains(notes.String(), want) || term.Log() != "" {
			t.Errorf("%s: exit code %d, %s%s", line, code, notes, term.Log())
		}
	}
}

func TestADumbTerminalGetsSnapshots(t *testing.T) {
	t.Parallel()
	term := watchtest.NewScreen(80, 10)
	s, _, _, _ := iostreams.Test()
	s.Out, s.OutTTY = term, true

	code := watchedProgram(turn{rows: "1 web BUILD"}).Run(t.Context(), process(s, map[string]string{"TERM": "dumb"}, "thing list -f value -c Name --watch --watch-count 1"))

	if code != 0 || term.Log() != "web\n" {
		t.Errorf("exit code %d, %q", code, term.Log())
	}
}
