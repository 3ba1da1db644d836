// Package hosttest has the doubles of package host: a runner that replays a
// transcript, and paths below a directory of the test.
package hosttest

import (
	"os"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// TB is what the doubles need of a *testing.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

// Paths returns paths under a root of their own, removed with the test. Nothing
// is created but the root. It is kept short: a unix socket path has 107 bytes.
func Paths(tb TB) host.Paths {
	tb.Helper()
	root, err := os.MkdirTemp("", "hf")
	if err != nil {
		tb.Fatalf("make a root: %v", err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			tb.Errorf("remove the root: %v", err)
		}
	})
	return host.Paths{Root: root}
}
