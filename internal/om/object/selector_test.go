package object_test

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// configs are configurations by path, each a map of "section.option" to value.
type configs map[string]map[string]string

func (c configs) Sections(p object.Path) []string {
	var out []string
	for key := range c[p.String()] {
		section, _, _ := strings.Cut(key, ".")
		if !slices.Contains(out, section) {
			out = append(out, section)
		}
	}
	return out
}

func (c configs) Value(p object.Path, section, option string) (object.Value, bool) {
	text, ok := c[p.String()][section+"."+option]
	v := object.Value{Text: text}
	switch option {
	case "timeout", "size":
		v.Number = func(s string) (int64, error) {
			n, err := strconv.ParseInt(strings.TrimSuffix(s, "m"), 10, 64)
			if strings.HasSuffix(s, "m") {
				n *= 60
			}
			return n, err
		}
	case "monitor", "optional":
		v.Number = func(s string) (int64, error) {
			b, err := strconv.ParseBool(strings.ToLower(s))
			if b {
				return 1, err
			}
			return 0, err
		}
	}
	return v, ok
}

func (c configs) paths(t *testing.T) []object.Path {
	t.Helper()
	var out []object.Path
	for text := range c {
		p, err := object.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func site() configs {
	return configs{
		"cluster": {"cluster.name": "c1"},
		"ha1": {
			"DEFAULT.orchestrate": "ha", "DEFAULT.monitor_schedule": "@1m", "ip#0.type": "host", "task#1.type": "host",
			"app#1.timeout": "1m", "app#1.monitor": "true", "env.weight": "9",
		},
		"ha2":          {"DEFAULT.orchestrate": "ha", "ip#0.type": "host", "task#1.type": "host", "app#1.timeout": "30", "app#2.monitor": "True", "env.weight": "10"},
		"web":          {"DEFAULT.comment": "the web, at last", "app#1.timeout": "2", "app#1.monitor": "false", "fs#1.type": "flag"},
		"ns1/svc/web1": {"DEFAULT.size": "2m", "app#a.type": "simple"},
		"ns1/svc/dns":  {"DEFAULT.size": "90"},
		"ns1/vol/web1": {"DEFAULT.size": "100"},
		"ns1/cfg/web1": {},
		"ns2/svc/web2": {"env.color": "green", "env.flag": "True"},
		"cfg/hosts":    {},
		"vol/v1":       {"DEFAULT.size": "1"},
		"ns1/":         {},
	}
}

func selectAll(t *testing.T, expr string) []string {
	t.Helper()
	s, err := object.ParseSelector(expr)
	if err != nil {
		t.Fatal(err)
	}
	c := site()
	found, err := s.Select(c.paths(t), c)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(found))
	for i, p := range found {
		names[i] = p.String()
	}
	return names
}

func TestSelect(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		// globs
		"**":       "ns1/cfg/web1 ns1/ ns1/svc/dns ns1/svc/web1 ns1/vol/web1 ns2/svc/web2 cluster cfg/hosts ha1 ha2 web vol/v1",
		"*":        "ns1/svc/dns ns1/svc/web1 ns2/svc/web2 ha1 ha2 web",
		"*/svc/*":  "ns1/svc/dns ns1/svc/web1 ns2/svc/web2 ha1 ha2 web",
		"h*":       "ha1 ha2",
		"w*":       "web",
		"ha?":      "ha1 ha2",
		"ha[2-3]":  "ha2",
		"ha[!2]":   "ha1",
		"cfg/*":    "cfg/hosts",
		"vol/*":    "vol/v1",
		"ns1/**":   "ns1/cfg/web1 ns1/ ns1/svc/dns ns1/svc/web1 ns1/vol/web1",
		"ns1/*":    "",
		"**/web1":  "ns1/cfg/web1 ns1/svc/web1 ns1/vol/web1",
		"*/vol/*":  "ns1/vol/web1 vol/v1",
		"*/web1":   "",
		"root/**":  "cluster cfg/hosts ha1 ha2 web vol/v1",
		"ns*/":     "ns1/",
		"nothing*": "",
		"W*":       "",
		// paths
		"web":                   "web",
		"root/svc/web":          "web",
		"ns1/":                  "ns1/",
		"cluster":               "cluster",
		"web,ns1/vol/web1,gone": "ns1/vol/web1 web",
		"gone,gone2,w*":         "web",
		"web,web,w*":            "web",
		"web+gone":              "",
		"gone+**":               "",
		// intersections, unions, negations
		"ns1/*/web1+*/svc/*":                "ns1/svc/web1",
		"ns1/svc/*+ns1/*/web1,ns2/svc/web2": "ns1/svc/web1 ns2/svc/web2",
		"ns1/**+!**/web1":                   "ns1/ ns1/svc/dns",
		"!*/svc/*":                          "ns1/cfg/web1 ns1/ ns1/vol/web1 cluster cfg/hosts vol/v1",
		"*+!web":                            "ns1/svc/dns ns1/svc/web1 ns2/svc/web2 ha1 ha2",
		"!gone+ha*":                         "ha1 ha2",
		" ha1 , ha2 + h* ":                  "ha1 ha2", //nolint:gocritic // the blanks are the point
		// config expressions
		"orchestrate=ha":                   "ha1 ha2",
		"DEFAULT.orchestrate=ha":           "ha1 ha2",
		"orchestrate=HA":                   "",
		"topology=failover":                "",
		"app.timeout>1":                    "ha1 ha2 web",
		"app.timeout>=30":                  "ha1 ha2",
		"app.timeout>30":                   "ha1",
		"app.timeout=60":                   "ha1",
		"app#1.timeout<=2":                 "web",
		"app#1.timeout<1m":                 "ha2 web",
		"app.timeout!=60":                  "ha2 web",
		"!app.timeout=60+*":                "ns1/svc/dns ns1/svc/web1 ns2/svc/web2 ha2 web",
		"size>90":                          "ns1/svc/web1 ns1/vol/web1",
		"size=2m":                          "ns1/svc/web1",
		"size=120":                         "ns1/svc/web1",
		"size>abc":                         "",
		"size<abc":                         "",
		"env.flag=TRUE":                    "ns2/svc/web2",
		"env.flag=FALSE":                   "",
		"env.weight>9":                     "ha2",
		"env.weight<10":                    "ha1",
		"env.weight<9.5":                   "ha1",
		"env.color>green":                  "",
		"env.color>=green":                 "ns2/svc/web2",
		"comment~last$":                    "web",
		"comment~^the.*last":               "web",
		"comment~THE":                      "",
		"fs.type~^(flag|directory)$":       "web",
		"ip:+task:":                        "ha1 ha2",
		"app:":                             "ha1 ha2 ns1/svc/web1 web",
		"app#1:":                           "ha1 ha2 web",
		"env:":                             "ha1 ha2 ns2/svc/web2",
		"size:":                            "ns1/svc/dns ns1/svc/web1 ns1/vol/web1 vol/v1",
		"DEFAULT.size:":                    "ns1/svc/dns ns1/svc/web1 ns1/vol/web1 vol/v1",
		"env.color:":                       "ns2/svc/web2",
		".monitor=true":                    "ha1 ha2",
		".monitor=TRUE":                    "ha1 ha2",
		".monitor=false":                   "web",
		".monitor=0":                       "web",
		"!monitor_schedule+.monitor=true":  "ha2",
		"!monitor_schedule:+.monitor=true": "ha2",
		"h*+app#1.timeout:":                "ha1 ha2",
		"comment=":                         "",
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			got := selectAll(t, expr)

			names := strings.Fields(want)
			all := parsed(t, names)
			slices.SortFunc(all, object.Compare)
			if diff := cmp.Diff(all, parsed(t, got)); diff != "" {
				t.Errorf("want, got:\n%s", diff)
			}
		})
	}
}

