package watch_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/cli/watch/watchtest"
)

// plain runs a watch without a terminal for almost ten seconds.
func plain(t *testing.T, o watch.Options, s *iostreams.Streams, answers []answer) error {
	t.Helper()
	var err error
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(9900*time.Millisecond, cancel)
		err = watch.Run(ctx, s, o, r.source(answers))
		cancel()
		synctest.Wait()
		for _, a := range r.asked() {
			if !a.Plain || a.Size != (watch.Size{}) {
				t.Errorf("asked for %+v", a)
			}
		}
	})
	return err
}

func TestWithoutATerminalSnapshotsAreAppended(t *testing.T) {
	t.Parallel()
	s, _, out, errOut := iostreams.Test()

	err := plain(t, watch.Options{Title: "ls", Program: "koc", Interval: time.Second, Count: 4}, s, []answer{
		{rows: []string{"1 a BUILD"}},
		{rows: []string{"1 a ACTIVE"}, takes: 600 * time.Millisecond},
		{err: errors.New("503\x1b[2J")},
		{rows: []string{"1 a ACTIVE"}},
	})
	if err != nil {
		t.Error(err)
	}

	if diff := cmp.Diff("1 a BUILD\n1 a ACTIVE\n1 a ACTIVE\n", out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	const notes = "koc: a refresh took 600ms: the next ones come every 1.2s, not every 1s\n" +
		`koc: 503\x1b[2J (1 error, next try within 1s)` + "\n"
	if diff := cmp.Diff(notes, errOut.String()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestPlainOnATerminalHasNoSequences(t *testing.T) {
	t.Parallel()
	term := watchtest.New(80, 10)
	s := term.Streams()
	var out bytes.Buffer
	s.Out = &out

	err := plain(t, watch.Options{Plain: true, Interval: 5 * time.Second, Terminal: term}, s, []answer{{rows: vms(2)}})

	if !errors.Is(err, watch.ErrInterrupted) {
		t.Error(err)
	}
	if diff := cmp.Diff(strings.Repeat("1 vm1 ACTIVE\n2 vm2 ACTIVE\n", 2), out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if term.IsRaw() || term.Log() != "" {
		t.Error("it touches the terminal")
	}
}

func TestPlainEndsWithTheFirstDifference(t *testing.T) {
	t.Parallel()
	s, _, out, _ := iostreams.Test()

	err := plain(t, watch.Options{Interval: time.Second, UntilChange: true}, s, []answer{
		{rows: vms(1)},
		{rows: vms(1), takes: 100 * time.Millisecond},
		{rows: vms(2)},
	})

	if err != nil || strings.Count(out.String(), "vm1") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAClosedPipeEndsIt(t *testing.T) {
	t.Parallel()
	s, _, _, _ := iostreams.Test()
	s.Out = closed{}

	if err := plain(t, watch.Options{}, s, []answer{{rows: vms(1)}}); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

var errClosed = errors.New("broken pipe")

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errClosed }

func TestWithoutAKeyboardThereAreNoKeysAndNoHint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		term := watchtest.New(80, 5)
		s := term.Streams()
		s.InTTY = false
		ctx, cancel := context.WithCancel(t.Context())
		out := make(chan error, 1)
		r := &rig{T: t, Terminal: term}
		go func() {
			out <- watch.Run(ctx, s, watch.Options{Title: "ls", Terminal: term}, r.source([]answer{{rows: vms(9)}}))
		}()
		synctest.Wait()

		r.shows(`
‹1:ls› · every 2s · 00:00:00 · 9 rows · 0s · ‹32:ok› · diff off · lines 1–1 of 10
ID NAME STATUS
--------------
1 vm1 ACTIVE
‹2:── 9 below ──›
`)
		if term.IsRaw() {
			t.Error("the terminal is raw")
		}
		cancel()
		synctest.Wait()
		if err := <-out; !errors.Is(err, watch.ErrInterrupted) {
			t.Error(err)
		}
	})
}

func TestNoColourMeansNoHighlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		term := watchtest.New(80, 8)
		s := term.Streams()
		s.Color = false
		r := &rig{T: t, Terminal: term, out: make(chan error, 1)}
		answers := []answer{{rows: []string{"1 a \x1b[31mBUILD\x1b[0m"}}, {rows: []string{"2 b BUILD"}}}
		go func() {
			r.out <- watch.Run(t.Context(), s, watch.Options{Title: "ls", Diff: true, Terminal: term}, r.source(answers))
		}()
		r.wait(2 * time.Second)
		if !strings.Contains(r.status(), "diff off") {
			t.Errorf("status line %s", r.status())
		}
		r.press("d")

		r.shows(`
ls · every 2s · 00:00:02 · 1 row · 0s · ok · diff off · ? keys
ID NAME STATUS
--------------
2 b BUILD
==============
`)
		r.press("?q")
		r.ends(nil)
		if log := term.Log(); strings.Contains(strings.ReplaceAll(log, "\x1b[0m", ""), "m\x1b") || strings.Contains(log, "\x1b[31m") {
			t.Errorf("colours in %q", log)
		}
		term.Close()
	})
}
