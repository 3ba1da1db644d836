package watch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/watch"
)

func TestTheStatusLineTellsWhatHappens(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Title: "server list --host n1", Interval: time.Second, Diff: true}, []answer{{rows: vms(2), takes: 218 * time.Millisecond}}, func(r *rig) {
		r.Resize(120, 10)
		r.wait(0)
		r.statusIs("server list --host n1 · every 1s · waiting for the first answer · diff on · ? keys")

		r.wait(300 * time.Millisecond)
		r.statusIs("server list --host n1 · every 1s · 00:00:00 · 2 rows · 218ms · ok · diff on · ? keys")

		r.wait(time.Second)
		r.statusIs("server list --host n1 · every 1s · 00:00:01 · 2 rows · 218ms · ok · diff on · ? keys")
	})
}

func TestANarrowStatusLineCutsTheTitleFirst(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Title: "server list --host n1 --status ERROR", Interval: time.Minute}, []answer{{rows: vms(12)}}, func(r *rig) {
		for _, c := range []struct {
			width int
			want  string
		}{
			{133, "server list --host n1 --status ERROR · every 1m · 00:00:00 · 12 rows · 0s · ok · diff off · lines 1–6 of 13 · ? keys"},
			{100, "server list --host … · every 1m · 00:00:00 · 12 rows · 0s · ok · diff off · lines 1–6 of 13 · ? keys"},
			{84, "server list… · every 1m · 00:00:00 · 12 rows · 0s · ok · lines 1–6 of 13 · ? keys"},
			{70, "server list… · every 1m · 00:00:00 · ok · lines 1–6 of 13 · ? keys"},
			{40, "server list… · every 1m · 00:00:00 · ok…"},
			{52, "server list… · every 1m · 00:00:00 · ok · ? keys"},
			{1, "…"},
		} {
			r.Resize(c.width, 10)
			r.wait(0)
			r.statusIs(c.want)
		}
	})
}

func TestAFailedRefreshKeepsTheFrameAndSaysSo(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: 2 * time.Second}, []answer{{rows: vms(1)}, {err: errBusy}, {err: errBusy}, {rows: vms(1)}}, func(r *rig) {
		r.Resize(120, 10)
		r.wait(4 * time.Second)
		r.shows(`
‹1:ls› · every 2s · 00:00:00 · 1 row · 0s · ‹31:stale 4s · 2 errors · last: 503 Service Unavailable› · diff off · ? keys
ID NAME STATUS
--------------
1 vm1 ACTIVE
==============
`)

		r.wait(time.Second)
		r.statusIs("ls · every 2s · 00:00:00 · 1 row · 0s · stale 5s · 2 errors · last: 503 Service Unavailable · diff off · ? keys")

		r.wait(time.Second)
		r.statusIs("ls · every 2s · 00:00:06 · 1 row · 0s · ok · diff off · ? keys")
	})
}

func TestWithoutATitleOnlyAFailureIsTold(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{NoTitle: true, Interval: time.Second}, []answer{{rows: vms(1)}, {err: errBusy}, {rows: vms(1)}}, func(r *rig) {
		const frame = "ID NAME STATUS\n--------------\n1 vm1 ACTIVE\n==============\n"
		r.shows(frame)

		r.wait(time.Second)
		if !strings.Contains(r.status(), "stale 1s · 1 error · last: 503") {
			t.Errorf("status line %s", r.status())
		}

		r.wait(time.Second)
		r.shows(frame)
	})
}

func TestARefreshThatIsLongIsShownAsSuch(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Second}, []answer{{rows: vms(1)}, {rows: vms(1), takes: 10 * time.Second}}, func(r *rig) {
		r.wait(4 * time.Second)
		r.statusIs("ls · every 1s · 00:00:00 · 1 row · 0s · ok · refreshing 3s · diff off · ? keys")
	})
}

func TestAnIntervalShorterThanTwoRefreshesIsWidened(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Second}, []answer{{rows: vms(1), takes: 2120 * time.Millisecond}, {rows: vms(1)}}, func(r *rig) {
		r.Resize(110, 10)
		r.wait(2200 * time.Millisecond)
		r.statusIs("ls · every 4.3s (asked 1s) · 00:00:02 · 1 row · 2.12s · ok · diff off · ? keys")

		r.wait(2 * time.Second)
		if len(r.asked()) != 1 {
			t.Errorf("refreshed %d times after 4.2s", len(r.asked()))
		}

		r.wait(200 * time.Millisecond)
		r.statusIs("ls · every 1s · 00:00:04 · 1 row · 0s · ok · diff off · ? keys")
	})
}

func TestExactlyHalfOfTheIntervalIsNotTooMuch(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Second}, []answer{{rows: vms(1), takes: 500 * time.Millisecond}}, func(r *rig) {
		r.wait(600 * time.Millisecond)
		r.statusIs("ls · every 1s · 00:00:00 · 1 row · 500ms · ok · diff off · ? keys")
	})
}

func TestWhatComesFromElsewhereDoesNotActOnTheTerminal(t *testing.T) {
	t.Parallel()
	evil := "\x1b[2J\x1b[H\r\n\x07\u202e\xff\x9b"
	play(t, watch.Options{Title: "ls " + evil, Interval: time.Hour}, []answer{{rows: []string{"1 a" + evil + " b"}}, {err: errors.New("no\n" + evil + "way")}}, func(r *rig) {
		r.Resize(140, 10)
		r.wait(0)
		r.shows(`
‹1:ls \x1b[2J\x1b[H\r; \a\u202e\xff\x9b› · every 1h · 00:00:00 · 1 row · 0s · ‹32:ok› · diff off · ? keys
ID NAME STATUS
--------------
1 a\x1b[2J\x1b[H\r\n\a\u202e\xff\x9b b
==============
`)

		r.press("r")
		if want := `last: no; \x1b[2J\x1b[H\r; \a\u202e\xff\x9bway`; !strings.Contains(r.status(), want) {
			t.Errorf("status line %s", r.status())
		}
	})
}
