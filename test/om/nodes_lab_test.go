//go:build lab

package om_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestNodes has two daemons of one cluster, each in name spaces of its own: root may
// give a process another host name and another /etc/hosts.
func TestNodes(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files: []string{"lab/nodes.txtar", "lab/heartbeats.txtar"}, Setup: setup, Cmds: commands(), Condition: condition, RequireExplicitExec: true,
	})
}

// TestMembers has nodes enrolled, evicted, and killed meanwhile.
func TestMembers(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files: []string{"lab/members.txtar", "lab/members_killed.txtar"}, Setup: setup, Cmds: commands(), Condition: condition, RequireExplicitExec: true,
	})
}
