package progress_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/progress"
)

// play shows three steps, a second each.
func play(s *iostreams.Streams) {
	steps := progress.New(s)
	pull := steps.Start("pull")
	pull.Update("%d of %d", 1, 2)
	wait(time.Second)
	pull.Done()
	steps.Start("check").Skip("nothing to check")
	boot := steps.Start("boot")
	wait(time.Second)
	boot.Fail(errors.New("no disk\nno net"))
}

func wait(d time.Duration) { <-time.NewTimer(d).C }

func TestStepsArePlainLinesInALog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, out, errs := iostreams.Test()

		play(s)

		want := `... pull
... pull: 1 of 2
ok  pull: in 1s
... check
--  check: nothing to check
... boot
!!  boot: after 1s: no disk; no net
`
		if diff := cmp.Diff(want, errs.String()); diff != "" || out.Len() != 0 {
			t.Errorf("printed %q\n%s", out, diff)
		}
	})
}

func TestStepsAreOneLiveLineOnATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, _, errs := iostreams.Test()
		s.ErrTTY, s.Width = true, 12

		play(s)

		want := "\r\x1b[K... pull|\r\x1b[K... pull: 1|\r\x1b[Kok  pull: in 1s\n|" +
			"\r\x1b[K... check|\r\x1b[K--  check: nothing to check\n|" +
			"\r\x1b[K... boot|\r\x1b[K!!  boot: after 1s: no disk; no net\n"
		if diff := cmp.Diff(strings.ReplaceAll(want, "|", ""), errs.String()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMarksAreColouredWhereColoursGo(t *testing.T) {
	t.Parallel()
	s, _, _, errs := iostreams.Test()
	s.ErrTTY, s.Color = true, true

	progress.New(s).Start("pull").Done()

	if !strings.Contains(errs.String(), "\x1b[32mok \x1b[0m pull") {
		t.Errorf("%q", errs)
	}
}

func TestStepsTogetherDoNotMixTheirLines(t *testing.T) {
	t.Parallel()
	s, _, _, errs := iostreams.Test()
	steps := progress.New(s)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { steps.Start("pull").Done() })
	}
	all.Wait()

	lines := strings.Split(strings.TrimSuffix(errs.String(), "\n"), "\n")
	if len(lines) != 40 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if line != "... pull" && !strings.HasPrefix(line, "ok  pull: in ") {
			t.Errorf("line %q", line)
		}
	}
}
