package screen_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/cli/watch/watchtest"
)

func frames() *rapid.Generator[screen.Frame] {
	text := rapid.SampledFrom([]string{"a", "bc", " ", "   ", "        ", "漢字", "é", "e\u0301", "👩‍🚀", "\x1b[31mred", "\x1b]0;t\x07", "\t", "\xff", "long enough to be cut", ""})
	style := rapid.SampledFrom([]iostreams.Style{"", "", iostreams.Red, iostreams.Bold + iostreams.Green, screen.Reverse})
	span := rapid.Custom(func(t *rapid.T) screen.Span {
		return screen.Span{Text: text.Draw(t, "text"), Style: style.Draw(t, "style")}
	})
	line := rapid.Custom(func(t *rapid.T) screen.Line { return rapid.SliceOfN(span, 0, 6).Draw(t, "line") })
	return rapid.Custom(func(t *rapid.T) screen.Frame {
		return screen.Frame{
			Lines: rapid.SliceOfN(line, 0, 6).Draw(t, "lines"), Typing: rapid.Bool().Draw(t, "typing"),
			Cursor: screen.Position{Line: rapid.IntRange(0, 9).Draw(t, "line"), Column: rapid.IntRange(0, 30).Draw(t, "column")},
		}
	})
}

// The law of the canvas: whatever was shown before, the terminal shows the frame.
func TestTheTerminalShowsTheFrameWhateverItShowedBefore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		size := screen.Size{Width: rapid.IntRange(1, 24).Draw(rt, "width"), Height: rapid.IntRange(1, 5).Draw(rt, "height")}
		colour := rapid.Bool().Draw(rt, "colour")
		terminal := watchtest.NewScreen(size.Width, size.Height)
		var c screen.Canvas
		for _, f := range rapid.SliceOfN(frames(), 1, 5).Draw(rt, "frames") {
			if _, err := terminal.Write([]byte(c.Paint(f, size, colour))); err != nil {
				rt.Fatal(err)
			}
			fresh := watchtest.NewScreen(size.Width, size.Height)
			var first screen.Canvas
			if _, err := fresh.Write([]byte(first.Paint(f, size, colour))); err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(fresh.Marked(), terminal.Marked()); diff != "" {
				rt.Fatal(diff)
			}
			if faults := append(terminal.Faults(), fresh.Faults()...); len(faults) > 0 {
				rt.Fatalf("faults: %v", faults)
			}
			if state := terminal.State(); state.CursorHidden == f.Typing || state.Style != "" {
				rt.Fatalf("left as %+v", state)
			}
			if again := c.Paint(f, size, colour); again != "" {
				rt.Fatalf("the same frame is written again: %q", again)
			}
		}
	})
}

func TestOnlyWhatChangedIsWritten(t *testing.T) {
	t.Parallel()
	var c screen.Canvas
	size := screen.Size{Width: 60, Height: 3}
	frame := func(mark string) screen.Frame {
		return screen.Frame{Lines: []screen.Line{
			{{Text: "web  up "}, {Text: mark, Style: iostreams.Green}, {Text: " and more that does not change"}},
			{{Text: strings.Repeat("x", 50)}},
		}}
	}
	c.Paint(frame("O"), size, true)
	if got, want := c.Paint(frame("X"), size, true), "\x1b[1;9H\x1b[32mX\x1b[0m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f := frame("X")
	f.Lines = f.Lines[:1]
	if got, want := c.Paint(f, size, true), "\x1b[2;1H\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWithoutColoursTheSelectionIsSeen(t *testing.T) {
	t.Parallel()
	var c screen.Canvas
	f := screen.Frame{Lines: []screen.Line{{{Text: "a", Style: iostreams.Red + screen.Reverse}, {Text: "b", Style: iostreams.Red}}}}
	got := c.Paint(f, screen.Size{Width: 10, Height: 1}, false)
	if !strings.HasSuffix(got, "\x1b[1;1H\x1b[7ma\x1b[0mb") {
		t.Errorf("%q", got)
	}
	if text := f.Text(screen.Size{Width: 10, Height: 1}); text != "‹a›b\n" {
		t.Errorf("%q", text)
	}
}