func parsed(t *testing.T, names []string) []object.Path {
	t.Helper()
	out := []object.Path{}
	for _, n := range names {
		p, err := object.Parse(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestABadSelectorNamesTheElementAndItsPosition(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][]string{
		"":             {"empty", "**"},
		"  ":           {"empty"},
		"a,,b":         {`selector "a,,b"`, `element ""`, "at character 3", "remove the separator"},
		"a,":           {"at character 3"},
		",a":           {"at character 1"},
		"a+":           {"at character 3"},
		"ab,cd++e":     {"at character 7"},
		"é*,,b":        {"at character 4"},
		"!":            {"negates nothing"},
		"a+!":          {`element "!"`, "at character 3"},
		"!!a":          {"doubled"},
		"a,my_svc":     {`element "my_svc"`, "at character 3", `"my_svc:"`},
		"Web":          {"upper case"},
		"a/b/c/d":      {"parts"},
		"x,comment~(":  {`element "comment~("`, "at character 3", "bad regular expression"},
		"=1":           {"no keyword before"},
		"!=1":          {"no keyword before"},
		"app.=1":       {"no option after"},
		"app*.x=1":     {"is not a keyword"},
		"app.timeout>": {"nothing to compare"},
		"name~":        {"nothing to compare"},
		"[":            {"bracket", "not closed"},
		"a,w[a-":       {`element "w[a-"`, "at character 3", "not closed"},
		"a]":           {"not closed"},
		"ip:host":      {"takes no value", `"ip=host"`},
		"-":            {"name"},
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()

			_, err := object.ParseSelector(expr)

			if _, ok := errors.AsType[*object.SyntaxError](err); !ok {
				t.Fatalf("got %v, want a syntax error", err)
			}
			for _, part := range want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
		})
	}
}

