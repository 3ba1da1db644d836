//go:build lab

package om_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
)

// TestStorage has a filesystem on a loop device, where nobody else sees its mounts.
func TestStorage(t *testing.T) {
	t.Parallel()
	if hosttest.Isolate(t, ":") {
		inLab(t, "lab/storage.txtar")
	}
}

// TestAddress has an address move between two hosts of a network of their own.
func TestAddress(t *testing.T) {
	t.Parallel()
	if hosttest.Isolate(t, "mkdir -p /run/netns; mount -t tmpfs none /run/netns") {
		inLab(t, "lab/address.txtar")
	}
}

func inLab(t *testing.T, script string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Files: []string{script}, Setup: setup, Cmds: commands(), Condition: condition, RequireExplicitExec: true,
	})
}
