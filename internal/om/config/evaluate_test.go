package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

func TestScopes(t *testing.T) {
	t.Parallel()
	scope := config.Scope{Node: "n1", Nodes: []string{"n1", "n2"}, DRPNodes: []string{"n1", "n3"}, EncapNodes: []string{"n1", "v1"}}
	all := []string{"x@n1", "old@n1", "x@nodes", "old@nodes", "x@drpnodes", "old@drpnodes", "x@encapnodes", "old@encapnodes", "x", "old"}

	t.Run("the most specific line is read, aliases after the name at each level", func(t *testing.T) {
		t.Parallel()
		for i := range all {
			text := "[a]\n"
			for _, k := range all[i:] {
				text = strings.Replace(text, "[a]\n", "[a]\n"+k+" = "+k+"\n", 1)
			}
			text += "x@n9 = no\n"
			ev := config.Evaluator{Doc: parse(t, text), Scope: scope}

			got, k, found, err := ev.Raw("a", config.Option{Name: "x", Aliases: []string{"old"}, Scopable: true})

			if got != all[i] || !found || err != nil || k != key(t, "a."+all[i]) {
				t.Errorf("got %q from %s, %t, %v, want %q of:\n%s", got, k, found, err, all[i], text)
			}
		}
	})

	for name, c := range map[string]struct {
		node     string
		scopable bool
		want     string
	}{
		"a node of nodes":                         {"n2", true, "x@nodes"},
		"a node of drpnodes":                      {"n3", true, "x@drpnodes"},
		"a node of encapnodes":                    {"v1", true, "x@encapnodes"},
		"another node":                            {"n7", true, "x"},
		"the scopes of what cannot be are unread": {"n1", false, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := []string{"[a]"}
			for _, k := range all {
				lines = append(lines, k+" = "+k)
			}
			text := strings.Join(lines, "\n") + "\n"
			s := scope
			s.Node = c.node
			ev := config.Evaluator{Doc: parse(t, text), Scope: s}

			if got, _, _, _ := ev.Raw("a", config.Option{Name: "x", Aliases: []string{"old"}, Scopable: c.scopable}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestInheritance(t *testing.T) {
	t.Parallel()
	both := "x = head\n[a]\nx = leaf\n"
	head, leaf := "x = head\n[a]\n", "[a]\nx = leaf\n"
	for name, c := range map[string]struct {
		text   string
		option config.Option
		want   string
	}{
		"the section first":                        {both, config.Option{Inherit: config.LeafToHead}, "leaf"},
		"then DEFAULT":                             {head, config.Option{Inherit: config.LeafToHead}, "head"},
		"DEFAULT first":                            {both, config.Option{Inherit: config.HeadToLeaf}, "head"},
		"then the section":                         {leaf, config.Option{Inherit: config.HeadToLeaf}, "leaf"},
		"only the section":                         {head, config.Option{Inherit: config.LeafOnly}, ""},
		"only DEFAULT":                             {leaf, config.Option{Inherit: config.HeadOnly}, ""},
		"under another name in DEFAULT":            {"a_x = head\n[a]\n", config.Option{HeadName: "a_x"}, "head"},
		"not under its own name then":              {head, config.Option{HeadName: "a_x"}, ""},
		"a less specific line of the section":      {"x@n1 = head\n[a]\nx = leaf\n", config.Option{Scopable: true}, "leaf"},
		"a default when nothing is set":            {"[a]\n", config.Option{Default: "d"}, "d"},
		"an empty value is a value":                {"[a]\nx =\n", config.Option{Default: "d"}, ""},
		"a default may hold references":            {"[a]\ny = 1\n", config.Option{Default: "d{y}"}, "d1"},
		"a value of DEFAULT is read as the leaf's": {"x = {y}\ny = head\n[a]\ny = leaf\n", config.Option{}, "leaf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := c.option
			o.Name = "x"
			ev := config.Evaluator{Doc: parse(t, c.text), Scope: config.Scope{Node: "n1"}}

			got, _, err := ev.Value("a", o)

			if got != c.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}

	t.Run("a required option which is not set is an error that names it", func(t *testing.T) {
		t.Parallel()
		ev := config.Evaluator{Doc: config.NewDocument()}

		_, found, err := ev.Value("fs#1", config.Option{Name: "mnt", Required: true})

		if found || !errors.Is(err, config.ErrRequired) || !strings.Contains(err.Error(), "fs#1.mnt") {
			t.Errorf("got %t, %v", found, err)
		}
	})
}

// evaluator reads a small cluster of options.
func evaluator(t failer) *config.Evaluator {
	return &config.Evaluator{
		Scope: config.Scope{Node: "n1", Nodes: []string{"n1", "n2"}},
		Doc: parse(t, `[DEFAULT]
nodes = n1 n2
size = 10g
head = top

[env]
a = 1
name = heLLo wOrld
list = x y z
empty =
b = {a}{env.a}
deep = <{env.b}>
my-key = dash
scoped = all
scoped@n1 = one
scoped@n2 = two
loop1 = {env.loop2}
loop2 = x {loop1}
cycle = {cycle}
bad = {env.missing}
fmt = {{.Name}}

[app#1]
type = simple
start = /bin/{rid}
defaulted = {known}

[subset#app:g1]
parallel = true
`),
		Options: func(section, option string) (config.Option, bool) {
			if option == "known" {
				return config.Option{Name: "known", Default: "default"}, true
			}
			return config.Option{}, false
		},
		Lookup: func(section, name string) (string, bool, error) {
			switch name {
			case "nodename":
				return "n1", true, nil
			case "rid":
				return section, true, nil
			case "node.labels.az":
				return "eu 1", true, nil
			case "disk#1.exposed_devs":
				return "/dev/sda /dev/sdb", true, nil
			case "disk#1.free":
				return "1073741826", true, nil
			case "disk#2.exposed_devs":
				return "", false, fmt.Errorf("disk#2 is down: %w", config.ErrPostponed)
			}
			return "", false, nil
		},
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "",
		"plain":                    "plain",
		"{nodename}":               "n1",
		"a{nodename}b{rid}":        "an1bapp#1",
		"{env.a}":                  "1",
		"{type}":                   "simple",
		"{head}":                   "top",
		"{DEFAULT.head}":           "top",
		"{app#1.start}":            "/bin/app#1",
		"{env.deep}":               "<11>",
		"{env.empty}":              "",
		"{#env.empty}":             "0",
		"{#nodes}":                 "2",
		"{#env.list}":              "3",
		"{env.list[1]}":            "y",
		"{upper:env.list[2]}":      "Z",
		"{node.labels.az}":         "eu 1",
		"{node.labels.az[1]}":      "1",
		"{subset#app:g1.parallel}": "true",
		"{env.my-key}":             "dash",
		"{env.scoped}":             "one",
		"{env.scoped@n2}":          "two",
		"{known}":                  "default",
		"{app#1.defaulted}":        "default",
		"{upper:env.name}":         "HELLO WORLD",
		"{lower:env.name}":         "hello world",
		"{capitalize:env.name}":    "Hello world",
		"{title:env.name}":         "Hello World",
		"{swapcase:env.name}":      "HEllO WoRLD",
		"{disk#1.exposed_devs[0]} {#disk#1.exposed_devs}": "/dev/sda 2",

		// not references
		`{"a": 1}`:                           `{"a": 1}`,
		`{"a":{"b":1}}`:                      `{"a":{"b":1}}`,
		"${VAR} ${env.a}":                    "${VAR} ${env.a}",
		"awk '{print $1}'":                   "awk '{print $1}'",
		"find -exec x {} +":                  "find -exec x {} +",
		"{{.Name}} {{end}}":                  "{{.Name}} {{end}}",
		"{env.fmt}":                          "{{.Name}}",
		"%{http_code}":                       "%{http_code}",
		"a{1,3} b{2} {1..3}":                 "a{1,3} b{2} {1..3}",
		"{a,b}":                              "{a,b}",
		"{ env.a }":                          "{ env.a }",
		"{.a} {a.} {a..b}":                   "{.a} {a.} {a..b}",
		"{a: b} {1:env.a} ${a:b} {a:1} {a:}": "{a: b} {1:env.a} ${a:b} {a:1} {a:}",
		"{env.list[x]}":                      "{env.list[x]}",
		"{env.list[-1]}":                     "{env.list[-1]}",
		"{":                                  "{",
		"{env.a":                             "{env.a",
		"}{":                                 "}{",
		"$":                                  "$",
		"{" + strings.Repeat("a", 300) + "}": "{" + strings.Repeat("a", 300) + "}",

		// arithmetic
		"$(1 + 2 * 3)":              "7",
		"$((1+2)*3)":                "9",
		"$(10g)":                    "10737418240",
		"$(10g + 1)":                "10737418241",
		"$(50% * 10g)":              "5368709120",
		"$(60% * {disk#1.free})":    "644245095",
		"$({size} / 4)":             "2684354560",
		"$({size} / 4g)":            "2.5",
		"$({disk#1.free} / 1g)":     "1.000000002",
		"$(10 / 4)":                 "2.5",
		"$(1/3)":                    "0.333333333",
		"$(-1 - -3)":                "2",
		"$((100% - 10%) * 1000)":    "900",
		"$(50% * 50% * 1000)":       "250",
		"$(7e * 1)":                 "8070450532247928832",
		"$(1000000 * 1000000)":      "1000000000000",
		"$({size})":                 "10737418240",
		"{env.a}$({env.a}+{env.a})": "12",
		"$(0.5 * 3)":                "1.5",
		"$(1kb*3)":                  "3000",

		// not arithmetic
		"$(date)":               "$(date)",
		"$(date +%s)":           "$(date +%s)",
		"$(cat {env.a})":        "$(cat 1)",
		"$({env.name})":         "$(heLLo wOrld)",
		"$({env.name} {env.a})": "$(heLLo wOrld 1)",
		"$()":                   "$()",
		"$(1 +)":                "$(1 +)",
		"$(1 2)":                "$(1 2)",
		"$(abc":                 "$(abc",
		"$(cat {env.a}":         "$(cat 1",
		"$({env.a}":             "$(1",
		"$((x+1))":              "$((x+1))",
		"$(1x)":                 "$(1x)",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			got, err := evaluator(t).Expand("app#1", text)

			if err != nil || got != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestExpandRefuses(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"{nosuch}":                   "reference {nosuch}: no such option in [app#1] nor in [DEFAULT]",
		"x {print} y":                "reference {print}:",
		"{env.missing}":              "reference {env.missing}: env.missing is not set",
		"{nosuch:env.a}":             "reference {nosuch:env.a}: nosuch is no modifier: use upper, lower, capitalize, title, swapcase, or put a blank after the brace",
		"{a:b}":                      "reference {a:b}: a is no modifier",
		"{Upper:#env.list}":          "Upper is no modifier",
		"$(1 + 2":                    "$(1 + 2: the arithmetic is not closed: add a parenthesis",
		"$(2 * ({env.a} + 1)":        "the arithmetic is not closed",
		"{fs#1.mnt}":                 "reference {fs#1.mnt}: there is no section fs#1",
		"{node.nosuch}":              "reference {node.nosuch}: there is no section node",
		"{env.scoped@n9}":            "env.scoped@n9 is not set",
		"{env.bad}":                  "reference {env.bad}: reference {env.missing}: env.missing is not set",
		"{env.loop1}":                "env.loop1 -> env.loop2 -> env.loop1",
		"{env.cycle}":                "env.cycle -> env.cycle",
		"{env.list[3]}":              "reference {env.list[3]}: no element 3, env.list has 3 elements",
		"{#env.missing}":             "env.missing is not set",
		"$({env.name} + 1)":          `reference {env.name} is "heLLo wOrld", which is not a number`,
		"$(1 / 0)":                   "$(1 / 0): division by zero",
		"$(1 / (2 - 2))":             "division by zero",
		"$(7e + 7e)":                 "does not fit in 63 bits",
		"$(1g * 1g)":                 "a size is multiplied by a size",
		"$(10g + 5%)":                "a percentage is added to something else",
		"$({env.missing} * 2)":       "env.missing is not set",
		"{disk#2.exposed_devs[0]}":   "disk#2 is down",
		"$({disk#2.exposed_devs}*2)": "disk#2 is down",
		"$(" + strings.Repeat("9999999999999999999999999999999999999999 * ", 100) + "1)": "too large",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			got, err := evaluator(t).Expand("app#1", text)

			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("got %q, %v, want ... %s", got, err, says)
			}
			if strings.Contains(text, "disk#2") != errors.Is(err, config.ErrPostponed) {
				t.Errorf("postponed is not told apart: %v", err)
			}
		})
	}
}

func TestExpandIsBounded(t *testing.T) {
	t.Parallel()

	t.Run("in size", func(t *testing.T) {
		t.Parallel()
		d := config.NewDocument()
		set(t, d, "env.x0", strings.Repeat("x", 1024))
		for i := range 30 {
			set(t, d, fmt.Sprintf("env.x%d", i+1), fmt.Sprintf("{env.x%d}{env.x%d}", i, i))
		}
		if _, err := (&config.Evaluator{Doc: d}).Expand("env", "{env.x30}"); err == nil {
			t.Error("no error")
		}
	})
	t.Run("in depth", func(t *testing.T) {
		t.Parallel()
		d := config.NewDocument()
		for i := range 100 {
			set(t, d, fmt.Sprintf("env.x%d", i), fmt.Sprintf("{env.x%d}", i+1))
		}
		set(t, d, "env.x100", "")
		if _, err := (&config.Evaluator{Doc: d}).Expand("env", "{env.x0}"); err == nil || !strings.Contains(err.Error(), "deep") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("in what is read", func(t *testing.T) {
		t.Parallel()
		d := config.NewDocument()
		set(t, d, "env.x", strings.Repeat("x ", 1<<19))
		if _, err := (&config.Evaluator{Doc: d}).Expand("env", strings.Repeat("{#env.x}", 100)); err == nil {
			t.Error("no error")
		}
	})
	t.Run("in number", func(t *testing.T) {
		t.Parallel()
		d := config.NewDocument()
		set(t, d, "env.x0", "")
		for i := range 30 {
			set(t, d, fmt.Sprintf("env.x%d", i+1), fmt.Sprintf("{env.x%d}{env.x%d}", i, i))
		}
		if _, err := (&config.Evaluator{Doc: d}).Expand("env", "{env.x30}"); err == nil {
			t.Error("no error")
		}
	})
}

func TestEvaluatorWithoutDocument(t *testing.T) {
	t.Parallel()
	var ev config.Evaluator
	_, _, _, rawErr := ev.Raw("a", config.Option{Name: "x"})
	_, _, valueErr := ev.Value("a", config.Option{Name: "x"})
	_, expandErr := ev.Expand("a", "x")
	if rawErr == nil || valueErr == nil || expandErr == nil {
		t.Error("no error")
	}
}

// lawCycle: with references between options, evaluation ends: in a value when
// no path comes back, in an error that draws a true circle when one does.
func lawCycle(next []int, expand func(*config.Evaluator, string) (string, error)) error {
	d := config.NewDocument()
	for i, j := range next {
		text := "end"
		if j >= 0 {
			text = fmt.Sprintf("{env.x%d}", j)
		}
		if err := d.Set(config.Key{"env", fmt.Sprintf("x%d", i), ""}, text); err != nil {
			return err
		}
	}
	_, err := expand(&config.Evaluator{Doc: d}, "{env.x0}")
	steps, at := 0, 0
	for ; next[at] >= 0 && steps <= len(next); steps++ {
		at = next[at]
	}
	ends := next[at] < 0
	if ends != (err == nil) {
		return fmt.Errorf("ends is %t, got %w", ends, err)
	}
	if err == nil {
		return nil
	}
	_, circle, ok := strings.Cut(err.Error(), "in a circle: ")
	names := strings.Split(circle, " -> ")
	if !ok || names[0] != names[len(names)-1] {
		return fmt.Errorf("no circle in %w", err)
	}
	for i := range names[1:] {
		var a, b int
		if _, err := fmt.Sscanf(names[i]+" "+names[i+1], "env.x%d env.x%d", &a, &b); err != nil || next[a] != b {
			return fmt.Errorf("%s does not refer to %s", names[i], names[i+1])
		}
	}
	return nil
}

func TestCycles(t *testing.T) {
	t.Parallel()
	expand := func(ev *config.Evaluator, text string) (string, error) { return ev.Expand("env", text) }
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "options")
		next := rapid.SliceOfN(rapid.IntRange(-1, n-1), n, n).Draw(t, "references")
		if err := lawCycle(next, expand); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("leaving references in place breaks the law", func(t *testing.T) {
		t.Parallel()
		lazy := func(_ *config.Evaluator, text string) (string, error) { return text, nil }
		if err := lawCycle([]int{1, 0}, lazy); err == nil {
			t.Error("the law holds")
		}
	})
}

func TestInheritNames(t *testing.T) {
	t.Parallel()
	var got []string
	for _, i := range []config.Inherit{config.LeafToHead, config.HeadToLeaf, config.LeafOnly, config.HeadOnly} {
		got = append(got, i.String())
	}
	if diff := cmp.Diff([]string{"leaf2head", "head2leaf", "leaf", "head"}, got); diff != "" {
		t.Error(diff)
	}
}