func TestAMissingObjectAloneIsAnError(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"gone":            "gone: object not found",
		"root/svc/gone":   "gone: object not found",
		"gone,ns1/vol/no": "gone, ns1/vol/no: object not found",
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			s, err := object.ParseSelector(expr)
			if err != nil {
				t.Fatal(err)
			}

			_, err = s.Select(site().paths(t), site())

			var missing *object.NotFoundError
			if !errors.As(err, &missing) || err.Error() != want || missing.ExitCode() != 2 {
				t.Errorf("got %v; want %q and exit code 2", err, want)
			}
		})
	}
}

func TestNarrowing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expr, namespace string
		kind            object.Kind
		want, err       string
	}{
		{expr: "**", namespace: "ns1", kind: "svc", want: "ns1/svc/dns ns1/svc/web1"},
		{expr: "*", namespace: "root", want: "ha1 ha2 web"},
		{expr: "**", kind: "vol", want: "ns1/vol/web1 vol/v1"},
		{expr: "!**/web1", namespace: "ns1", want: "ns1/ ns1/svc/dns"},
		{expr: "web", namespace: "ns1", err: "web (seeing namespace ns1 only): object not found"},
		{expr: "web", kind: "vol", err: "web (seeing kind vol only): object not found"},
		{expr: "web*", namespace: "ns1", want: ""},
	} {
		t.Run(c.expr+" in "+c.namespace+" "+string(c.kind), func(t *testing.T) {
			t.Parallel()
			s, err := object.ParseSelector(c.expr)
			if err != nil {
				t.Fatal(err)
			}

			got, err := s.Narrow(c.namespace, c.kind).Select(site().paths(t), site())

			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := parsed(t, strings.Fields(c.want))
			if diff := cmp.Diff(want, append([]object.Path{}, got...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExactPathsAreThoseOfASelectorMadeOfNothingElse(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][]object.Path{
		"web":           {svc("root", "web")},
		"web,ns1/svc/a": {svc("root", "web"), svc("ns1", "a")},
		"web,web":       {svc("root", "web")},
		"w*":            nil,
		"web,w*":        nil,
		"!web":          nil,
		"web+dns":       nil,
		"size:":         nil,
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			s, err := object.ParseSelector(expr)
			if err != nil {
				t.Fatal(err)
			}

			got, ok := s.Narrow("other", "vol").Exact()

			if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
				t.Errorf("%v %s", ok, diff)
			}
		})
	}
}

func TestReadList(t *testing.T) {
	t.Parallel()
	text := "# Ignored\n;svc2\n\n\t \nsvc3\n  svc4 \t\nns1/svc/x\r\n"

	got, err := object.ReadList(strings.NewReader(text))

	if diff := cmp.Diff([]string{"svc3", "svc4", "ns1/svc/x"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestAListThatIsTooLongIsAnErrorThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for want, list := range map[string]string{
		"line 2 of the list of objects is longer than 65536 bytes: write one selector a line": "web\n" + strings.Repeat("x", 1<<20),
		"the list of objects is longer than 16777216 bytes: use patterns, as in ns1/svc/*":    strings.Repeat("web\n", 4<<20+1),
	} {
		_, err := object.ReadList(strings.NewReader(list))

		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestAListThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")

	_, err := object.ReadList(iotest.ErrReader(broken))

	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// elements draws selector elements over the objects and keywords of site.
func elements() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		e := rapid.SampledFrom([]string{
			"**", "*", "*/vol/*", "ns1/**", "**/web1", "h*", "web", "ns1/svc/dns", "gone", "cfg/*", "ha[12]", "ns?/svc/*",
			"size:", "ip:", "app.timeout>5", "orchestrate=ha", ".monitor=true", "env.color~gr", "size!=1",
		}).Draw(t, "element")
		if rapid.Bool().Draw(t, "negated") {
			e = "!" + e
		}
		return e
	})
}

// oracle selects the slow way: sets, one element at a time.
type oracle struct {
	and, or func(a, b map[object.Path]bool, p object.Path) bool
}

func rightOracle() oracle {
	return oracle{
		and: func(a, b map[object.Path]bool, p object.Path) bool { return a[p] && b[p] },
		or:  func(a, b map[object.Path]bool, p object.Path) bool { return a[p] || b[p] },
	}
}

func (o oracle) evaluate(t fataler, terms [][]string, all []object.Path, c configs) map[object.Path]bool {
	combine := func(sets []map[object.Path]bool, op func(a, b map[object.Path]bool, p object.Path) bool) map[object.Path]bool {
		out := sets[0]
		for _, set := range sets[1:] {
			next := map[object.Path]bool{}
			for _, p := range all {
				next[p] = op(out, set, p)
			}
			out = next
		}
		return out
	}
	var union []map[object.Path]bool
	for _, term := range terms {
		var sets []map[object.Path]bool
		for _, e := range term {
			sets = append(sets, single(t, e, all, c))
		}
		union = append(union, combine(sets, o.and))
	}
	return combine(union, o.or)
}

type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// single selects with one element, which the tables above pin.
func single(t fataler, element string, all []object.Path, c configs) map[object.Path]bool {
	text, negated := strings.CutPrefix(element, "!")
	s, err := object.ParseSelector(text + ",nothing*")
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Select(all, c)
	if err != nil {
		t.Fatal(err)
	}
	out := map[object.Path]bool{}
	for _, p := range all {
		out[p] = slices.Contains(found, p) != negated
	}
	return out
}

func join(terms [][]string) string {
	texts := make([]string, len(terms))
	for i, term := range terms {
		texts[i] = strings.Join(term, "+")
	}
	return strings.Join(texts, ",")
}

func selectors() *rapid.Generator[[][]string] {
	return rapid.SliceOfN(rapid.SliceOfN(elements(), 1, 4), 1, 4)
}

func agrees(t fataler, o oracle, terms [][]string, all []object.Path) bool {
	s, err := object.ParseSelector(join(terms))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Select(all, site())
	var missing *object.NotFoundError
	if err != nil && !errors.As(err, &missing) {
		t.Fatal(err)
	}
	want := o.evaluate(t, terms, all, site())
	for _, p := range all {
		if want[p] != slices.Contains(got, p) {
			return false
		}
	}
	return slices.IsSortedFunc(got, object.Compare)
}

func TestSelectorsAreAnAlgebraOfSets(t *testing.T) {
	t.Parallel()
	all := site().paths(t)
	rapid.Check(t, func(t *rapid.T) {
		terms := selectors().Draw(t, "terms")
		if !agrees(t, rightOracle(), terms, all) {
			t.Fatalf("%s does not select what its elements say", join(terms))
		}
	})
}

func TestMutantsBreakTheAlgebra(t *testing.T) {
	t.Parallel()
	all := site().paths(t)
	right := rightOracle()
	for name, mutant := range map[string]oracle{
		"intersections unite":      {and: right.or, or: right.or},
		"unions intersect":         {and: right.and, or: right.and},
		"unions differ":            {and: right.and, or: func(a, b map[object.Path]bool, p object.Path) bool { return a[p] != b[p] }},
		"intersections drop right": {and: func(a, _ map[object.Path]bool, p object.Path) bool { return a[p] }, or: right.or},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range 500 {
				if !agrees(t, mutant, selectors().Example(seed), all) {
					return
				}
			}
			t.Error("the algebra holds for the mutant")
		})
	}
}

