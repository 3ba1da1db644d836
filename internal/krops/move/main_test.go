package move_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain keeps the sequences of crashes few unless it is told how many: each
// makes whole moves.
func TestMain(m *testing.M) {
	if !slices.ContainsFunc(os.Args, func(a string) bool { return strings.Contains(a, "rapid.checks") }) {
		if err := flag.Set("rapid.checks", "12"); err != nil {
			panic(err)
		}
	}
	m.Run()
}
