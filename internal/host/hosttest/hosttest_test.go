package hosttest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
)

// recorder is a test that records how it fails.
type recorder struct {
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()                   {}
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(f string, a ...any) { r.failures = append(r.failures, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); panic(r) }
func (r *recorder) Skipf(f string, a ...any)  { r.Errorf("skipped: "+f, a...); panic(r) }

// run runs f as a test would, up to its first fatal failure.
func (r *recorder) run(f func()) {
	defer func() {
		for _, c := range r.cleanups {
			c()
		}
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	f()
}

func argv(words ...string) host.Cmd { return host.Cmd{Argv: words} }

const transcript = `
What lvs says of a volume group that is not there.
-- $ lvs -o name 'vg 0' --
  lv0
-- stderr --
  not found
-- code --
5
-- $ date --
first
-- $ date --
second
-- & sleep 600 --
-- & false --
-- code --
1
`

func TestATranscriptIsReplayed(t *testing.T) {
	t.Parallel()
	s := hosttest.NewScript(t, transcript)
	var lines []string
	lvs := argv("lvs", "-o", "name", "vg 0")
	lvs.OnLine = func(stderr bool, line string) { lines = append(lines, fmt.Sprint(stderr, line)) }

	first, err1 := s.Run(t.Context(), argv("date"))
	out, err := s.Run(t.Context(), lvs)
	second, err2 := s.Run(t.Context(), argv("date"))
	sleep, err3 := s.Start(argv("sleep", "600"))
	fails, err4 := s.Start(argv("false"))

	if err := errors.Join(err1, err2, err3); err != nil {
		t.Error(err)
	}
	if string(first.Stdout)+string(second.Stdout) != "first\nsecond\n" {
		t.Errorf("the same command twice gave %q, %q", first.Stdout, second.Stdout)
	}
	exit, ok := errors.AsType[*host.ExitError](err)
	if !ok || exit.Code != 5 || exit.Stderr != "not found" || string(out.Stdout) != "  lv0\n" {
		t.Errorf("got %q, %v", out.Stdout, err)
	}
	if diff := cmp.Diff([]string{"false  lv0", "true  not found"}, lines); diff != "" {
		t.Error(diff)
	}
	if sleep.Pid() == fails.Pid() {
		t.Error("two processes with one pid")
	}
	if exit, ok := errors.AsType[*host.ExitError](fails.Wait()); !ok || exit.Code != 1 || err4 != nil {
		t.Errorf("got %v, %v", fails.Wait(), err4)
	}
	if got := s.Ran(); len(got) != 5 || got[1][0] != "lvs" {
		t.Errorf("ran %q", got)
	}
}

func TestAnUnknownCommandFailsTheTest(t *testing.T) {
	t.Parallel()
	var err error

	r := new(recorder)
	r.run(func() {
		s := hosttest.NewScript(r, "-- $ a b --\n")
		_, _ = s.Run(t.Context(), argv("a", "b"))
		_, err = s.Run(t.Context(), argv("a", "b")) // once too often
		_, _ = s.Run(t.Context(), argv("a b"))
		_, _ = s.Start(argv("a", "b"))
	})

	want := []string{
		"command not in the transcript: $ a b", "command not in the transcript: $ 'a b'", "command not in the transcript: & a b",
	}
	if diff := cmp.Diff(want, r.failures); diff != "" {
		t.Error(diff)
	}
	if exit, ok := errors.AsType[*host.ExitError](err); !ok || exit.Code != 127 {
		t.Errorf("got %v, want exit status 127", err)
	}
}

func TestACommandNobodyRanFailsTheTest(t *testing.T) {
	t.Parallel()
	r := new(recorder)

	r.run(func() { hosttest.NewScript(r, "-- $ a 'it''s' \"\" --\n-- & b --\n") })

	want := []string{"command of the transcript not run: $ a its ''", "command of the transcript not run: & b"}
	if diff := cmp.Diff(want, r.failures); diff != "" {
		t.Error(diff)
	}
}

func TestAnotherInputFailsTheTest(t *testing.T) {
	t.Parallel()
	r := new(recorder)

	r.run(func() {
		s := hosttest.NewScript(r, "-- $ cat --\n-- stdin --\nright\n-- $ cat --\n-- stdin --\nright\n")
		c := argv("cat")
		c.Stdin = []byte("right\n")
		_, _ = s.Run(t.Context(), c)
		c.Stdin = []byte("wrong\n")
		_, _ = s.Run(t.Context(), c)
	})

	if len(r.failures) != 1 || !strings.Contains(r.failures[0], "wrong") {
		t.Errorf("failures %q", r.failures)
	}
}

func TestABadTranscriptFailsTheTest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"-- stderr --\n":               "comes before any command",
		"-- $ a --\n-- cod --\n1\n":    "expected $, &, stderr, stdin or code",
		"-- $ a --\n-- code --\none\n": "code of $ a",
		"-- $ a 'b --\n":               "unfinished quote",
	} {
		r := new(recorder)

		r.run(func() { hosttest.NewScript(r, text) })

		if len(r.failures) != 1 || !strings.Contains(r.failures[0], want) {
			t.Errorf("%q: failures %q, want %q", text, r.failures, want)
		}
	}
}

func TestPathsOfTheTestGoInTheTranscript(t *testing.T) {
	t.Parallel()
	s := hosttest.NewScript(t, "-- $ ls ROOT/x --\nin ROOT\n", "ROOT", "/tmp/1")

	out, err := s.Run(t.Context(), argv("ls", "/tmp/1/x"))

	if err != nil || string(out.Stdout) != "in /tmp/1\n" {
		t.Errorf("got %q, %v", out.Stdout, err)
	}
}

func TestAScriptHonoursCancellation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err := hosttest.NewScript(t, "").Run(ctx, argv("a"))

	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPathsFitASocketAndLeaveNothing(t *testing.T) {
	t.Parallel()
	r := new(recorder)
	var paths host.Paths

	r.run(func() {
		paths = hosttest.Paths(r)
		if err := os.MkdirAll(paths.Var(), 0o700); err != nil {
			t.Error(err)
		}
	})

	if n := len(paths.Socket()); n > 100 {
		t.Errorf("%s: %d bytes, too long for a socket", paths.Socket(), n)
	}
	if _, err := os.Stat(paths.Root); !errors.Is(err, os.ErrNotExist) || len(r.failures) > 0 {
		t.Errorf("left %s: %v, %q", paths.Root, err, r.failures)
	}
}

func TestASkipIsAFailureWhereSkipsAreForbidden(t *testing.T) { //nolint:paralleltest // it sets the environment
	for forbid, want := range map[string]string{"": "skipped: needs root", "1": "needs root (skips are forbidden here)"} {
		t.Setenv("HOLDFAST_FORBID_SKIP", forbid)
		r := new(recorder)

		r.run(func() { hosttest.Skip(r, "needs %s", "root") })

		if diff := cmp.Diff([]string{want}, r.failures); diff != "" {
			t.Error(diff)
		}
	}
}
