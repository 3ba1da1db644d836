package keyword_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// settings are the fields of a table that has one keyword of each type.
type settings struct {
	String   string
	Int      int
	Bool     bool
	Tristate *bool
	Size     int64
	Duration time.Duration
	List     []string
	Set      []string
	Lower    []string
	Shlex    []string
	Umask    *fs.FileMode
	Mode     *fs.FileMode
	Nodes    []string
	Peers    []string
}

func (s *settings) Keywords(k *keyword.Table) {
	k.String(&s.String, "string", "A text.").Scopable()
	k.Int(&s.Int, "int", "An integer.").Default("3")
	k.Bool(&s.Bool, "bool", "A boolean.")
	k.Tristate(&s.Tristate, "tristate", "A boolean or nothing.")
	k.Size(&s.Size, "size", "A size.")
	k.Duration(&s.Duration, "duration", "A duration.")
	k.List(&s.List, "list", "A list.").OneOf("a", "b", "c")
	k.Set(&s.Set, "set", "A set.")
	k.Lower(&s.Lower, "lower", "A lower case list.").OneOf("a", "b")
	k.Shlex(&s.Shlex, "shlex", "Shell words.")
	k.Umask(&s.Umask, "umask", "A mask.")
	k.FileMode(&s.Mode, "mode", "A file mode.")
	k.Nodes(&s.Nodes, "nodes", "Nodes.")
	k.Peers(&s.Peers, "peers", "Peers.")
}

// table declares keywords in one expression.
func table(declare func(*keyword.Table)) func() *keyword.Table {
	return func() *keyword.Table {
		var t keyword.Table
		declare(&t)
		return &t
	}
}

// schema is that of a small object.
func schema() *keyword.Schema {
	var text string
	var number int
	var flag bool
	var list []string
	var size int64
	return &keyword.Schema{
		Name: "svc",
		Kind: object.KindSvc,
		Sections: []keyword.Section{
			{
				Name: "DEFAULT", Doc: "The object itself.",
				Types: map[string]func() *keyword.Table{"": table(func(k *keyword.Table) {
					k.String(&text, "id", "Identifies the object.").Recorded().DefaultText("a new one")
					k.Nodes(&list, "nodes", "Where the object may run.").Scopable().Default("*")
					k.String(&text, "topology", "How many instances run.").OneOf("failover", "flex").Default("failover")
					k.Int(&number, "flex_min", "The least instances that run.").Default("1").When("topology=flex")
					k.Size(&size, "size", "Size of the volume.").For(object.KindVol)
				})},
			},
			{
				Name: "app", Doc: "Processes.", Indexed: true,
				TypeDocs:    map[string]string{"simple": "Keeps a command running."},
				TypeAliases: map[string]string{"plain": "simple"},
				Types: map[string]func() *keyword.Table{
					"": table(func(k *keyword.Table) {
						k.Bool(&flag, "optional", "Whether a failure is accepted.").Scopable().Inherit(config.HeadToLeaf)
						k.String(&text, "tags", "Names for selections.").Inherit(config.LeafOnly)
						k.String(&text, "schedule", "When it runs.").HeadName("run_schedule")
					}),
					"simple": table(func(k *keyword.Table) {
						k.Shlex(&list, "start", "The command to keep running, and its arguments.").Required().Scopable().Eg("/bin/sleep 100")
						k.String(&text, "kill", "Which processes are ended.").OneOf("parent", "tree").Default("parent").Alias("kill_mode")
					}),
					"forking": table(func(k *keyword.Table) {
						k.Shlex(&list, "start", "The command that starts the daemon.").Scopable()
						k.String(&text, "script", "A launcher.").Deprecated("write start, stop and check")
					}),
				},
			},
			{
				Name: "fs", Indexed: true, DefaultType: "flag",
				Types: map[string]func() *keyword.Table{
					"flag": table(func(*keyword.Table) {}),
					"directory": table(func(k *keyword.Table) {
						k.String(&text, "path", "The directory.").Required().Scopable()
						k.String(&text, "vlan", "A number.").When(".mode=ovs")
						k.String(&text, "mode", "A mode.").OneOf("ovs", "bridge")
					}),
				},
			},
			{Name: "env", Doc: "Values for references.", Open: true, OpenScopable: true},
			{Name: "labels", Open: true},
		},
	}
}

