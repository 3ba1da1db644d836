package watch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/cli/watch/watchtest"
)

// lost tells whether a window is off the body, or emptier than it has to be: what
// must be false after every key and every change of the screen or the body.
func lost(s *watch.Scroll, v watch.View) bool {
	return s.Top() < 0 || s.Top() > max(0, v.Total()-v.Window())
}

func movements() []watch.Key {
	return []watch.Key{watch.KeyDown, watch.KeyUp, watch.KeyPageDown, watch.KeyPageUp, watch.KeyTop, watch.KeyBottom, watch.KeyNone}
}

func TestScrollingIsNeverLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s watch.Scroll
		v := watch.Fit(10, true, 2, 100)
		t.Repeat(map[string]func(*rapid.T){
			"key": func(t *rapid.T) { s.Move(rapid.SampledFrom(movements()).Draw(t, "key"), v) },
			"change": func(t *rapid.T) {
				v = watch.Fit(rapid.IntRange(0, 60).Draw(t, "height"), rapid.Bool().Draw(t, "status"),
					rapid.IntRange(0, 6).Draw(t, "head"), rapid.IntRange(0, 200).Draw(t, "body"))
				s.Clamp(v)
			},
			"": func(t *rapid.T) {
				if lost(&s, v) {
					t.Fatalf("line %d is the first of %d, in a window of %d", s.Top(), v.Total(), v.Window())
				}
			},
		})
	})
}

func TestTheLawOfScrollingFindsMutants(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(s *watch.Scroll, k watch.Key, v watch.View){
		"a body one line longer": func(s *watch.Scroll, k watch.Key, v watch.View) {
			s.Move(k, watch.Fit(10, true, 2, v.Total()+1))
		},
		"one line above the top": func(s *watch.Scroll, k watch.Key, v watch.View) {
			if s.Move(k, v); s.Top() == 0 && k == watch.KeyUp {
				*s = watch.ScrollAt(-1)
			}
		},
	} {
		var s watch.Scroll
		v := watch.Fit(10, true, 2, 100)
		found := false
		for _, k := range movements() {
			move(&s, k, v)
			found = found || lost(&s, v)
		}
		if !found {
			t.Errorf("%s goes unnoticed", name)
		}
	}
}

func TestAScreenIsSharedOutWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		height, head, body := rapid.IntRange(0, 60).Draw(t, "height"), rapid.IntRange(0, 9).Draw(t, "head"), rapid.IntRange(0, 99).Draw(t, "body")
		v := watch.Fit(height, rapid.Bool().Draw(t, "status"), head, body)

		used := min(v.Window(), v.Total())
		if v.Status() {
			used++
		}
		if v.Pinned() {
			used += head
		} else if v.Total() != head+body {
			t.Fatalf("the head is lost: %d lines", v.Total())
		}
		if v.Marker() {
			used++
		}
		if used > height {
			t.Fatalf("%d lines on a screen of %d: %+v", used, height, v)
		}
		if hidden := v.Total() > v.Window(); hidden && used < height {
			t.Fatalf("lines are hidden, and %d of %d are used: %+v", used, height, v)
		}
		if height > 1 && v.Total() > 0 && v.Window() == 0 {
			t.Fatalf("nothing of the body on a screen of %d: %+v", height, v)
		}
	})
}

func TestComparingLosesNoRow(t *testing.T) {
	t.Parallel()
	row := rapid.Custom(func(t *rapid.T) watch.Row {
		return watch.Row{
			ID:    rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "id"),
			Cells: []string{rapid.SampledFrom([]string{"x", "y"}).Draw(t, "cell")},
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		old, rows := rapid.SliceOfN(row, 0, 8).Draw(t, "old"), rapid.SliceOfN(row, 0, 8).Draw(t, "rows")
		const fresh, gone = 2, 3

		ids, kinds := watch.Kinds(old, rows)

		var left, lost, added []string
		for i, id := range ids {
			if kinds[i] == gone {
				lost = append(lost, id)
				continue
			}
			left = append(left, id)
			if kinds[i] == fresh {
				added = append(added, id)
			}
		}
		var want []string
		for _, r := range rows {
			want = append(want, r.ID)
		}
		if !slices.Equal(left, want) {
			t.Fatalf("the rows %q became %q", want, left)
		}
		if len(old)-len(lost) != len(rows)-len(added) {
			t.Fatalf("of %d rows %d are gone, of %d are %d new", len(old), len(lost), len(rows), len(added))
		}
		if _, again := watch.Kinds(rows, rows); slices.Max(append(again, 0)) != 0 {
			t.Fatal("rows differ from themselves")
		}
	})
}

