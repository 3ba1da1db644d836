package watch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/watch"
)

func TestATallTableScrollsBelowItsHeader(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Hour}, []answer{{rows: vms(20)}, {rows: vms(20)}, {rows: vms(9)}, {rows: vms(3)}}, func(r *rig) {
		r.Resize(90, 10)
		r.wait(0)
		r.shows(`
‹1:ls› · every 1h · 00:00:00 · 20 rows · 0s · ‹32:ok› · diff off · lines 1–6 of 21 · ? keys
ID NAME STATUS
--------------
1 vm1 ACTIVE
2 vm2 ACTIVE
3 vm3 ACTIVE
4 vm4 ACTIVE
5 vm5 ACTIVE
6 vm6 ACTIVE
‹2:── 15 below · ↓/j ↑/k line · PgDn/^F PgUp/^B page · Home/g End/G ends ──›
`)

		r.press("jj")
		r.shows(`
‹1:ls› · every 1h · 00:00:00 · 20 rows · 0s · ‹32:ok› · diff off · lines 3–8 of 21 · ? keys
ID NAME STATUS
--------------
3 vm3 ACTIVE
4 vm4 ACTIVE
5 vm5 ACTIVE
6 vm6 ACTIVE
7 vm7 ACTIVE
8 vm8 ACTIVE
‹2:── 2 above, 13 below · ↓/j ↑/k line · PgDn/^F PgUp/^B page · Home/g End/G ends ──›
`)

		r.press("r") // the place survives a refresh
		r.at("lines 3–8 of 21")
		r.press("G")
		r.at("lines 16–21 of 21")
		if !strings.Contains(r.String(), "── 15 above ·") || !strings.Contains(r.String(), "20 vm20 ACTIVE\n==============\n") {
			t.Errorf("at the end:\n%s", r)
		}

		r.press("r") // and is clamped when there is less
		r.at("lines 5–10 of 10")
		r.press("r")
		r.shows(`
‹1:ls› · every 1h · 00:00:00 · 3 rows · 0s · ‹32:ok› · diff off · ? keys
ID NAME STATUS
--------------
1 vm1 ACTIVE
2 vm2 ACTIVE
3 vm3 ACTIVE
==============
`)
	})
}

// at tells where the status line says the window is.
func (r *rig) at(want string) {
	r.Helper()
	if !strings.Contains(r.status(), want+" ") {
		r.Errorf("not at %s: %s", want, r.status())
	}
}

func TestEveryKeyThatScrolls(t *testing.T) {
	t.Parallel()
	const up, down, pageUp, pageDown, home, end = 0, 1, 2, 3, 4, 5
	want := [...]string{"lines 9–14 of 21", "lines 11–16 of 21", "lines 4–9 of 21", "lines 16–21 of 21", "lines 1–6 of 21", "lines 16–21 of 21"}
	for keys, does := range map[string]int{
		"k": up, "\x1b[A": up, "\x1bOA": up, "\x1b[1;5A": up,
		"j": down, "\x1b[B": down, "\x1bOB": down,
		"\x02": pageUp, "\x1b[5~": pageUp, "\x1b[5;2~": pageUp,
		"\x06": pageDown, "\x1b[6~": pageDown,
		"g": home, "\x1b[H": home, "\x1bOH": home, "\x1b[1~": home, "\x1b[7~": home,
		"G": end, "\x1b[F": end, "\x1bOF": end, "\x1b[4~": end, "\x1b[8~": end,
	} {
		play(t, watch.Options{Interval: time.Hour}, []answer{{rows: vms(20)}, {rows: vms(20), takes: time.Hour}}, func(r *rig) {
			r.Resize(90, 10)
			r.press("r") // they are answered while a refresh is at work
			r.press(strings.Repeat("j", 9))
			r.at("lines 10–15 of 21")

			for i := range keys {
				r.press(keys[i : i+1]) // a sequence may come in pieces
			}
			r.at(want[does])
		})
	}
}

func TestScrollingStaysOnTheBody(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Hour}, []answer{{rows: vms(20)}}, func(r *rig) {
		r.Resize(90, 10)
		r.press("kkk\x1b[5~")
		r.at("lines 1–6 of 21")
		r.press("Gjjj\x1b[6~")
		r.at("lines 16–21 of 21")

		r.Resize(90, 15)
		r.wait(0)
		r.at("lines 11–21 of 21")
		r.Resize(90, 3) // too small to pin the header
		r.wait(0)
		r.at("lines 11–11 of 23")
	})
}
