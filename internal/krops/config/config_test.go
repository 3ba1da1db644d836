package config_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

var update = flag.Bool("update", false, "rewrite the reference pages")

// load reads a file of testdata.
func load(t *testing.T, name string) *config.File {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse(name, text, app.Nearest)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func checkedIn(t *testing.T) *config.File { t.Helper(); return load(t, "checked-in.toml") }

// variables is an environment of a few variables.
func variables(pairs ...string) config.Lookup {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if key, value, _ := strings.Cut(p, "="); key == name {
				return value, true
			}
		}
		return "", false
	}
}

func resolve(t *testing.T, f *config.File, verb config.Verb, profile string, env ...string) *config.Settings {
	t.Helper()
	s, err := f.Resolve(verb, profile, variables(append(env, "HOME=/home/op")...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// same fails unless the values are those wanted, given in pairs.
func same(t *testing.T, pairs ...any) {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if diff := cmp.Diff(pairs[i+1], pairs[i]); diff != "" {
			t.Errorf("value %d (-want +got):\n%s", i/2, diff)
		}
	}
}

// refused fails unless the error says want.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one saying %q", err, want)
	}
}
