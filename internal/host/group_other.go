//go:build !linux

package host

import (
	"errors"
	"syscall"
)

// groupRuns tells whether a process group has a member.
func groupRuns(id int) bool { return !errors.Is(syscall.Kill(-id, 0), syscall.ESRCH) }
