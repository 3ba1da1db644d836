package iostreams_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestATestHasNoTerminal(t *testing.T) {
	t.Parallel()
	s, in, out, errs := iostreams.Test()
	in.WriteString("x")

	if s.InTTY || s.OutTTY || s.ErrTTY || s.Color || s.Width != 0 || s.In != in || s.Out != out || s.Err != errs {
		t.Errorf("%+v", s)
	}
}

func TestPaintColoursOnlyWhereColoursGo(t *testing.T) {
	t.Parallel()
	s, _, _, _ := iostreams.Test()

	for _, c := range []struct {
		color      bool
		style      iostreams.Style
		text, want string
	}{
		{true, iostreams.Red, "x", "\x1b[31mx\x1b[0m"},
		{true, iostreams.Bold + iostreams.Green, "x", "\x1b[1;32mx\x1b[0m"},
		{true, "", "x", "x"},
		{true, iostreams.Red, "", ""},
		{false, iostreams.Red, "x", "x"},
	} {
		s.Color = c.color
		if got := s.Paint(c.style, c.text); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestTheColorFlagWins(t *testing.T) {
	t.Parallel()
	s, _, _, _ := iostreams.Test()

	for _, c := range []struct {
		mode string
		want bool
	}{{"yes", true}, {"no", false}, {"yes", true}, {"auto", false}, {"", false}} {
		if err := s.SetColor(c.mode); err != nil || s.Color != c.want {
			t.Errorf("--color %q: %v, %v", c.mode, s.Color, err)
		}
	}
	if err := s.SetColor("maybe"); err == nil || err.Error() != `--color "maybe": expected auto, yes or no` {
		t.Errorf("got %v", err)
	}
}
