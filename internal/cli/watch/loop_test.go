package watch_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/watch"
)

func TestKeysThatEndItDoNotWaitForTheRefresh(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]error{"q": nil, "\x03": watch.ErrInterrupted} {
		play(t, watch.Options{}, []answer{{rows: vms(1), takes: time.Hour}}, func(r *rig) {
			r.wait(time.Second)
			before := time.Now()

			r.press(key)

			r.ends(want)
			if waited := time.Since(before); waited != 0 {
				t.Errorf("%q answered after %s", key, waited)
			}
		})
	}
}

func TestSignalsEndIt(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		play(t, watch.Options{}, []answer{{rows: vms(1)}}, func(r *rig) {
			r.Signal(sig)

			r.ends(watch.ErrInterrupted)
		})
	}
}

func TestAPanicOfTheSourcePutsTheTerminalBack(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{}, []answer{{rows: vms(1)}, {panic: "index out of range"}}, func(r *rig) {
		r.wait(2 * time.Second)

		if !r.over() || !strings.Contains(fmt.Sprint(r.err), "panic: index out of range\n\ngoroutine") {
			t.Errorf("it ended with %v", r.err)
		}
	})
}

func TestATerminalThatCannotBeMadeRawIsNotTouched(t *testing.T) {
	t.Parallel()
	broken := errors.New("inappropriate ioctl")
	term := newRawless(broken)
	s := term.Streams()

	err := watch.Run(t.Context(), s, watch.Options{Terminal: term}, nil)

	if !errors.Is(err, broken) || term.Log() != "" {
		t.Errorf("%v after writing %q", err, term.Log())
	}
}

func TestSuspendingGivesTheTerminalAwayMeanwhile(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{}, []answer{{rows: vms(1)}}, func(r *rig) {
		r.press("\x1a")

		if n := r.Suspended(); n != 1 || !r.IsRaw() || !r.State().Alternate {
			t.Errorf("suspended %d times; then raw %v, %+v", n, r.IsRaw(), r.State())
		}

		r.Signal(syscall.SIGCONT) // of a suspension by somebody else
		r.wait(0)
		if n := r.Suspended(); n != 1 || !r.IsRaw() || !strings.Contains(r.String(), "1 vm1 ACTIVE") {
			t.Errorf("suspended %d times, shows\n%s", n, r)
		}
	})
}

func TestEveryFrameIsOneWriteOfTheSizeOfTheScreen(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Second}, []answer{{rows: vms(30)}}, func(r *rig) {
		before := r.Writes()
		r.wait(time.Second) // the refresh begins and ends: two
		if n := r.Writes() - before; n != 2 {
			t.Errorf("%d writes", n)
		}

		for _, size := range [][2]int{{20, 4}, {200, 50}, {1, 1}, {3, 2}, {80, 3}} {
			r.Resize(size[0], size[1])
			r.wait(0)
			if !strings.Contains(r.String(), "…") && size[0] < 10 {
				t.Errorf("%v:\n%s", size, r)
			}
		}

		r.Resize(200, 50)
		r.wait(time.Second)
		if last := r.asked()[len(r.asked())-1].Size; last != (watch.Size{Width: 200, Height: 50}) {
			t.Errorf("the source is told of %+v", last)
		}
	})
}

func TestTheIntervalRunsFromBeginToBegin(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Second}, []answer{{rows: vms(1), takes: 400 * time.Millisecond}}, func(r *rig) {
		r.wait(9900 * time.Millisecond)
		if len(r.asked()) != 10 {
			t.Errorf("%d refreshes in ten seconds", len(r.asked()))
		}
		if !r.asked()[0].First || r.asked()[1].First {
			t.Error("the first refresh is not told from the second")
		}
	})
}

