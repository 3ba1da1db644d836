package koc_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/koc"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

const reference = "../../docs/reference/koc"

func TestEveryCommandIsDeclaredAsItShould(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, s := range koc.New("test").All() {
		for _, e := range s.Entries() {
			if other, twice := seen[e.Name]; twice {
				t.Errorf("%s: a command of %s and of %s", e.Name, other, s.Name)
			}
			seen[e.Name] = s.Name
			if strings.Join(strings.Fields(e.Name), " ") != e.Name || strings.ToLower(e.Name) != e.Name {
				t.Errorf("%q: bad words", e.Name)
			}
			cmd := e.Build()
			for _, wrong := range command.Check(&cmd) {
				t.Errorf("%s: %s", e.Name, wrong)
			}
		}
	}
}

// TestTheFirstWordsOfAServiceAreDeclared: a line that begins with a word of one
// service looks at no other, so each must say all of its own.
func TestTheFirstWordsOfAServiceAreDeclared(t *testing.T) {
	t.Parallel()
	for _, s := range koc.New("test").Services() {
		var words []string
		for _, e := range s.Entries() {
			word, _, _ := strings.Cut(e.Name, " ")
			words = append(words, word)
		}
		slices.Sort(words)
		declared := strings.Fields(s.Words)
		for _, word := range slices.Compact(words) {
			if !slices.Contains(declared, word) {
				t.Errorf("%s: %s is not in Words", s.Name, word)
			}
		}
	}
}

// TestEveryNameCanBeAsked builds a command line from nothing but defaults and asks for
// every name that is declared.
func TestEveryNameCanBeAsked(t *testing.T) {
	t.Parallel()
	for _, s := range koc.New("test").All() {
		for _, e := range s.Entries() {
			cmd := e.Build()
			cmd.Exclusive = nil
			for i := range cmd.Args {
				cmd.Args[i].Optional = true
			}
			for i := range cmd.Flags {
				cmd.Flags[i].Required = false
			}
			v, err := command.Parse(&cmd, command.Globals(), nil)
			if err != nil {
				t.Errorf("%s: %v", e.Name, err)
				continue
			}
			for _, f := range cmd.Flags {
				if v.Given(f.Name) || v.Text(f.Name) != f.Default {
					t.Errorf("%s: %s is %q before anybody gave it", e.Name, f.Name, v.Text(f.Name))
				}
			}
		}
	}
}

// TestAFullLineMeansOneCommand asks every command for its help by its full words,
// with an argument behind them that could be taken for the beginning of a further
// word. Mutants it catches: words that are abbreviated below a command, a longest
// match that is not looked for.
func TestAFullLineMeansOneCommand(t *testing.T) {
	t.Parallel()
	p := koc.New("test")
	services := p.Services()
	p.Services = func() []command.Service { return slices.Clone(services) }
	var names []string
	for _, s := range p.All() {
		for _, e := range s.Entries() {
			names = append(names, e.Name)
		}
	}
	for _, name := range names {
		arguments := []string{"x"}
		for _, other := range names {
			if rest, below := strings.CutPrefix(other, name+" "); below {
				arguments = append(arguments, rest[:1], strings.Fields(rest)[0]+"x")
			}
		}
		for _, argument := range arguments {
			if name == "help" {
				continue
			}
			got := run1(t, p, append(strings.Fields(name), argument, "--help")...)
			if !strings.Contains(got, "\nUsage: koc "+name+" [flags]") && !strings.Contains(got, "\nUsage: koc "+name+" <") && !strings.Contains(got, "\nUsage: koc "+name+"\n") {
				t.Errorf("%s %s --help:\n%s", name, argument, got)
			}
		}
	}
}

// TestFlagsMayStandBeforeTheWords puts every flag of every command in front of its
// words, with a value that is no word.
func TestFlagsMayStandBeforeTheWords(t *testing.T) {
	t.Parallel()
	p := koc.New("test")
	services := p.Services()
	for i := range services {
		entries := services[i].Entries()
		services[i].Entries = func() []command.Entry { return entries }
	}
	p.Services = func() []command.Service { return slices.Clone(services) }
	for _, s := range services {
		for _, e := range s.Entries() {
			cmd := e.Build()
			for _, f := range cmd.Flags {
				line := []string{f.Dashed()}
				if f.Value != "" && f.Optional == "" {
					line = append(line, sampleValue(&f))
				}
				if f.Required || line[len(line)-1] == "" {
					continue
				}
				got := run1(t, p, append(append(line, strings.Fields(e.Name)...), "--help")...)
				if !strings.Contains(got, "\nUsage: koc "+e.Name) {
					t.Errorf("%s: %s\n%s", f.Dashed(), e.Name, got)
				}
			}
		}
	}
}

