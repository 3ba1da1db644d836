package command_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/command"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// toy is a backend that selects what it is told.
type toy struct{}

func (toy) Select(_ context.Context, selector string) ([]object.Path, error) {
	p, err := object.Parse(selector)
	return []object.Path{p}, err
}

// host is what only some backends can do.
type host interface{ Host() }

type capable struct{ toy }

func (capable) Host() {}

// note records the flags that were bound and the call that was run.
type note struct {
	name  string
	loud  bool
	bound *[]string
	calls *[]verb.Call
}

func (n *note) Flags(f *pflag.FlagSet) {
	*n.bound = append(*n.bound, n.name)
	f.BoolVar(&n.loud, "loud", false, "be loud")
}

func (n *note) Run(ctx context.Context, c *verb.Call) error {
	*n.calls = append(*n.calls, *c)
	_, err := c.Objects(ctx)
	return err
}

type program struct {
	bound []string
	calls []verb.Call
}

// run runs a command line and returns the exit code and what was printed.
func (p *program) run(t *testing.T, backend verb.Backend, line string) (code int, out string) {
	t.Helper()
	noted := func(path string) verb.Verb {
		return verb.Verb{
			Path: path, Short: "Note " + path,
			New: func(verb.Backend) verb.Runner { return &note{name: path, bound: &p.bound, calls: &p.calls} },
		}
	}
	start := noted("instance start")
	start.Kinds, start.Also, start.Aliases = []object.Kind{object.KindSvc}, []string{"launch it"}, []string{"begin"}
	verbs := []verb.Verb{start, noted("instance stop"), noted("list"), {
		Path: "enter", Short: "Enter", New: verb.Does(func(context.Context, host, *verb.Call) error { return nil }),
	}}
	tree := command.Tree{
		Name: "om", Short: "Do", Backend: backend, Topics: map[string]string{"instance": "Act"},
		Subsystems: []command.Subsystem{
			{Name: "all", Short: "All", Selects: true, Verbs: verbs},
			{Name: "svc", Short: "Services", Kind: object.KindSvc, Selects: true, Verbs: verbs},
			{Name: "sec", Short: "Secrets", Kind: object.KindSec, Selects: true, Verbs: verbs},
		},
		Verbs: []verb.Verb{noted("monitor")},
	}
	streams, _, stdout, stderr := iostreams.Test()
	process := app.Process{Args: strings.Fields(line), Env: func(string) string { return "" }, Streams: streams, Version: "1.2"}
	code = app.Run(t.Context(), process, tree.Root)
	return code, stdout.String() + stderr.String()
}

func TestARunBuildsTheFlagsOfItsCommandOnly(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"hello instance start --loud": {"instance start"},
		"--color no hello list":       {"list"},
		"monitor":                     {"monitor"},
		"--version":                   nil,
		"--help":                      nil,
	} {
		var p program
		p.run(t, toy{}, line)
		if diff := cmp.Diff(want, p.bound); diff != "" {
			t.Errorf("om %s\n%s", line, diff)
		}
	}
}

func TestACallSaysWhatWasTyped(t *testing.T) {
	t.Parallel()
	var p program
	code, out := p.run(t, toy{}, "-q --color no hello instance start --loud -o json")
	if code != 0 || len(p.calls) != 1 {
		t.Fatalf("exit code %d, %d calls: %s", code, len(p.calls), out)
	}
	c := p.calls[0]
	if c.Selector != "hello" || c.Kind != object.KindSvc || c.Verb != "instance start" || c.Format != "json" || !c.Quiet ||
		c.Line != "om -q --color no hello instance start --loud -o json" {
		t.Errorf("%+v", c)
	}
}

func TestCommandLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line string
		code       int
		out        string
	}{
		{"an alias of the last word", "hello instance begin", 0, ""},
		{"another spelling of the path", "hello launch it", 0, ""},
		{"the same selector, v2 style", "svc --service hello instance start", 0, ""},
		{"help of a command", "hello instance start --help", 0, "om <svc selector> instance start [flags]"},
		{"help in front", "help hello instance start", 0, "om <svc selector> instance start [flags]"},
		{"help of a topic", "hello instance --help", 0, "stop "},
		{"the version", "--version", 0, "om version 1.2"},
		{"an unknown verb", "hello instance stapt", 1, `did you mean "start"?`},
		{"an unknown flag", "hello instance start --lood", 1, "did you mean --loud?"},
		{"an unknown flag in front", "--nosuch hello list", 1, "--nosuch"},
		{"no verb", "hello", 1, "say what to do with"},
		{"a command misspelt", "monitr", 1, "Or did you mean: om monitor?"},
		{"an argument too many", "hello instance start now", 1, `does not take "now"`},
		{"no selector", "svc instance start", 1, "say which objects"},
		{"a filter given nothing", "hello list --selector=", 1, "--selector is given nothing"},
		{"an unknown verb with flags of its own", "hello instance stapt --rid x", 1, `did you mean "start"?`},
		{"the selector in front of the verb", "--service hello instance start", 0, ""},
		{"a verb of another kind", "sec/keys instance start --loud", 4, "sec/keys: instance start is not supported"},
		{"a verb the backend lacks", "hello enter", 1, `no command "enter"`},
		{"a colour that does not exist", "--color maybe hello list", 1, "maybe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var p program
			code, out := p.run(t, toy{}, c.line)
			if code != c.code || !strings.Contains(out, c.out) {
				t.Errorf("exit code %d, want %d; want %q in:\n%s", code, c.code, c.out, out)
			}
		})
	}
}

func TestAVerbExistsWhereTheBackendCanServeIt(t *testing.T) {
	t.Parallel()
	var p program
	if code, out := p.run(t, capable{}, "hello enter"); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
}
