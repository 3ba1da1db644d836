package command_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// sample is a command with a flag of every kind.
func sample() command.Command {
	return command.Command{
		Short: "Do something", Exclusive: []string{"share no-share"},
		Args: []command.Arg{{Name: "<name>", Help: "a"}, {Name: "<item>", Help: "b", Many: true, Optional: true}},
		Flags: []command.Flag{
			{Name: "share", Help: "h"},
			{Name: "no-share", Help: "h"},
			{Name: "mtu", Value: "<n>", Type: command.Int, Help: "h"},
			{Name: "limit", Value: "<n>", Type: command.Natural, Help: "h"},
			{Name: "factor", Value: "<n>", Type: command.Float, Default: "1.0", Help: "h"},
			{Name: "tag", Value: "<tag>", Repeat: true, Help: "h"},
			{Name: "name", Value: "<name>", Help: "h"},
			{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "h"},
			{Name: "hint", Value: "<key=value>", Type: command.KeyList, Help: "h"},
			{Name: "fixed-ip", Value: "subnet=<s>,ip-address=<i>", Type: command.Records, Keys: []string{"subnet", "!ip-address"}, Help: "h"},
			{Name: "option", Value: "name=<n>,value=<v>", Type: command.Records, LooseCommas: true, Help: "h"},
			{Name: "tags", Value: "<tag>[,<tag>]", Type: command.Commas, Help: "h"},
			{Name: "wait", Value: "<seconds>", Optional: "forever", Help: "h"},
			{Name: "all-projects", Help: "h"},
			{Name: "all-tags", Help: "h"},
			{Name: "ethertype", Value: "<t>", Choices: []string{"IPv4", "IPv6"}, Fold: true, Help: "h"},
			{Name: "long", Short: "l", Help: "h"},
			{Name: "old-name", Also: []string{"older-name"}, Value: "<x>", Hidden: true},
		},
		Output: command.Listed,
	}
}

func parse(t *testing.T, args ...string) *command.Values {
	t.Helper()
	cmd := sample()
	v, err := command.Parse(&cmd, command.Globals(), args)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return v
}

func TestValuesOfEveryType(t *testing.T) {
	t.Parallel()
	v := parse(t, "--mtu", "-5", "--limit=7", "a", "--factor=2.5", "--tag", "x", "--tag=y", "--property", "k=v=w", "--property= k =z",
		"--hint", "g=1", "--hint", "g=2", "--fixed-ip", "subnet=s,ip-address=1.2.3.4", "--option", "name=n,value=a,b,c", "--tags", "p,q", "--tags=r",
		"--eth", "ipv6", "-lfjson", "b", "c", "--older-name", "o", "--name", "one", "--name", "two", "--wait", "--os-cloud=here")

	type pairs = []command.Pair
	for name, got := range map[string]struct{ have, want any }{
		"int":           {v.Int("mtu"), -5},
		"natural":       {v.Int("limit"), 7},
		"float":         {v.Float("factor"), 2.5},
		"repeated":      {v.Texts("tag"), []string{"x", "y"}},
		"last wins":     {v.Texts("name"), []string{"two"}},
		"pairs":         {v.Pairs("property"), pairs{{"k", "z"}}},
		"map":           {v.Map("property"), map[string]string{"k": "z"}},
		"lists":         {v.Pairs("hint"), pairs{{"g", "1"}, {"g", "2"}}},
		"records":       {v.Records("fixed-ip"), []map[string]string{{"subnet": "s", "ip-address": "1.2.3.4"}}},
		"loose records": {v.Records("option"), []map[string]string{{"name": "n", "value": "a,b,c"}}},
		"commas":        {v.Texts("tags"), []string{"p", "q", "r"}},
		"folded":        {v.Text("ethertype"), "IPv6"},
		"cluster":       {v.Is("long"), true},
		"format":        {v.Text("format"), "json"},
		"other name":    {v.Text("old-name"), "o"},
		"optional":      {v.Text("wait"), "forever"},
		"argument":      {v.Text("<name>"), "a"},
		"arguments":     {v.Texts("<item>"), []string{"b", "c"}},
		"not given":     {v.Given("share"), false},
		"sequence":      {v.Sequence("tag", "name", "mtu"), pairs{{"mtu", "-5"}, {"tag", "x"}, {"tag", "y"}, {"name", "one"}, {"name", "two"}}},
	} {
		if diff := cmp.Diff(got.want, got.have); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if text, given := v.Global("os-cloud"); text != "here" || !given {
		t.Errorf("global flag: %q, %v", text, given)
	}
	if _, given := v.Global("name"); given {
		t.Error("a flag of the command counts as global")
	}
	if v := parse(t, "a"); v.Texts("tag") != nil || v.Float("factor") != 1 || v.Map("property") == nil || v.Text("name") != "" {
		t.Error("what is not given has a value")
	}
	if v := parse(t, "a", "--share", "--share=false", "--no-share"); v.Is("share") || !v.Given("share") || !v.Is("no-share") {
		t.Error("--share=false does not take --share back")
	}
}

func TestAnUndeclaredNamePanics(t *testing.T) {
	t.Parallel()
	v := parse(t, "a")
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	v.Text("typo")
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                "missing argument <name>",
		"a --mtu x":                       `flag --mtu: expected a whole number, got "x"`,
		"a --limit=-1":                    `flag --limit: expected a whole number of 0 or more, got "-1"`,
		"a --factor much":                 `flag --factor: expected a number, got "much"`,
		"a --mtu":                         "flag --mtu needs a value <n>",
		"a --mtu --share":                 "flag --mtu needs a value <n>",
		"a --share --no-share":            "--share and --no-share exclude each other",
		"a --no-s --sha":                  "--no-share and --share exclude each other",
		"a --all":                         "flag --all is ambiguous: it could be --all-projects or --all-tags",
		"a --shar3":                       `unknown flag --shar3; did you mean "--share"?`,
		"a -z":                            "unknown flag -z",
		"a -lz":                           "unknown flag -z in -lz",
		"a --share=maybe":                 `flag --share takes no value but true or false, got "maybe"`,
		"a --property novalue":            `flag --property: expected key=value, got "novalue"`,
		"a --property =x":                 `flag --property: empty key in "=x"`,
		"a --fixed-ip subnet=s":           `flag --fixed-ip: missing key ip-address in "subnet=s"`,
		"a --fixed-ip ip-address=1,sub=s": `flag --fixed-ip: unknown key "sub" in "ip-address=1,sub=s": the keys are subnet, ip-address`,
		"a --ethertype ARP":               `flag --ethertype: "arp": must be one of IPv4, IPv6`,
		"a -f xml":                        `invalid output format "xml": must be one of table, json, yaml, value, csv`,
		"a --watch-count x":               `flag --watch-count: expected a whole number of 0 or more, got "x"`,
		"a --format":                      "flag --format needs a value <format>",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cmd := sample()
			_, err := command.Parse(&cmd, command.Globals(), strings.Fields(line))
			if err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
			wrong, ok := errors.AsType[*command.UsageError](err)
			if !ok || wrong.ExitCode() != 2 {
				t.Errorf("%T has not the exit code 2", err)
			}
		})
	}
}

