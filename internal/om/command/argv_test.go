package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/command"
)

func words() command.Words {
	return command.Words{
		Commands:   []string{"svc", "vol", "cfg", "sec", "usr", "nscfg", "ccfg", "all", "node", "cluster", "daemon", "monitor", "mon", "completion", "exec", "config", "help", "version"},
		Selecting:  []string{"svc", "vol", "cfg", "sec", "usr", "nscfg", "ccfg", "all", "monitor", "mon"},
		ValueFlags: []string{"--color", "--server", "-o"},
	}
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, args, want string }{
		{"a bare name is a service", "hello start", "svc -s hello start"},
		{"a path goes to its kind", "ns1/vol/data instance status", "vol -s ns1/vol/data instance status"},
		{"a short path goes to its kind", "sec/keys ls", "sec -s sec/keys ls"},
		{"a namespace is its configuration", "test/ config show", "nscfg -s test/ config show"},
		{"a glob goes to all", "web* ls", "all -s web* ls"},
		{"a union goes to all", "a,b ls", "all -s a,b ls"},
		{"a configuration expression goes to all", "app#1.type=simple ls", "all -s app#1.type=simple ls"},
		{"a negation goes to all", "!web* ls", "all -s !web* ls"},
		{"a dash reads the selection on standard input", "- ls", "all -s - ls"},
		{"an invalid name goes to all, which refuses it", "Hello start", "all -s Hello start"},
		{"a command stays", "node ls", "node ls"},
		{"cluster is a command", "cluster config show", "cluster config show"},
		{"the canonical form stays", "svc -s hello start", "svc -s hello start"},
		{"leading switches are skipped", "-q --debug hello start", "-q --debug svc -s hello start"},
		{"a leading flag and its value are skipped", "--color no hello start", "--color no svc -s hello start"},
		{"a leading flag with an attached value is skipped", "--color=no hello start", "--color=no svc -s hello start"},
		{"a leading flag without its value stays", "--color", "--color"},
		{"an unknown leading flag is skipped, the parser refuses it", "--nosuch hello start", "--nosuch svc -s hello start"},
		{"the selector before the verb", "--service hello print status", "svc -s hello print status"},
		{"the selector before the verb, after other flags", "-q --color no --selector=web* ls", "-q --color no all -s web* ls"},
		{"the selector before its command", "-s hello svc start", "svc -s hello start"},
		{"the selector before the monitor", "-s web* -o json mon", "-o json mon -s web*"},
		{"the selector before a verb that has the name of a command", "-s hello config show", "svc -s hello config show"},
		{"the selector without a verb", "-s hello", "svc -s hello"},
		{"a selector without its value stays", "--service", "--service"},
		{"completing after the selector", "__complete -s hello sta", "__complete svc -s hello sta"},
		{"flags after the verb stay", "hello start --wait -o json", "svc -s hello start --wait -o json"},
		{"nothing stays nothing", "", ""},
		{"only flags stay", "--version", "--version"},
		{"a double dash ends the rewriting", "-- hello", "-- hello"},
		{"completing after a selector", "__complete hello sta", "__complete svc -s hello sta"},
		{"completing without descriptions", "__completeNoDesc web* sta", "__completeNoDesc all -s web* sta"},
		{"the first word is not finished", "__complete hel", "__complete hel"},
		{"completing after a command", "__complete node l", "__complete node l"},
		{"completing after flags and a selector", "__complete --color no hello s", "__complete --color no svc -s hello s"},
		{"completing nothing", "__complete", "__complete"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(strings.Fields(c.want), command.Rewrite(words(), strings.Fields(c.args))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRewriteKeepsAnEmptyWord(t *testing.T) {
	t.Parallel()
	want := []string{"__complete", "svc", "-s", "hello", ""}
	if diff := cmp.Diff(want, command.Rewrite(words(), []string{"__complete", "hello", ""})); diff != "" {
		t.Error(diff)
	}
}

func TestRewriteIsIdempotent(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(
		rapid.SampledFrom([]string{"svc", "all", "node", "-s", "--service", "--selector=x", "-o", "-", "--", "", "--color", "-q", "hello", "web*", "a,b", "ns/vol/x", "__complete"}),
		rapid.StringMatching(`[-a-zA-Z0-9#=*/,.]{0,8}`))
	rapid.Check(t, func(t *rapid.T) {
		checkRewrite(t, rapid.SliceOfN(word, 0, 6).Draw(t, "args"))
	})
}

func FuzzRewrite(f *testing.F) {
	for _, s := range []string{"hello start", "- ls", "__complete hello ", "--color no x ls", "-- x", "web* ls", "ns/vol/x", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) { checkRewrite(t, strings.Split(line, " ")) })
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkRewrite verifies what holds for every command line: rewriting twice is
// rewriting once, every word given is still there in order, and at most a
// subsystem and "-s" were added.
func checkRewrite(t failer, args []string) {
	t.Helper()
	given := slices.Clone(args)
	once := command.Rewrite(words(), args)
	if twice := command.Rewrite(words(), once); !slices.Equal(once, twice) {
		t.Fatalf("%q: rewritten once %q, twice %q", given, once, twice)
	}
	if !slices.Equal(given, args) {
		t.Fatalf("the arguments given were modified: %q, now %q", given, args)
	}
	if slices.ContainsFunc(given, func(w string) bool { return strings.HasPrefix(w, "-s") || strings.HasPrefix(w, "--se") }) {
		return // a selector in front moves behind its command
	}
	if n := len(once) - len(args); n != 0 && n != 2 {
		t.Fatalf("%q: %d words added: %q", given, n, once)
	}
	rest := given
	for _, w := range once {
		if len(rest) > 0 && w == rest[0] {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		t.Fatalf("%q: lost %q in %q", given, rest, once)
	}
}