func TestARefreshAtOnce(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"r", " "} {
		play(t, watch.Options{Interval: time.Minute}, []answer{{rows: vms(1)}, {rows: vms(2), takes: 3 * time.Second}, {rows: vms(3)}}, func(r *rig) {
			r.press(key)
			if len(r.asked()) != 2 {
				t.Fatalf("%d refreshes", len(r.asked()))
			}

			r.press(key + key + key) // they wait for the one at work, and are one
			if len(r.asked()) != 2 {
				t.Fatalf("%d refreshes, one of them at work", len(r.asked()))
			}
			r.wait(3 * time.Second)
			if len(r.asked()) != 3 || !strings.Contains(r.String(), "vm3") {
				t.Errorf("%d refreshes\n%s", len(r.asked()), r)
			}
		})
	}
}

func TestPausing(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Second}, []answer{{rows: vms(1)}, {rows: vms(2), takes: 500 * time.Millisecond}}, func(r *rig) {
		r.wait(1200 * time.Millisecond)
		r.press("p") // while one is at work: it is shown yet
		r.statusIs("ls · paused · 00:00:00 · 1 row · 0s · ok · diff off · ? keys")

		r.wait(time.Hour)
		r.statusIs("ls · paused · 00:00:01 · 2 rows · 500ms · ok · diff off · ? keys")
		if len(r.asked()) != 2 {
			t.Errorf("%d refreshes", len(r.asked()))
		}

		r.press("r")
		r.wait(time.Minute)
		if len(r.asked()) != 3 {
			t.Errorf("%d refreshes, one asked for in the pause", len(r.asked()))
		}

		r.press("p")
		r.wait(500 * time.Millisecond)
		if len(r.asked()) != 4 {
			t.Errorf("%d refreshes after the pause", len(r.asked()))
		}
	})
}

func TestTheIntervalIsChangedAtWork(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Second}, []answer{{rows: vms(1)}, {rows: vms(1), takes: time.Second}}, func(r *rig) {
		r.press("+++")
		r.statusIs("ls · every 4s · 00:00:00 · 1 row · 0s · ok · diff off · ? keys")

		r.wait(3900 * time.Millisecond)
		if len(r.asked()) != 1 {
			t.Error("it does not wait for longer")
		}

		r.press("-") // 3 s: that is over already
		if len(r.asked()) != 2 {
			t.Error("it does not wait for less")
		}

		r.press("--------")
		r.statusIs("ls · every 250ms · 00:00:00 · 1 row · 0s · ok · diff off · ? keys")
	})
}

func TestHighlightingIsTurnedOnAndOff(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Second}, []answer{
		{rows: []string{"1 a BUILD"}},
		{rows: []string{"1 a ACTIVE"}},
		{rows: []string{"1 a SHUTOFF"}, takes: 400 * time.Millisecond},
	}, func(r *rig) {
		r.wait(time.Second)
		if strings.Contains(r.Marked(), "‹7:") {
			t.Error("highlighted though it is off")
		}

		r.press("d")
		if !strings.Contains(r.Marked(), "‹7:ACTIVE›") || !strings.Contains(r.status(), "diff on") {
			t.Errorf("on:\n%s", r.Marked())
		}

		r.wait(time.Second)
		r.press("d") // waits for the refresh at work
		if !strings.Contains(r.status(), "diff on") {
			t.Errorf("at work:\n%s", r)
		}
		r.wait(400 * time.Millisecond)
		if strings.Contains(r.Marked(), "‹7:") || !strings.Contains(r.status(), "diff off") {
			t.Errorf("off:\n%s", r.Marked())
		}
	})
}

