package hosttest

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// isolated is set in the environment of a test that runs in name spaces of its own.
const isolated = "HOLDFAST_TEST_ISOLATED"

// Isolate runs the calling test once more, as root, in network and mount name spaces
// of its own which a script of the shell prepares: nothing of it stays on the host. It
// tells whether this is that run: a test returns else. $0 is a directory of the test.
func Isolate(t *testing.T, prepare string) bool {
	t.Helper()
	if os.Getenv(isolated) == t.Name() { //nolint:forbidigo // a switch of the test run, not of the product
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := host.NewRunner().Run(t.Context(), host.Cmd{
		Argv: []string{
			"unshare", "--net", "--mount", "sh", "-c", "set -e\n" + prepare + "\nexec \"$@\"", t.TempDir(),
			self, "-test.run=^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$", "-test.v",
		},
		Env: append(os.Environ(), isolated+"="+t.Name()),
	})
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.Stdout, out.Stderr)
	}
	t.Logf("%s", out.Stdout)
	return false
}

// Sh runs a command of a test, and returns what it printed.
func Sh(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := host.NewRunner().Run(context.WithoutCancel(t.Context()), host.Cmd{Argv: argv}) // a cleanup runs commands too
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Stdout)
	}
	return string(out.Stdout)
}