func TestGroupsAndRequiredFlags(t *testing.T) {
	t.Parallel()
	cmd := command.Command{
		Exclusive: []string{"!image volume", "port <name>"},
		Args:      []command.Arg{{Name: "<name>", Optional: true}},
		Flags: []command.Flag{
			{Name: "image", Value: "<i>"},
			{Name: "volume", Value: "<v>"},
			{Name: "flavor", Value: "<f>", Required: true},
			{Name: "port", Value: "<p>"},
		},
	}
	for line, want := range map[string]string{
		"--image i":                       "missing flag --flavor",
		"--flavor f":                      "one of --image, --volume is needed",
		"--flavor f --image i --port p":   "",
		"--flavor f --image i --port p n": "--port and <name> exclude each other",
	} {
		_, err := command.Parse(&cmd, nil, strings.Fields(line))
		if got := fmt.Sprint(err); got != want && (want != "" || err != nil) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func TestManyArgumentsLeaveTheOnesAfterThem(t *testing.T) {
	t.Parallel()
	cmd := command.Command{Args: []command.Arg{{Name: "<from>", Many: true}, {Name: "<to>"}}}
	v, err := command.Parse(&cmd, nil, []string{"a", "b", "c"})
	if err != nil || !slices.Equal(v.Texts("<from>"), []string{"a", "b"}) || v.Text("<to>") != "c" {
		t.Errorf("%v, %v", v, err)
	}
}

// TestArgparseSaysTheSame replays command lines with what argparse of Python 3.11
// made of them. Mutants it catches: values that may begin with a dash, a "--" that
// is taken for a value, prefixes that win over full names, clusters read backwards.
func TestArgparseSaysTheSame(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/argparse.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Shape int
		Args  []string
		OK    map[string]any
		Err   string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		cmd := recorded(c.Shape)
		v, err := command.Parse(&cmd, nil, c.Args)
		switch {
		case c.Err != "":
			// Argparse has messages of its own and refuses arguments that flags stand between.
			continue
		case err != nil:
			t.Errorf("%d %q: %v; argparse has %v", c.Shape, c.Args, err, c.OK)
			continue
		}
		if diff := cmp.Diff(c.OK, asRecorded(&cmd, v)); diff != "" {
			t.Errorf("%d %q (-argparse +ours):\n%s", c.Shape, c.Args, diff)
		}
	}
}

// recorded is the command that argparse had, with positionals of a shape.
func recorded(shape int) command.Command {
	shapes := [][]command.Arg{
		{{Name: "A"}, {Name: "B", Optional: true}},
		{{Name: "A", Many: true}},
		{{Name: "A"}, {Name: "B", Many: true}},
		{{Name: "A", Many: true, Optional: true}},
		nil,
	}
	return command.Command{
		Exclusive: []string{"share no-share"}, Args: shapes[shape],
		Flags: []command.Flag{
			{Name: "share"},
			{Name: "no-share"},
			{Name: "mtu", Value: "<n>", Type: command.Int},
			{Name: "tag", Value: "<t>", Repeat: true},
			{Name: "all-projects"},
			{Name: "all-tags"},
			{Name: "format", Short: "f", Value: "<f>", Choices: []string{"table", "json", "csv"}, Default: "table"},
			{Name: "column", Short: "c", Value: "<c>", Repeat: true},
			{Name: "verbose", Short: "v", Repeat: true},
			{Name: "wait", Value: "<w>", Optional: "K"},
		},
	}
}

// asRecorded are values as argparse has them, without what is not given.
func asRecorded(cmd *command.Command, v *command.Values) map[string]any {
	have := map[string]any{}
	list := func(texts []string) []any {
		all := make([]any, len(texts))
		for i, text := range texts {
			all[i] = text
		}
		return all
	}
	for _, f := range cmd.Flags {
		key := strings.ReplaceAll(f.Name, "-", "_")
		switch {
		case !v.Given(f.Name) || f.Name == "format" && v.Text("format") == "table":
		case f.Name == "verbose":
			have[key] = float64(len(v.Texts(f.Name)))
		case f.Repeat:
			have[key] = list(v.Texts(f.Name))
		case f.Type == command.Int:
			have[key] = float64(v.Int(f.Name))
		case f.Value == "":
			have[key] = v.Is(f.Name)
		default:
			have[key] = v.Text(f.Name)
		}
	}
	for _, a := range cmd.Args {
		switch {
		case !v.Given(a.Name):
		case a.Many:
			have[a.Name] = list(v.Texts(a.Name))
		default:
			have[a.Name] = v.Text(a.Name)
		}
	}
	return have
}

// written is a flag with a value, to be written in one of the ways there are.
type written struct{ name, text string }

// TestWhatIsWrittenIsRead writes values as arguments and reads them back. Mutants it
// catches: a repeated value lost, "=" cut twice, an argument taken for a value.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	cmd := sample()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-a-z=, ]{0,6}`)
		var args []string
		want := map[string][]string{}
		flag := func() {
			f := rapid.SampledFrom([]written{
				{"tag", ""}, {"name", ""}, {"mtu", "-12"}, {"property", "k=v"}, {"long", "true"}, {"all-projects", "true"}, {"ethertype", "IPv6"}, {"column", ""},
			}).Draw(t, "flag")
			val := f.text
			if val == "" {
				val = text.Draw(t, "value")
			}
			want[f.name] = append(want[f.name], val)
			full := "--" + f.name
			short := rapid.SampledFrom([]string{full, abbreviation(full)}).Draw(t, "spelling")
			switch {
			case val == "true":
				args = append(args, short)
			case f.name == "column" && val != "" && rapid.Bool().Draw(t, "cluster"):
				args = append(args, "-lc"+"="+val)
				want["long"] = append(want["long"], "true")
			case !strings.HasPrefix(val, "-") || f.name == "mtu":
				if rapid.Bool().Draw(t, "apart") {
					args = append(args, short, val)
					break
				}
				fallthrough
			default:
				args = append(args, short+"="+val)
			}
		}
		var places []string
		for range rapid.IntRange(1, 4).Draw(t, "arguments") {
			for range rapid.IntRange(0, 3).Draw(t, "flags") {
				flag()
			}
			place := rapid.StringMatching(`[a-z ][-a-z=]{0,5}|-|-7|`).Draw(t, "argument")
			places = append(places, place)
			args = append(args, place)
		}
		flag()
		if rapid.Bool().Draw(t, "end") {
			places = append(places, "--mtu", "--")
			args = append(args, "--", "--mtu", "--")
		}

		v, err := command.Parse(&cmd, command.Globals(), args)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if got := append([]string{v.Text("<name>")}, v.Texts("<item>")...); !slices.Equal(got, places) {
			t.Fatalf("%q: arguments %q, want %q", args, got, places)
		}
		for name, all := range want {
			if name == "name" || name == "mtu" || name == "ethertype" || name == "long" || name == "all-projects" {
				all = all[len(all)-1:]
			}
			if got := v.Texts(name); !slices.Equal(got, all) {
				t.Fatalf("%q: %s is %q, want %q", args, name, got, all)
			}
		}
	})
}

