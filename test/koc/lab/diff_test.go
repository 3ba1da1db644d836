package lab_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/test/koc/lab"
)

func TestDifference(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		read      lab.Read
		format    string
		want, got string
		says      string // "": no difference
	}{
		{name: "equal", format: "json", want: `[{"a": 1}]`, got: `[{"a": 1}]`},
		{name: "type", format: "json", want: `[{"a": 1}]`, got: `[{"a": "1"}]`, says: `a: 1, koc "1"`},
		{name: "column", format: "json", want: `[{"a": 1, "b": 2}]`, got: `[{"a": 1}]`, says: "koc lacks columns: b"},
		{name: "columns in another order", format: "json", want: `{"a": 1, "b": 2}`, got: `{"b": 2, "a": 1}`, says: "columns in the order a, b; koc b, a"},
		{name: "white space", format: "json", want: `[{"a": 1}]`, got: `[{"a":1}]`, says: "line 1"},
		{name: "row", format: "json", want: `[{"a": 1}, {"a": 2}]`, got: `[{"a": 1}]`, says: "2 rows, koc 1"},
		{name: "order of rows", format: "json", want: `[{"a": 1}, {"a": 2}]`, got: `[{"a": 2}, {"a": 1}]`, says: "order of the rows"},
		{name: "no order", read: lab.Read{Unordered: true}, format: "json", want: `[{"a": 1}, {"a": 2}]`, got: `[{"a": 2}, {"a": 1}]`},
		{name: "times", read: lab.Read{Time: true}, format: "value", want: "x 2026-01-02T03:04:05.000000\n", got: "x 2026-01-02T03:04:06.000000\n"},
		{name: "figures", read: lab.Read{Digits: true}, format: "value", want: "up 12 days\n", got: "up 13 days\n"},
		{name: "text", format: "value", want: "a b\n", got: "a\tb\n", says: `line 1 (of 1 that differ): "a b", koc "a\tb"`},
		{name: "widths", format: "table", want: "+---+\n| a |\n+---+\n", got: "+----+\n| a |\n+----+\n", says: "widths"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := lab.Difference(tt.read, lab.Run{Format: tt.format, Out: tt.want}, lab.Run{Out: tt.got})
			if tt.says == "" && d != "" || !strings.Contains(d, tt.says) {
				t.Errorf("got %q, want %q", d, tt.says)
			}
		})
	}
}

func TestAnExitCodeIsADifference(t *testing.T) {
	t.Parallel()
	d := lab.Difference(lab.Read{}, lab.Run{Code: 0}, lab.Run{Code: 2, Err: "koc: no such command\n"})
	if d != "exit code 0, koc 2: koc: no such command" {
		t.Error(d)
	}
	if d := lab.Difference(lab.Read{Broken: true}, lab.Run{Code: 1}, lab.Run{Out: "x\n"}); d != "" {
		t.Error(d)
	}
}

func TestMembersInsideACellHaveNoOrder(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"x": {"b": "2", "a": 1.50}, "w": 1}`:                 `{"x":{"a":1.50,"b":"2"},"w":1}`,
		`[{"x": {"b": 2, "a": [{"d":1,"c":2}]}}, {"x": null}]`: `[{"x":{"a":[{"c":2,"d":1}],"b":2}},{"x":null}]`,
		`[]`:      `[]`,
		`no JSON`: `no JSON`,
	} {
		if got := lab.UnorderedCells(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