func TestNegationIsTheComplement(t *testing.T) {
	t.Parallel()
	c := site()
	all := c.paths(t)
	rapid.Check(t, func(t *rapid.T) {
		e := strings.TrimPrefix(elements().Draw(t, "element"), "!")
		for _, p := range all {
			yes, no := single(t, e, all, c)[p], single(t, "!"+e, all, c)[p]
			s, err := object.ParseSelector("!" + e)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Select(all, c)
			if err != nil {
				t.Fatal(err)
			}
			if yes == no || slices.Contains(got, p) == yes {
				t.Fatalf("%s is selected by both or none of %q and its negation", p, e)
			}
		}
	})
}

func TestASelectorPrintsAsItParses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := join(selectors().Draw(t, "terms"))
		s, err := object.ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		if s.String() != text {
			t.Fatalf("%q prints as %q", text, s)
		}
	})
}

func TestGlobIsFnmatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"a*c", "a/b/c", true},
		{"a*c", "a/b/cd", false},
		{"?", "/", true},
		{"?", "é", true},
		{"??", "é", false},
		{"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false},
		{"[^a-c]x", "dx", true},
		{"[]a]", "]", true},
		{"[!]a]", "b", true},
		{"[a", "[a", true},
		{"[a", "a", false},
		{"a]", "a]", true},
		{"[a-]", "-", true},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{`a\`, `a\`, true},
		{`[\]]`, "]", true},
		{"*a*b*c*", "xxaxxbxxcxx", true},
		{"*a*b*c*", "xxbxxaxxcxx", false},
		{"**", "anything", true},
		{"a**b", "ab", true},
		{".*", ".a", true},
		{"*.conf", ".conf", true},
	} {
		if got := object.Glob(c.pattern, c.text); got != c.want {
			t.Errorf("Glob(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

func TestGlobAgreesWithARegularExpression(t *testing.T) {
	t.Parallel()
	translate := strings.NewReplacer("*", ".*", "?", ".", "[!", "[^", ".", `\.`)
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"*", "?", "a", "b", "/", "[ab]", "[!a]", "[a-b]", "."}), 0, 8).Draw(t, "pattern"), "")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/.c")), 0, 10, -1).Draw(t, "text")
		re := regexp.MustCompile(`(?s)^` + translate.Replace(pattern) + `$`)
		if got, want := object.Glob(pattern, text), re.MatchString(text); got != want {
			t.Fatalf("Glob(%q, %q) = %v, %s says %v", pattern, text, got, re, want)
		}
	})
}

func FuzzParseSelector(f *testing.F) {
	for _, s := range []string{
		"**", "*", "a,b+!c", "ns1/svc/*+ns1/*/web1,ns2/svc/web2", "app.timeout>1", "!monitor_schedule+.monitor=true", "x~^a$", "ip:+task:",
		"a,,b", "!", "!!a", "[", "[!", `\`, "é*", "a=b=c", "a!=b", "size<=10mib", "-", " a , b ", "a\x00b*", "<", "a.b.c:",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := object.ParseSelector(text)
		if err != nil {
			var syntax *object.SyntaxError
			if !errors.As(err, &syntax) || syntax.Pos < 1 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := object.ParseSelector(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q prints as %q, which gives %v, %v", text, s, again, err)
		}
		c := site()
		all := c.paths(t)
		first, errFirst := s.Select(all, c)
		second, errSecond := again.Select(all, c)
		if !slices.Equal(first, second) || (errFirst == nil) != (errSecond == nil) {
			t.Errorf("%q and %q select %v and %v", text, s, first, second)
		}
	})
}