// abbreviation is a prefix of a flag of the sample that no other flag has.
func abbreviation(full string) string {
	switch full {
	case "--property":
		return "--prop"
	case "--all-projects":
		return "--all-p"
	case "--ethertype":
		return "--e"
	case "--column":
		return "--col"
	}
	return full
}

// FuzzParse looks for panics, and for a full spelling that a new flag changes: what
// is complete means the same whatever else could be abbreviated to it. Mutant: a
// prefix that wins over the name.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a\n--mtu\n5", "--all", "-lfjson\n--\n-x", "--tag=\n--wait\nx", "-", "--=", "-c", "--os-c=x\nn", "--e\nipv4\nz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		cmd := sample()
		v, err := command.Parse(&cmd, command.Globals(), args)
		if err != nil {
			if _, ok := errors.AsType[*command.UsageError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if !complete(&cmd, args) {
			return
		}
		more := sample()
		for _, name := range []string{"mtu-max", "al", "shared", "tag-also", "wa"} {
			more.Flags = append(more.Flags, command.Flag{Name: name, Help: "h"})
		}
		again, err := command.Parse(&more, command.Globals(), args)
		if err != nil {
			t.Fatalf("%q: %v with more flags", args, err)
		}
		for _, fl := range cmd.Flags {
			if !slices.Equal(v.Texts(fl.Name), again.Texts(fl.Name)) {
				t.Fatalf("%q: %s is %q, with more flags %q", args, fl.Name, v.Texts(fl.Name), again.Texts(fl.Name))
			}
		}
	})
}

