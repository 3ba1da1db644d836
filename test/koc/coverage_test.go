package koc_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// six are the services that must have everything.
var six = []string{"common", "compute", "identity", "image", "network", "volume"}

// upstream is a command of the openstack client.
type upstream struct {
	Name    string `json:"command"`
	Service string
	Kind    string
	Args    []upstreamArg `json:"positional"`
	Options []upstreamOption
	Mutex   []struct {
		Flags    []string
		Required bool
	}
	New bool // added after the version of the parsers: only its name is known
}

type upstreamArg struct {
	Dest, Metavar, Nargs string
}

type upstreamOption struct {
	Names    []string
	Dest     string
	Action   string
	Nargs    string
	Choices  []any
	Required bool
	Default  any
}

// takesValue reports whether the option is followed by a value.
func (o upstreamOption) takesValue() bool {
	switch o.Action {
	case "StoreTrueAction", "StoreFalseAction", "StoreConstAction":
		return false
	}
	return true
}

func upstreamCommands(t *testing.T) []upstream {
	t.Helper()
	var names map[string]struct {
		Service string
		New     bool
	}
	var all []upstream
	read := func(file string, into any) {
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	read("data/upstream-commands.json", &names)
	read("data/upstream-parsers.json", &all)
	all = slices.DeleteFunc(all, func(u upstream) bool { return u.Service == "cli" || u.Service == "object_store" })
	for _, u := range all {
		delete(names, u.Name)
	}
	for name, n := range names {
		all = append(all, upstream{Name: name, Service: n.Service, New: true})
	}
	slices.SortFunc(all, func(a, b upstream) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// gaps are what a command of ours lacks of one of upstream's.
func (u upstream) gaps(cmd *command.Command) []string {
	if u.New {
		return nil
	}
	var gaps []string
	gap := func(format string, a ...any) { gaps = append(gaps, fmt.Sprintf(format, a...)) }
	for _, o := range u.Options {
		for _, name := range o.Names {
			f := flagOf(cmd, name)
			if f == nil {
				gap("%s", name)
				continue
			}
			switch takes := f.Value != ""; {
			case o.takesValue() && !takes:
				gap("%s takes a value upstream", name)
			case !o.takesValue() && takes && f.Optional == "":
				gap("%s takes no value upstream", name)
			case o.Nargs == "?" && f.Optional == "":
				gap("%s may stand without its value upstream", name)
			}
			if (o.Action == "AppendAction" || strings.Contains(o.Action, "KeyValue")) && !repeats(f) {
				gap("%s is repeatable upstream", name)
			}
			for _, c := range o.Choices {
				if text := fmt.Sprint(c); len(f.Choices) > 0 && !slices.Contains(f.Choices, text) && !f.Fold {
					gap("%s has the choice %s upstream", name, text)
				}
			}
			if f.Required && !o.Required {
				gap("%s is not required upstream", name)
			}
		}
	}
	u.argGaps(cmd, gap)
	for _, group := range cmd.Exclusive {
		u.groupGaps(cmd, strings.Fields(strings.TrimPrefix(group, "!")), gap)
	}
	return gaps
}

func (u upstream) argGaps(cmd *command.Command, gap func(string, ...any)) {
	for i, a := range u.Args {
		if i >= len(cmd.Args) {
			gap("the argument %s", cmp.Or(a.Metavar, a.Dest))
			continue
		}
		ours := cmd.Args[i]
		if (a.Nargs == "+" || a.Nargs == "*") && !ours.Many {
			gap("%s may be several upstream", ours.Name)
		}
		if (a.Nargs == "?" || a.Nargs == "*") && !ours.Optional {
			gap("%s may be left out upstream", ours.Name)
		}
	}
	for i := len(u.Args); i < len(cmd.Args); i++ {
		if !cmd.Args[i].Optional {
			gap("there is no argument %s upstream", cmd.Args[i].Name)
		}
	}
}

// groupGaps looks for pairs of flags that we refuse together and upstream does not.
func (u upstream) groupGaps(cmd *command.Command, members []string, gap func(string, ...any)) {
	for i, a := range members {
		for _, b := range members[i+1:] {
			fa, fb := flagOf(cmd, "--"+a), flagOf(cmd, "--"+b)
			if fa == nil || fb == nil || fa.Koc || fb.Koc || !u.has("--"+a) || !u.has("--"+b) {
				continue
			}
			// Opposites that upstream lets contradict each other, the last one winning.
			together := u.dest("--"+a) == u.dest("--"+b)
			for _, m := range u.Mutex {
				together = together || slices.Contains(m.Flags, "--"+a) && slices.Contains(m.Flags, "--"+b)
			}
			if !together {
				gap("--%s and --%s may stand together upstream", a, b)
			}
		}
	}
}

// dest is the variable of an option.
func (u upstream) dest(name string) string {
	for _, o := range u.Options {
		if slices.Contains(o.Names, name) {
			return o.Dest
		}
	}
	return ""
}

func (u upstream) has(name string) bool {
	return slices.ContainsFunc(u.Options, func(o upstreamOption) bool { return slices.Contains(o.Names, name) })
}

func repeats(f *command.Flag) bool {
	several := []command.Type{command.KeyValue, command.KeyList, command.Records, command.Commas, command.JSONKeyValue}
	return f.Repeat || slices.Contains(several, f.Type)
}

func flagOf(cmd *command.Command, name string) *command.Flag {
	for i := range cmd.Flags {
		f := &cmd.Flags[i]
		bare := strings.TrimLeft(name, "-")
		if f.Name == bare || f.Short == bare || slices.Contains(f.Also, bare) {
			return f
		}
	}
	return nil
}

// tally counts what there is of a service.
type tally struct {
	commands, haveCommands, options, haveOptions int
	lines                                        []string
}

func TestEveryUpstreamCommandAndOptionIsThere(t *testing.T) {
	t.Parallel()
	ours := map[string]command.Entry{}
	for _, s := range koc.New("test").All() {
		for _, e := range s.Entries() {
			ours[e.Name] = e
			for _, alias := range e.Build().Aliases {
				ours[alias] = e
			}
		}
	}
	services := map[string]*tally{}
	var gaps []string
	for _, u := range upstreamCommands(t) {
		if services[u.Service] == nil {
			services[u.Service] = new(tally)
		}
		found := services[u.Service].add(u, ours)
		if slices.Contains(six, u.Service) {
			gaps = append(gaps, found...)
		}
	}
	gaps = append(gaps, olderGaps(t, ours)...)
	comparePages(t, map[string]string{"coverage.md": coveragePage(services)})
	known := knownGaps(t)
	for _, g := range gaps {
		if !slices.Contains(known, g) {
			t.Errorf("%s: neither there nor in data/gaps.txt", g)
		}
	}
	if stale := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return slices.Contains(gaps, k) }); len(stale) > 0 {
		if !*update {
			t.Fatalf("data/gaps.txt has lines that are no gaps, make docs deletes them: %q", stale)
		}
		forgetGaps(t, stale)
	}
}

// olderGaps are the commands and flags of the koc before this one that are not there.
func olderGaps(t *testing.T, ours map[string]command.Entry) []string {
	t.Helper()
	data, err := os.ReadFile("data/koc-commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	var gaps []string
	for line := range strings.Lines(string(data)) {
		name, flags, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		e, ok := ours[name]
		if !ok {
			gaps = append(gaps, "koc: "+name)
			continue
		}
		cmd := e.Build()
		for flag := range strings.FieldsSeq(flags) {
			if flagOf(&cmd, "--"+flag) == nil {
				gaps = append(gaps, "koc: "+name+": --"+flag)
			}
		}
	}
	return gaps
}

// forgetGaps deletes lines from the list of gaps. Adding one is for people.
func forgetGaps(t *testing.T, stale []string) {
	t.Helper()
	data, err := os.ReadFile(gapsFile)
	if err != nil {
		t.Fatal(err)
	}
	var kept strings.Builder
	for line := range strings.Lines(string(data)) {
		if !slices.Contains(stale, strings.TrimSpace(line)) {
			kept.WriteString(line)
		}
	}
	if err := os.WriteFile(gapsFile, []byte(kept.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

const gapsFile = "data/gaps.txt"

// add counts a command and returns its gaps.
func (s *tally) add(u upstream, ours map[string]command.Entry) []string {
	s.commands++
	s.options += len(u.Options)
	e, ok := ours[u.Name]
	mark := ""
	if u.New {
		mark = " †"
	}
	if !ok {
		s.lines = append(s.lines, fmt.Sprintf("| `%s`%s | no | |", u.Name, mark))
		return []string{u.Name}
	}
	s.haveCommands++
	cmd := e.Build()
	for _, o := range u.Options {
		if slices.ContainsFunc(o.Names, func(name string) bool { return flagOf(&cmd, name) != nil }) {
			s.haveOptions++
		}
	}
	missing := u.gaps(&cmd)
	s.lines = append(s.lines, fmt.Sprintf("| `%s`%s | yes | %s |", u.Name, mark, strings.Join(missing, "; ")))
	var gaps []string
	for _, m := range missing {
		gaps = append(gaps, u.Name+": "+m)
	}
	return gaps
}

func coveragePage(services map[string]*tally) string {
	var b strings.Builder
	b.WriteString("# Coverage\n\nWhat the openstack client has and whether koc has it too: python-openstackclient 6.0.0 and its plugins\n" +
		"in Debian 12, and the names of the commands that came later (†). A difference in what is accepted counts\nas missing.\n\n" +
		"| service | commands | there | options | there |\n|---|---:|---:|---:|---:|\n")
	var names []string
	for name := range services {
		names = append(names, name)
	}
	slices.Sort(names)
	var sum tally
	for _, name := range names {
		s := services[name]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", name, s.commands, s.haveCommands, s.options, s.haveOptions)
		sum.commands += s.commands
		sum.haveCommands += s.haveCommands
		sum.options += s.options
		sum.haveOptions += s.haveOptions
	}
	fmt.Fprintf(&b, "| **all** | %d | %d | %d | %d |\n", sum.commands, sum.haveCommands, sum.options, sum.haveOptions)
	for _, name := range names {
		if services[name].haveCommands == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| command | there | missing |\n|---|---|---|\n%s\n", name, strings.Join(services[name].lines, "\n"))
	}
	return b.String()
}

// knownGaps are those that wait: one a line, # before a remark.
func knownGaps(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(gapsFile)
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			known = append(known, line)
		}
	}
	return known
}
