// Package configtest has the configuration that the tests of the packages beside it
// share: the five environments of the conformance cases.
package configtest

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// File reads the configuration. It is one of its own for each test: they change it.
func File(tb testing.TB) *config.File {
	tb.Helper()
	text, err := os.ReadFile("../config/testdata/checked-in.toml")
	if err != nil {
		tb.Fatal(err)
	}
	f, err := config.Parse("bootstrap.toml", text, func(string, []string) (string, bool) { return "", false })
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// Settings are those of an environment, with variables as "NAME=value". The first of
// a name holds.
func Settings(tb testing.TB, verb config.Verb, profile string, env ...string) *config.Settings {
	tb.Helper()
	s, err := File(tb).Resolve(verb, profile, func(name string) (string, bool) {
		for _, pair := range env {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value, true
			}
		}
		return "", false
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
