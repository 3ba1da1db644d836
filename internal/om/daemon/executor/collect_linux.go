package executor

import (
	"errors"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
)

// collect waits for a child of this process, and reports false when it is none.
func collect(child proc.Identity) (syscall.WaitStatus, bool) {
	if child.IsZero() || !child.ThisBoot() {
		return 0, false
	}
	if now, err := proc.Stat(child.Pid); err != nil || now.StartTime != child.StartTime {
		return 0, false
	}
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(child.Pid, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		return status, err == nil && got == child.Pid
	}
}
