package log_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/command/log"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// store answers one line, and keeps what it was asked.
type store struct{ asked *[]log.Query }

func (store) Select(_ context.Context, selector string) ([]object.Path, error) {
	if selector == "none" {
		return nil, nil
	}
	return []object.Path{{Namespace: "root", Kind: object.KindSvc, Name: "web"}}, nil
}

func (s store) Logs(_ context.Context, q log.Query) iter.Seq2[logbook.Line, error] {
	*s.asked = append(*s.asked, q)
	return func(yield func(logbook.Line, error) bool) {
		raw := []byte(`{"at":"2026-11-30T10:00:00Z","level":"warn","node":"n1","path":"web","rid":"app#1","sid":"s1","message":"stop","err":"no luck","dur":2000000,"why":"a b"}`)
		l, err := logbook.ParseLine(raw)
		yield(l, err)
	}
}

func logs(t *testing.T, about log.About, c verb.Call, args ...string) (asked []log.Query, out string, err error) {
	t.Helper()
	s := store{asked: &asked}
	runner := log.Verb("logs", "Print the log", verb.Args{}, about).New(s)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	runner.Flags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	c.Streams, c.Backend = &iostreams.Streams{Out: &b, Err: &b}, s
	err = runner.Run(t.Context(), &c)
	return asked, b.String(), err
}

func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	web := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "web"}
	for name, c := range map[string]struct {
		about log.About
		call  verb.Call
		args  []string
		want  log.Query
	}{
		"the last lines of this node": {log.Everything, verb.Call{}, nil, log.Query{Query: logbook.Query{Level: "info"}, Lines: 50}},
		"of an object, on every node": {
			log.Selected,
			verb.Call{Selector: "web"},
			[]string{"-n", "0"},
			log.Query{Query: logbook.Query{Level: "info", Paths: []string{"web"}}, Objects: []object.Path{web}, Everywhere: true},
		},
		"of an object, here": {
			log.Selected,
			verb.Call{Selector: "web"},
			[]string{"--local"},
			log.Query{Query: logbook.Query{Level: "info", Paths: []string{"web"}}, Objects: []object.Path{web}, Lines: 50},
		},
		"of an id, narrowed": {
			log.Orchestration,
			verb.Call{Args: []string{"o1"}},
			[]string{"--filter", "RID=app#*", "--grep", "x", "--level", "error", "--node", "n2"},
			log.Query{Query: logbook.Query{Level: "error", Grep: "x", Filter: []string{"RID=app#*", "ORCHESTRATION_ID=o1"}}, Nodes: "n2", Everywhere: true, Lines: 50},
		},
		"the whole of it with --debug": {
			log.Exec,
			verb.Call{Args: []string{"e1"}, Debug: true},
			nil,
			log.Query{Query: logbook.Query{Level: "debug", Filter: []string{"EID=e1"}}, Everywhere: true, Lines: 50},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, _, err := logs(t, c.about, c.call, c.args...)
			if diff := cmp.Diff([]log.Query{c.want}, asked); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestNoObjectIsNotEveryObject(t *testing.T) {
	t.Parallel()
	asked, out, err := logs(t, log.Selected, verb.Call{Selector: "none"})
	if err != nil || len(asked) > 0 || !strings.Contains(out, "no object matches none") {
		t.Errorf("asked %v, %v\n%s", asked, err, out)
	}
}

func TestHowALineIsPrinted(t *testing.T) {
	t.Parallel()
	_, out, err := logs(t, log.Everything, verb.Call{})
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC).Local().Format("2006-01-02 15:04:05.000")
	if want := at + " WRN n1: web: app#1: stop: no luck dur=2ms why=\"a b\"\n"; err != nil || out != want {
		t.Errorf("%v\n%s%s", err, out, want)
	}
	if _, out, err := logs(t, log.Everything, verb.Call{Format: "json"}); err != nil || !strings.Contains(out, `"why":"a b"`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// late answers one line while it is followed, and two afterwards.
type late struct {
	store
	printed chan struct{}
}

func (l late) Logs(ctx context.Context, q log.Query) iter.Seq2[logbook.Line, error] {
	line := func(message string) (logbook.Line, error) {
		return logbook.ParseLine([]byte(`{"at":"2026-11-30T10:00:00Z","level":"info","node":"n1","message":"` + message + `"}`))
	}
	return func(yield func(logbook.Line, error) bool) {
		if !yield(line("early")) {
			return
		}
		if q.Follow {
			close(l.printed)
			<-ctx.Done()
			return
		}
		yield(line("late"))
	}
}

func TestWhatIsDoneIsFollowedToItsLastLine(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	reader := late{printed: make(chan struct{})}
	failed := errors.New("failed")

	err := log.During(t.Context(), &verb.Call{Streams: &iostreams.Streams{Out: &b, Err: &b}}, reader, log.Query{}, func(context.Context) error {
		<-reader.printed // as it comes, not at the end
		return failed
	})

	if !errors.Is(err, failed) || strings.Count(b.String(), "early") != 1 || strings.Count(b.String(), "late") != 1 {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// hostile answers a line that what a task printed made.
type hostile struct{ store }

func (hostile) Logs(context.Context, log.Query) iter.Seq2[logbook.Line, error] {
	return func(yield func(logbook.Line, error) bool) {
		yield(logbook.ParseLine([]byte(`{"at":"2026-11-30T10:00:00Z","level":"info","node":"n1","path":"web","rid":"t\u001b#1","message":"a\u001b[2J\tb\rc\n2026-11-30 10:00:00.000 INF n1: forged","why":"\u001b]0;x\u0007"}`)))
	}
}

func TestWhatATaskPrintsNeitherMovesTheCursorNorForgesALine(t *testing.T) {
	t.Parallel()
	runner := log.Verb("logs", "Print the log", verb.Args{}, log.Everything).New(hostile{})
	runner.Flags(pflag.NewFlagSet("", pflag.ContinueOnError))
	var b bytes.Buffer

	err := runner.Run(t.Context(), &verb.Call{Streams: &iostreams.Streams{Out: &b, Err: &b}})

	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC).Local().Format("2006-01-02 15:04:05.000")
	want := at + ` INF n1: web: t\x1b#1: a\x1b[2J` + "\tb" + `\rc` + "\n" + `    2026-11-30 10:00:00.000 INF n1: forged why=\x1b]0;x\a` + "\n"
	if err != nil || b.String() != want {
		t.Errorf("%v\n%q\n%q", err, b.String(), want)
	}
}

func TestWhatCannotBeAskedIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--level", "loud"}, `--level "loud"`},
		{[]string{"--grep", "("}, `--grep "("`},
		{[]string{"--filter", "x"}, `--filter "x"`},
		{[]string{"--lines", "-1"}, "--lines -1"},
		{[]string{"--local", "--node", "n1"}, "--local"},
	} {
		asked, _, err := logs(t, log.Everything, verb.Call{}, c.args...)
		if err == nil || len(asked) > 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, asked %v", c.args, err, asked)
		}
	}
}

func TestALogThatIsNotFollowedAnyMoreIsAFailure(t *testing.T) {
	t.Parallel()
	if _, out, err := logs(t, log.Everything, verb.Call{}, "--follow"); err == nil || !strings.Contains(err.Error(), "ended the stream") || out == "" {
		t.Errorf("%v\n%s", err, out)
	}
}
