//go:build lab

package om_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
)

// TestMedia has three daemons hear one another by multicast, through a disk and through
// a relay, in a network of their own.
func TestMedia(t *testing.T) {
	t.Parallel()
	if hosttest.Isolate(t, "mkdir -p /run/netns; mount -t tmpfs none /run/netns; ip link set lo up") {
		inLab(t, "lab/media.txtar")
	}
}