func document(tb testing.TB, text string) *config.Document {
	tb.Helper()
	d, err := config.Parse([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func evaluator(tb testing.TB, s *keyword.Schema, text string) *config.Evaluator {
	tb.Helper()
	d := document(tb, text)
	ev := &config.Evaluator{
		Doc: d, Scope: config.Scope{Node: "n1", Nodes: []string{"n1", "n2"}},
		Lookup: func(_, name string) (string, bool, error) {
			if name == "disk#1.free" {
				return "", false, fmt.Errorf("disk#1: %w", config.ErrPostponed)
			}
			return "n1", name == "nodename", nil
		},
	}
	if s != nil {
		ev.Options = s.Options(d)
	}
	return ev
}

func TestDecode(t *testing.T) {
	t.Parallel()
	yes := true
	mask, mode := fs.FileMode(0o022), fs.ModeSetgid|0o750

	t.Run("each type fills its field", func(t *testing.T) {
		t.Parallel()
		var got settings
		var table keyword.Table
		got.Keywords(&table)
		ev := evaluator(t, nil, `[a]
string = {nodename} x
int = $(1 + 1)
bool = true
tristate = true
size = 10m
duration = 1h
list = b a
set = x y x
lower = A b
shlex = 'a b' c
umask = 022
mode = 2750
nodes = *
peers = n2
`)
		c := keyword.Context{Nodes: func(s string) ([]string, error) { return []string{"nodes", "of", s}, nil }}

		if err := keyword.Decode(ev, "a", &table, c); err != nil {
			t.Fatal(err)
		}

		want := settings{
			String: "n1 x", Int: 2, Bool: true, Tristate: &yes, Size: 10 << 20, Duration: time.Hour,
			List: []string{"b", "a"}, Set: []string{"x", "y"}, Lower: []string{"a", "b"}, Shlex: []string{"a b", "c"},
			Umask: &mask, Mode: &mode, Nodes: []string{"nodes", "of", "*"}, Peers: []string{"nodes", "of", "n2"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("what is not set takes its default, else stays", func(t *testing.T) {
		t.Parallel()
		got := settings{String: "kept"}
		var table keyword.Table
		got.Keywords(&table)

		if err := keyword.Decode(evaluator(t, nil, "[a]\n"), "a", &table, keyword.Context{}); err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(settings{String: "kept", Int: 3}, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("empty values are zero values", func(t *testing.T) {
		t.Parallel()
		got := settings{Bool: true, Size: 1, Duration: 1, Umask: &mask, Tristate: &yes}
		var table keyword.Table
		got.Keywords(&table)
		ev := evaluator(t, nil, "[a]\nbool =\ntristate =\nsize =\nduration =\nlist =\numask =\nmode =\n")

		if err := keyword.Decode(ev, "a", &table, keyword.Context{}); err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(settings{Int: 3, List: []string{}}, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("every problem is told, with the key, the value and the reason", func(t *testing.T) {
		t.Parallel()
		var got settings
		var need string
		var table keyword.Table
		got.Keywords(&table)
		table.String(&need, "need", "Needed.").Required()
		ev := evaluator(t, nil, `[a]
string@n1 = {nosuch}
int = x
bool = yes
size = big
duration = long
list = a d
shlex = '
umask = 9
mode = 9
peers = n9
`)
		c := keyword.Context{Nodes: func(s string) ([]string, error) { return nil, fmt.Errorf("node %s is unknown", s) }}

		err := keyword.Decode(ev, "a", &table, c)

		if err == nil {
			t.Fatal("no error")
		}
		for _, says := range []string{
			"a.string@n1: reference {nosuch}", `a.int: value "x": not an integer`, `a.bool: value "yes": not a boolean`, `a.size: value "big": not a size`,
			`a.duration: value "long": not a duration`, `a.list: value "a d": "d" is not one of a, b, c`, `a.shlex: value "'": the quote`,
			`a.umask: value "9": not a mask`, `a.mode: value "9": not a file mode`, `a.peers: value "n9": node n9 is unknown`, "a.need: required, and not set",
		} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%q is missing in:\n%v", says, err)
			}
		}
	})

	t.Run("a decode is postponed only when nothing else is wrong", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]bool{"size = {disk#1.free}\nint = 1\n": true, "size = {disk#1.free}\nint = x\n": false} {
			var got settings
			var table keyword.Table
			got.Keywords(&table)

			err := keyword.Decode(evaluator(t, nil, "[a]\n"+text), "a", &table, keyword.Context{})

			if err == nil || errors.Is(err, config.ErrPostponed) != want {
				t.Errorf("%q: got %v", text, err)
			}
		}
	})

	t.Run("what depends on a setting is read only with it", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]int{
			"flex_min = 2\n":                      7,
			"topology = flex\nflex_min = 2\n":     2,
			"topology = flex\n":                   1,
			"topology = failover\nflex_min = x\n": 7,
		} {
			got := 7
			var table keyword.Table
			table.Int(&got, "flex_min", "").Default("1").When("topology=flex")

			err := keyword.Decode(evaluator(t, schema(), text), "DEFAULT", &table, keyword.Context{})

			if err != nil || got != want {
				t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
			}
		}
	})
}

func TestBooleanSettingsAreMetInAnySpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"optional = 1\nx = 2\n": 2, "optional = True\nx = 2\n": 2, "optional = 0\nx = 2\n": 0, "x = 2\n": 0} {
		var got int
		var table keyword.Table
		table.Int(&got, "x", "").When("optional=true")

		if err := keyword.Decode(evaluator(t, schema(), text), "DEFAULT", &table, keyword.Context{}); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()

	t.Run("keywords are found by name and by alias", func(t *testing.T) {
		t.Parallel()
		var s string
		var table keyword.Table
		k := table.String(&s, "x", "").Alias("y")
		if table.Find("x") != k || table.Find("y") != k || table.Find("z") != nil {
			t.Error("found otherwise")
		}
	})
	t.Run("a name declared twice is a wrong program", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		var s string
		var table keyword.Table
		table.String(&s, "x", "")
		table.String(&s, "x", "")
	})
}
