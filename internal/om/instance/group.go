package instance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
)

// groupOnce remembers that the action has said why it does not group.
type groupOnce struct{ once sync.Once }

// ungrouped says why the processes of a resource are not put in a control group.
// A host that does not allow it is worth one warning a boot. The group itself is
// made by the processes that join it.
func (x *execution) ungrouped(m *member) {
	if m.env.Cgroup != "" || !m.Spec.Processes || x.groups.reason == nil {
		return
	}
	x.grouped.once.Do(func() {
		if x.firstThisBoot(x.groups.reason) {
			m.env.Warnf("the processes are not put in a control group of their own: %s", x.groups.reason)
		}
	})
}

// firstThisBoot remembers on disk that a reason was said.
func (x *execution) firstThisBoot(reason error) bool {
	boot, err := proc.BootID()
	if err != nil {
		return true
	}
	name := filepath.Join(x.engine.Host.Paths.Var(), "node", "ungrouped")
	if b, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(b), boot) {
		return false
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return true
	}
	// Failing to remember only means saying it again.
	_ = replaceFile(name, fmt.Appendf(nil, "%s %s\n", boot, reason), 0o600)
	return true
}

// ungroup removes the control group of a resource, if nothing runs in it.
func (x *execution) ungroup(m *member) error {
	if x.groups.tree == nil || m.env.Cgroup == "" {
		return nil
	}
	return x.groups.tree.Delete(m.env.Cgroup)
}
