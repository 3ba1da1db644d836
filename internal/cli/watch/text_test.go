package watch_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/watch"
)

func TestCutting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"server", 6, "server"},
		{"server", 5, "serv…"},
		{"server", 1, "…"},
		{"server", 0, ""},
		{"漢字漢字", 5, "漢字…"},
		{"漢字漢字", 4, "漢…"},
		{"\x1b[31mserver\x1b[0m", 6, "\x1b[31mserver\x1b[0m"},
		{"\x1b[31mserver\x1b[0m", 4, "\x1b[31mser…\x1b[0m"}, // the colour still ends
		{"a\nb", 4, "a\nb"},                                 // it takes four columns: a \n b
		{"a\nb", 3, "a…"},
		{"e\u0301te\u0301", 2, "e\u0301…"},
	} {
		if got := watch.Cut(c.text, c.width); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestTextIsWrappedUnlessCompact(t *testing.T) {
	t.Parallel()
	f := watch.Text([]byte("a\tbc\tdef\n"+strings.Repeat("x", 25)+"\n\n"), 7)

	for compact, want := range map[bool][]string{
		false: {"a       bc", "      def", "xxxxxxxxxx", "xxxxxxxxxx", "xxxxx", ""},
		true:  {"a       bc      def", strings.Repeat("x", 25), ""},
	} {
		var got []string
		for _, row := range f.Layout(f.Rows, watch.Size{Width: 10, Height: 10, Compact: compact}).Rows {
			for _, line := range row {
				got = append(got, line[0].Text)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("compact %v (-want +got):\n%s", compact, diff)
		}
	}
	if f.Count != 7 || watch.Text(nil, 0).Rows == nil {
		t.Errorf("count %d", f.Count)
	}
}