// complete reports whether every word with two dashes is the full name of a flag.
func complete(cmd *command.Command, args []string) bool {
	for _, a := range args {
		name, long := strings.CutPrefix(a, "--")
		name, _, _ = strings.Cut(name, "=")
		if long && !slices.ContainsFunc(slices.Concat(cmd.Flags, command.Globals()), func(f command.Flag) bool { return f.Name == name }) {
			return false
		}
	}
	return true
}

func TestTheSampleIsDeclaredAsItShould(t *testing.T) {
	t.Parallel()
	cmd := sample()
	cmd.Run = nil
	if got := command.Check(&cmd); !slices.Equal(got, []string{"no Run"}) {
		t.Errorf("found %q", got)
	}
}

func TestAWrongDeclarationIsFound(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*command.Command){
		"no Short":           func(c *command.Command) { c.Short = "" },
		"Short is to be one": func(c *command.Command) { c.Short = "Do it." },
		"is also flag":       func(c *command.Command) { c.Flags = append(c.Flags, command.Flag{Name: "mtu", Help: "h"}) },
		"f is also flag": func(c *command.Command) {
			c.Flags = append(c.Flags, command.Flag{Name: "force", Short: "f", Help: "h"})
		},
		"bad name": func(c *command.Command) { c.Flags = append(c.Flags, command.Flag{Name: "--mtu2", Help: "h"}) },
		"no Help":  func(c *command.Command) { c.Flags = append(c.Flags, command.Flag{Name: "x-y"}) },
		"it has no Value": func(c *command.Command) {
			c.Flags = append(c.Flags, command.Flag{Name: "x-y", Help: "h", Type: command.Int})
		},
		"Keys are for records":  func(c *command.Command) { c.Flags[2].Keys = []string{"a"} },
		"need no default":       func(c *command.Command) { c.Flags[4].Required = true },
		"expected a number":     func(c *command.Command) { c.Flags[4].Default = "much" },
		"no flag typo":          func(c *command.Command) { c.Exclusive = []string{"mtu typo"} },
		"fewer than two":        func(c *command.Command) { c.Exclusive = []string{"mtu"} },
		"write it <name>":       func(c *command.Command) { c.Args[0].Name = "name" },
		"argument <name>: no H": func(c *command.Command) { c.Args[0].Help = "" },
		"is there twice":        func(c *command.Command) { c.Args = append(c.Args, c.Args[0]) },
		"a second one":          func(c *command.Command) { c.Args[0].Many = true },
		"after an optional one": func(c *command.Command) { c.Args = append(c.Args, command.Arg{Name: "<z>", Help: "h"}) },
		"OptIn is for listings": func(c *command.Command) { c.OptIn, c.Output = []string{"A"}, command.Shown },
	} {
		cmd := sample()
		change(&cmd)
		if found := strings.Join(command.Check(&cmd), "\n"); !strings.Contains(found, want) {
			t.Errorf("found %q, want %q", found, want)
		}
	}
}