func TestCuttingKeepsToTheWidth(t *testing.T) {
	t.Parallel()
	text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("ab\x1b[;1m漢é\u0301👩\u200d🚀\t\n"))))
	rapid.Check(t, func(t *rapid.T) {
		s, width := text.Draw(t, "text"), rapid.IntRange(-1, 20).Draw(t, "width")

		got := watch.Cut(s, width)

		if w := watch.Width(got); w > max(width, 0) {
			t.Fatalf("%q has a width of %d, not %d", got, w, width)
		}
		if width > 0 && watch.Width(s) <= width && got != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func TestNothingLeavesTheScreen(t *testing.T) {
	t.Parallel()
	text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("ab\x1b[;1mHJ漢é\u0301👩\u200d🚀\t\r\n\u009b"))))
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(1, 30).Draw(t, "width"), rapid.IntRange(1, 8).Draw(t, "height")
		frame := watch.Text([]byte(text.Draw(t, "frame")), 0)
		frame.Notes = []string{text.Draw(t, "note")}
		term := watchtest.New(width, height)
		o := watch.Options{Title: text.Draw(t, "title"), Terminal: term, Diff: true}

		if err := watch.Show(term.Streams(), o, frame); err != nil {
			t.Fatal(err)
		}

		if faults := term.Faults(); faults != nil {
			t.Fatal(strings.Join(faults, "\n"))
		}
	})
}

func TestTheStepsOfTheInterval(t *testing.T) {
	t.Parallel()
	var got []string
	for d := watch.MinInterval; d < watch.MaxInterval && len(got) < 50; {
		next := watch.Slower(d)
		if back := watch.Faster(next); back != d {
			t.Errorf("from %s to %s and back to %s", d, next, back)
		}
		got = append(got, next.String())
		d = next
	}
	const want = "500ms 750ms 1s 2s 3s 4s 5s 6s 7s 8s 9s 10s 15s 20s 25s 30s 35s 40s 45s 50s 55s 1m0s 1m30s 2m0s"
	if text := strings.Join(got, " "); !strings.HasPrefix(text, want) {
		t.Error(text)
	}
	if d := watch.Faster(watch.MinInterval); d != watch.MinInterval {
		t.Errorf("faster than the fastest: %s", d)
	}
	if d := watch.Slower(watch.MaxInterval); d != watch.MaxInterval {
		t.Errorf("slower than the slowest: %s", d)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(int64(watch.MinInterval), int64(watch.MaxInterval)).Draw(t, "d"))
		if s, f := watch.Slower(d), watch.Faster(d); s < d || f > d || f < watch.MinInterval || s > watch.MaxInterval {
			t.Fatalf("%s: slower %s, faster %s", d, s, f)
		}
	})
}

func TestTheInterval(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 2 * time.Second, "2s": 2 * time.Second, "250ms": 250 * time.Millisecond, "1m30s": 90 * time.Second,
		"5": 5 * time.Second, "0.5": 500 * time.Millisecond, "24h": 24 * time.Hour,
	} {
		if got, err := watch.ParseInterval(text); err != nil || got != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"249ms": "interval 249ms is too short: at least 250ms",
		"0":     "interval 0 is too short: at least 250ms",
		"-3s":   "interval -3s is too short: at least 250ms",
		"25h":   "interval 25h is too long: at most 24h",
		"1e3":   `interval "1e3" is no duration: write 2s, 500ms or a number of seconds`,
		"inf":   `interval "inf" is no duration: write 2s, 500ms or a number of seconds`,
		"often": `interval "often" is no duration: write 2s, 500ms or a number of seconds`,
	} {
		if _, err := watch.ParseInterval(text); fmt.Sprint(err) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"q", "\x1b[A", "\x1bOB", "\x1b[1;5C", "\x1b[5~", "\x1b\x1b[", "\x1b[" + strings.Repeat("1", 99) + "A", "é\x1bO", "\x1b[\x03"} {
		f.Add(seed, uint8(1))
	}
	f.Fuzz(func(t *testing.T, typed string, at uint8) {
		var whole, pieces watch.Decoder
		want := whole.Feed([]byte(typed))

		cut := min(int(at), len(typed))
		got := append(pieces.Feed([]byte(typed[:cut])), pieces.Feed([]byte(typed[cut:]))...)

		if !slices.Equal(got, want) {
			t.Errorf("%q: %v at once, %v in pieces", typed, want, got)
		}
		if whole.Held() > 32 {
			t.Errorf("%d bytes are held", whole.Held())
		}
		if strings.Count(typed, "\x03") > 0 && len(want) == 0 {
			t.Error("Ctrl-C is lost")
		}
		if utf8.RuneCountInString(typed) == 1 && typed == "q" && len(want) != 1 {
			t.Error("q is lost")
		}
	})
}