// sampleValue is a value that a flag takes, "" when it is hard to find.
func sampleValue(f *command.Flag) string {
	switch {
	case len(f.Choices) > 0:
		return f.Choices[0]
	case f.Type == command.Text, f.Type == command.Commas:
		return "zzz"
	case f.Type == command.KeyValue, f.Type == command.KeyList:
		return "k=v"
	case f.Type == command.Records:
		return ""
	}
	return "7"
}

// TestAPrefixMeansTheSameInTheWholeTree shortens first words: what a run finds among
// the services it looks at is what it would find among all.
func TestAPrefixMeansTheSameInTheWholeTree(t *testing.T) {
	t.Parallel()
	p := koc.New("test")
	var words []string
	for _, s := range p.All() {
		for _, e := range s.Entries() {
			word, _, _ := strings.Cut(e.Name, " ")
			words = append(words, word)
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	for _, word := range words {
		for n := 1; n <= len(word); n++ {
			prefix := word[:n]
			meant := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, prefix) })
			if slices.Contains(words, prefix) {
				meant = []string{prefix}
			}
			streams, _, out, _ := iostreams.Test()
			proc := program.Process{Name: "koc", Args: []string{prefix, "--help"}, Env: func(string) string { return "" }, Streams: streams}
			code := p.Run(t.Context(), proc)
			switch {
			case slices.Equal(meant, []string{"help"}): // of the whole program
			case len(meant) == 1 && !strings.Contains(out.String(), "Usage: koc "+meant[0]+" "):
				t.Errorf("%s is not %s:\n%s", prefix, meant[0], out)
			case len(meant) > 1 && (code != 2 || out.Len() > 0):
				t.Errorf("%s means one of %q, exit code %d:\n%s", prefix, meant, code, out)
			}
		}
	}
}

// run1 runs a line that must succeed and returns what it prints.
func run1(t *testing.T, p *command.Program, args ...string) string {
	t.Helper()
	streams, _, out, stderr := iostreams.Test()
	proc := program.Process{Name: "koc", Args: args, Env: func(string) string { return "" }, Streams: streams}
	if code := p.Run(t.Context(), proc); code != 0 {
		t.Errorf("%q: exit code %d: %s", args, code, stderr)
	}
	return out.String()
}

func TestTheReferenceOfKocIsWhatItDoes(t *testing.T) {
	t.Parallel()
	p := koc.New("test")
	pages := map[string]string{}
	var index bytes.Buffer
	fmt.Fprintf(&index, "# koc\n\n%s. Every command also has the flags of the kinds below.\n\n", p.Short)
	fmt.Fprintf(&index, "* [Coverage](coverage.md): what the openstack client has, command by command\n")
	for _, s := range p.All() {
		if len(s.Entries()) == 0 {
			continue
		}
		fmt.Fprintf(&index, "* [%s](%s.md): %d commands\n", s.Title, s.Name, len(s.Entries()))
		pages[s.Name+".md"] = servicePage(p, s)
	}
	index.WriteString("\n```text")
	p.ReferenceFlags(&index)
	index.WriteString("```\n")
	pages["README.md"] = index.String()
	comparePages(t, pages)
}

func servicePage(p *command.Program, s command.Service) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", s.Title)
	entries := slices.Clone(s.Entries())
	slices.SortFunc(entries, func(x, y command.Entry) int { return strings.Compare(x.Name, y.Name) })
	for _, e := range entries {
		cmd := e.Build()
		fmt.Fprintf(&b, "\n## %s %s\n\n```text\n", p.Name, e.Name)
		p.Reference(&b, e.Name, &cmd)
		b.WriteString("```\n")
	}
	return b.String()
}

// comparePages compares pages of the reference with what they should be, or writes
// them.
func comparePages(t *testing.T, pages map[string]string) {
	t.Helper()
	for name, want := range pages {
		file := filepath.Join(reference, name)
		if *update {
			if err := os.MkdirAll(reference, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; make docs writes it", err)
			continue
		}
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(have), "\n")); diff != "" {
			t.Errorf("%s is not up to date: run make docs\n%s", file, diff)
		}
	}
}
