package command_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// answering is a command with flags that answers what it is told.
type answering struct {
	answer error
	called *bool
}

func (a answering) Flags(f *pflag.FlagSet) {
	f.StringSlice("rid", nil, "")
	f.String("to", "", "")
	f.Duration("time", time.Minute, "")
	f.Duration("waitlock", time.Minute, "")
	f.Bool("wait", false, "")
	f.String("state", "", "")
}

func (a answering) Run(context.Context, *verb.Call) error {
	*a.called = true
	return a.answer
}

// explaining is a backend that may be unfit and that explains errors.
type explaining struct {
	toy
	unfit error
}

func (e explaining) Check() error          { return e.unfit }
func (explaining) Explain(err error) error { return fmt.Errorf("%w: explained", err) }

func answer(t *testing.T, b verb.Backend, answer error, args ...string) (code int, out string, called bool) {
	t.Helper()
	verbs := []verb.Verb{{Path: "do", Short: "Do", New: func(verb.Backend) verb.Runner { return answering{answer, &called} }}}
	tree := command.Tree{Name: "om", Short: "Do", Backend: b, Subsystems: []command.Subsystem{
		{Name: "all", Short: "All", Selects: true, Verbs: verbs}, {Name: "svc", Short: "Services", Kind: object.KindSvc, Selects: true, Verbs: verbs},
	}}
	streams, _, stdout, stderr := iostreams.Test()
	code = app.Run(t.Context(), app.Process{Args: args, Env: func(string) string { return "" }, Streams: streams}, tree.Root)
	return code, stdout.String() + stderr.String(), called
}

func TestFlagsThatNoVerbCanHonourAreRefusedBeforeItRuns(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--rid", ""}, {"--rid", "a,"}, {"--to", ""}, {"--to", " "}, {"--time", "-1s"}, {"--time", "0"}, {"--waitlock", "-1s"},
	} {
		code, out, called := answer(t, toy{}, nil, append([]string{"hello", "do"}, args...)...)
		if code != 1 || called || !strings.Contains(out, "Error: "+args[0]) {
			t.Errorf("%q: exit code %d, called %t: %s", args, code, called, out)
		}
	}
	for _, args := range [][]string{{}, {"--rid", "a,b"}, {"--to", "fs"}, {"--waitlock", "0"}, {"--time", "1s"}, {"--state", ""}} {
		if code, out, called := answer(t, toy{}, nil, append([]string{"hello", "do"}, args...)...); code != 0 || !called {
			t.Errorf("%q: exit code %d: %s", args, code, out)
		}
	}
}

func TestOnlyObjectsThatDoNotExistAreIgnored(t *testing.T) {
	t.Parallel()
	missing := &object.NotFoundError{What: "hello"}
	for _, c := range []struct {
		err  error
		code int
	}{
		{missing, 0},
		{fmt.Errorf("do: %w", missing), 0},
		{errors.Join(missing, missing), 0},
		{api.NewProblem(404, "hello does not exist"), 0},
		{errors.Join(missing, errors.New("disk on fire")), 2},
		{errors.New("disk on fire"), 1},
		{app.WithCode(errors.New("no instance"), 3), 3},
	} {
		if code, out, _ := answer(t, toy{}, c.err, "hello", "do", "--ignore-not-found"); code != c.code {
			t.Errorf("%v: exit code %d, want %d: %s", c.err, code, c.code, out)
		}
		if code, _, _ := answer(t, toy{}, c.err, "hello", "do"); code == 0 {
			t.Errorf("%v is ignored", c.err)
		}
	}
}

func TestTheParametersOfTheAPIAreNamedAsFlags(t *testing.T) {
	t.Parallel()
	for detail, want := range map[string]string{
		"query.state: must be one of a, b":      "Error: --state: must be one of a, b\n",
		"query.wait: must be positive":          "Error: --time: must be positive\n",
		"query.wait_lock: x; query.rid: y":      "Error: --waitlock: x; --rid: y\n",
		"query.nosuch: what no flag stands for": "Error: query.nosuch: what no flag stands for\n",
	} {
		if _, out, _ := answer(t, toy{}, api.NewProblem(400, detail), "hello", "do"); out != want {
			t.Errorf("%q: %q, want %q", detail, out, want)
		}
	}
}

func TestABackendMayRefuseToRunAndExplainErrors(t *testing.T) {
	t.Parallel()
	code, out, called := answer(t, explaining{unfit: errors.New("no place to live")}, nil, "hello", "do")
	if code != 1 || called || out != "Error: no place to live\n" {
		t.Errorf("exit code %d, called %t, %q", code, called, out)
	}
	if _, out, _ := answer(t, explaining{}, errors.New("denied"), "hello", "do"); out != "Error: denied: explained\n" {
		t.Errorf("%q", out)
	}
	if code, out, _ := answer(t, explaining{}, nil, "hello", "do"); code != 0 || out != "" {
		t.Errorf("exit code %d, %q", code, out)
	}
}
