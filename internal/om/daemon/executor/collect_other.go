//go:build !linux

package executor

import (
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
)

// collect collects nothing: processes have no identity here.
func collect(proc.Identity) (syscall.WaitStatus, bool) { return 0, false }
