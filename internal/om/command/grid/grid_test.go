package grid_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
)

func cells(words ...string) []grid.Cell {
	out := make([]grid.Cell, len(words))
	for i, w := range words {
		out[i] = grid.Text(w, grid.Good)
	}
	return out
}

func written(t *testing.T, set func(*iostreams.Streams), rows ...grid.Row) string {
	t.Helper()
	s, _, out, _ := iostreams.Test()
	if set != nil {
		set(s)
	}
	if err := grid.Write(s, rows); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestColumnsAreAlignedWithoutTrailingBlanks(t *testing.T) {
	t.Parallel()
	got := written(t, nil,
		grid.Row{Cells: cells("name", "up", "")},
		grid.Row{Cells: cells("é", "", "x")},
		grid.Row{Cells: cells("a long remark that widens nothing"), Loose: true},
		grid.Row{})
	want := "name  up\né         x\na long remark that widens nothing\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWideCharactersTakeTwoColumns(t *testing.T) {
	t.Parallel()
	got := written(t, nil, grid.Row{Cells: cells("日本", "x")}, grid.Row{Cells: cells("abcd", "x")})
	if diff := cmp.Diff("日本  x\nabcd  x\n", got); diff != "" {
		t.Error(diff)
	}
}

func TestColumnsEmptyEverywhereTakeNoRoom(t *testing.T) {
	t.Parallel()
	got := written(t, nil, grid.Row{Cells: cells("a", "", "b")})
	if diff := cmp.Diff("a  b\n", got); diff != "" {
		t.Error(diff)
	}
}

func TestATerminalCutsAndColours(t *testing.T) {
	t.Parallel()
	got := written(t, func(s *iostreams.Streams) { s.OutTTY, s.Width, s.Color = true, 6, true }, grid.Row{Cells: cells("abcd", "efgh")})
	if diff := cmp.Diff("\x1b[32mabcd\x1b[0m\n", got); diff != "" {
		t.Error(diff)
	}
}

func TestATreeDrawsItsBranches(t *testing.T) {
	t.Parallel()
	root := &grid.Node{Cells: cells("web")}
	first := root.Add(cells("n1", "up")...)
	first.Remarks = cells("warn: late")
	first.Add(cells("app#1", "up")...)
	last := root.Add(cells("n2", "down")...)
	last.Remarks = cells("gone")
	last.Add(cells("app#1", "down")...).Remarks = cells("error: x")
	want := `web
├ n1       up
│ │ warn: late
│ └ app#1  up
└ n2       down
  │ gone
  └ app#1  down
      error: x
`
	if diff := cmp.Diff(want, written(t, nil, root.Rows()...)); diff != "" {
		t.Error(diff)
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		width := rapid.IntRange(1, 40).Draw(rt, "width")
		words := rapid.SliceOf(rapid.SliceOf(rapid.StringMatching(`[a-z]{0,12}`))).Draw(rt, "words")
		s, _, out, _ := iostreams.Test()
		s.OutTTY, s.Width = true, width
		var rows []grid.Row
		for _, w := range words {
			rows = append(rows, grid.Row{Cells: cells(w...)})
		}
		if err := grid.Write(s, rows); err != nil {
			rt.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		if len(lines) != len(rows)+1 {
			rt.Fatalf("%d rows made %d lines", len(rows), len(lines)-1)
		}
		for _, l := range lines {
			if len(l) > width {
				rt.Fatalf("%q is wider than %d", l, width)
			}
		}
	})
}
