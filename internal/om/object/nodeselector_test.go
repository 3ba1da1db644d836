package object_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func labels() map[string]map[string]string {
	return map[string]map[string]string{"n1": {"az": "east"}, "n2": {"az": "west", "disk": "ssd"}, "db1": {"az": "east"}}
}

func nodes() []string { return []string{"n2", "n1", "db1"} }

func TestSelectNodes(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"":                 "",
		"  ":               "",
		"n1":               "n1",
		"n1 n2":            "n1 n2",
		"n2,n1":            "n2 n1",
		"n1, N2":           "n1 n2",
		"n1 n1 n1":         "n1",
		"*":                "n2 n1 db1",
		"n*":               "n2 n1",
		"N?":               "n2 n1",
		"db1 *":            "db1 n2 n1",
		"n[!1]":            "n2",
		"az=east":          "n1 db1",
		"az=east n2":       "n1 db1 n2",
		"az=EAST":          "",
		"az=nowhere":       "",
		"disk=ssd,n1":      "n2 n1",
		"nothing*":         "",
		"*,n1,az=west\tn2": "n2 n1 db1",
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			s, err := object.ParseNodeSelector(expr)
			if err != nil {
				t.Fatal(err)
			}

			got, err := s.Select(nodes(), labels())

			if err != nil || strings.Join(got, " ") != want {
				t.Errorf("got %v, %v; want %s", got, err, want)
			}
		})
	}
}

func TestAnUnknownNodeIsRefusedOnlyWhereAMemberIsNeeded(t *testing.T) {
	t.Parallel()
	s, err := object.ParseNodeSelector("n1 n9 n8 x*")
	if err != nil {
		t.Fatal(err)
	}

	_, err = s.Select(nodes(), nil)
	kept := s.Expand(nodes(), nil)

	var unknown *object.UnknownNodeError
	if !errors.As(err, &unknown) || unknown.Node != "n9" || !strings.Contains(err.Error(), "n8 is not a node of the cluster: its nodes are n2 n1 db1") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"n1", "n9", "n8"}, kept); diff != "" {
		t.Error(diff)
	}
}

func TestABadNodeSelectorNamesTheElementAndItsPosition(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][]string{
		"n1,,n2": {"node selector", "at character 4", "remove the comma"},
		"n1,":    {"at character 4"},
		",":      {"at character 1"},
		"n1 n/2": {`element "n/2"`, "at character 4", "not a node name"},
		"n1, a=": {`element "a="`, "at character 5", "has no value"},
		"=x":     {"not a label name"},
		"n1+n2":  {"not a node name"},
		"!n1":    {"not a node name"},
		"n1 -n":  {"not a node name"},
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()

			_, err := object.ParseNodeSelector(expr)

			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
		})
	}
}

// nodeElements draws elements over nodes and labels.
func nodeElements() *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"n1", "n2", "db1", "*", "n*", "?b1", "az=east", "az=west", "disk=ssd", "no*"}), 1, 6)
}

// isUnionInOrder tells whether got is what the elements select one by one, each
// node where it first comes.
func isUnionInOrder(t fataler, elements, got []string) bool {
	var want []string
	for _, e := range elements {
		s, err := object.ParseNodeSelector(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range s.Expand(nodes(), labels()) {
			if !slices.Contains(want, n) {
				want = append(want, n)
			}
		}
	}
	return slices.Equal(want, got)
}

func TestNodeSelectorsAreOrderedUnions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		elements := nodeElements().Draw(t, "elements")
		text := strings.Join(elements, rapid.SampledFrom([]string{" ", ",", ", ", "  "}).Draw(t, "separator"))
		s, err := object.ParseNodeSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Select(nodes(), labels())
		if err != nil || !isUnionInOrder(t, elements, got) {
			t.Fatalf("%q selects %v, %v", text, got, err)
		}
	})
}

func TestMutantsBreakTheOrderedUnion(t *testing.T) {
	t.Parallel()
	for name, mutate := range map[string]func([]string){"sorting the nodes": slices.Sort[[]string], "reversing the nodes": slices.Reverse[[]string]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range 200 {
				elements := nodeElements().Example(seed)
				s, err := object.ParseNodeSelector(strings.Join(elements, ","))
				if err != nil {
					t.Fatal(err)
				}
				got := s.Expand(nodes(), labels())
				mutate(got)
				if !isUnionInOrder(t, elements, got) {
					return
				}
			}
			t.Error("the law holds for the mutant")
		})
	}
}

func FuzzNodeSelector(f *testing.F) {
	for _, s := range []string{"", "*", "n1 n2", "n1,n2", "az=east", "n[1-2]", "a,,b", "=", "N1\tn2", "é", "[", "a=b=c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := object.ParseNodeSelector(text)
		if err != nil {
			return
		}
		again, err := object.ParseNodeSelector(s.String())
		if err != nil || !slices.Equal(s.Expand(nodes(), labels()), again.Expand(nodes(), labels())) {
			t.Errorf("%q prints as %q, which is another selector: %v", text, s, err)
		}
	})
}