func TestTheMapOfTheKeys(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Hour}, []answer{{rows: vms(1)}, {rows: vms(2), takes: time.Minute}}, func(r *rig) {
		r.Resize(84, 18)
		r.wait(0)
		r.press("r")

		r.press("?") // while a refresh is at work
		r.shows(`
‹1:ls› · every 1h · 00:00:00 · 1 row · 0s · ‹32:ok› · diff off · ? keys

  ‹1:q›                 quit
  ‹1:space r›           refresh now
  ‹1:p›                 pause, go on
  ‹1:+ -›               longer, shorter interval
  ‹1:d›                 highlight what changed: on, off
  ‹1:↓ j  ↑ k›          scroll a line
  ‹1:PgDn ^F  PgUp ^B›  scroll a page
  ‹1:Home g  End G›     go to an end
  ‹1:^L›                paint the screen again
  ‹1:^Z›                suspend
  ‹1:?›                 close this map

  Reversed: a cell that changed. Green: a row that is new. Faint: one that left.
`)

		r.press("?")
		if !strings.Contains(r.String(), "1 vm1 ACTIVE") {
			t.Errorf("closed:\n%s", r)
		}
	})
}

func TestCounting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []answer
		want    error
	}{
		"failures count":                       {[]answer{{rows: vms(1)}, {err: errBusy}, {err: errBusy}}, nil},
		"nothing but failures is one":          {[]answer{{err: errBusy}}, errBusy},
		"a frame after failures is no failure": {[]answer{{err: errBusy}, {err: errBusy}, {rows: vms(1)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, watch.Options{Count: 3, Interval: time.Second}, c.answers, func(r *rig) {
				r.wait(1900 * time.Millisecond)
				r.goesOn()

				r.wait(200 * time.Millisecond)
				r.ends(c.want)
			})
		})
	}
}

func TestErrorsThatEndIt(t *testing.T) {
	t.Parallel()
	unknown, refused := errors.New("no column Foo"), errors.New("401 Unauthorized")
	severity := func(err error) watch.Severity {
		switch {
		case errors.Is(err, unknown):
			return watch.Settled
		case errors.Is(err, refused):
			return watch.Rejected
		}
		return watch.Passing
	}
	for name, c := range map[string]struct {
		o       watch.Options
		answers []answer
		want    error // nil: it goes on
	}{
		"a passing one does not":                       {watch.Options{}, []answer{{err: errBusy}}, nil},
		"a settled one does before the first frame":    {watch.Options{}, []answer{{err: unknown}}, unknown},
		"a settled one does after passing ones":        {watch.Options{}, []answer{{err: errBusy}, {err: unknown}}, unknown},
		"a settled one does not after the first frame": {watch.Options{}, []answer{{rows: vms(1)}, {err: unknown}}, nil},
		"a refused credential does":                    {watch.Options{}, []answer{{rows: vms(1)}, {err: refused}}, refused},
		"any does if it is to":                         {watch.Options{ExitOnError: true}, []answer{{rows: vms(1)}, {err: errBusy}}, errBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.o.Severity = severity
			play(t, c.o, c.answers, func(r *rig) {
				r.wait(10 * time.Second)
				if c.want == nil {
					r.goesOn()
					return
				}
				r.ends(c.want)
			})
		})
	}
}

func TestEndingWithTheFirstDifference(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then []string
		ends bool
	}{
		"the same":      {[]string{"1 a BUILD", "2 b ACTIVE"}, false},
		"another order": {[]string{"2 b ACTIVE", "1 a BUILD"}, false},
		"a cell":        {[]string{"1 a ACTIVE", "2 b ACTIVE"}, true},
		"a new row":     {[]string{"1 a BUILD", "2 b ACTIVE", "3 c BUILD"}, true},
		"one less":      {[]string{"1 a BUILD"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := answer{rows: []string{"1 a BUILD", "2 b ACTIVE"}}
			slow := answer{rows: first.rows, takes: 100 * time.Millisecond}
			play(t, watch.Options{UntilChange: true, Interval: time.Second}, []answer{first, slow, {err: errBusy}, {rows: c.then}}, func(r *rig) {
				r.wait(2500 * time.Millisecond)
				r.goesOn()

				r.wait(time.Second)
				if c.ends {
					r.ends(nil)
				} else {
					r.goesOn()
				}
			})
		})
	}
}
