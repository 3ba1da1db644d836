package command_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func text(line watch.Line) string {
	var b strings.Builder
	for _, span := range line {
		b.WriteString(span.Text)
	}
	return b.String()
}

func TestEveryLineOfAWatchedTableIsAsWideAsItsRule(t *testing.T) {
	t.Parallel()
	cell := rapid.StringOfN(rapid.SampledFrom([]rune("ab -\u200b\u200d\u200c\u2060\u00ad\u0301\ufe0f名\U0001f468\U0001f469\U0001f3fd\U0001f1e9é\u202e\u0600")), 0, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.Map(cell, func(s string) any { return s }), 3, 3), 1, 6).Draw(t, "rows")
		size := watch.Size{Width: rapid.IntRange(40, 120).Draw(t, "width"), Height: 20, Compact: rapid.Bool().Draw(t, "compact")}
		g, err := render.Options{}.Grid(&iostreams.Streams{}, []render.Column{{Title: "ID"}, {Title: "Name"}, {Title: "Networks"}}, render.Rows(rows))
		if err != nil {
			t.Fatal(err)
		}
		var drawn []watch.Row
		for i, cells := range g.Rows {
			drawn = append(drawn, watch.Row{ID: g.IDs[i], Cells: cells})
		}

		table := command.DrawGrid(g, drawn, size)

		rule := watch.Width(text(table.Head[0]))
		if rule > size.Width {
			t.Fatalf("the table takes %d columns of %d", rule, size.Width)
		}
		lines := table.Head
		for _, row := range table.Rows {
			if lines = append(lines, row...); size.Compact && len(row) != 1 {
				t.Errorf("a row takes %d lines", len(row))
			}
		}
		for _, line := range lines {
			if n := watch.Width(text(line)); n != rule {
				t.Errorf("%q takes %d columns, the rule %d", text(line), n, rule)
			}
		}
	})
}
