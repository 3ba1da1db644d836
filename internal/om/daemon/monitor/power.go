package monitor

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// SysRq takes the node down through the kernel, without a word to anybody: that
// is what monitor actions are for. An agent that lives under a root of its own
// never does it.
type SysRq struct{ Paths host.Paths }

var _ Power = SysRq{}

// Reboot writes what is in memory to the disks, then boots the node again.
func (s SysRq) Reboot() error {
	if s.Paths.Root == "" {
		syscall.Sync()
	}
	return s.trigger("b")
}

// Crash makes the kernel panic.
func (s SysRq) Crash() error { return s.trigger("c") }

func (s SysRq) trigger(command string) error {
	if s.Paths.Root != "" {
		return errors.New("take the node down: not by an agent that lives under a root of its own")
	}
	err := os.WriteFile("/proc/sysrq-trigger", []byte(command), 0)
	if errors.Is(err, os.ErrNotExist) { // a kernel without it boots again at once
		err = syscall.Reboot(syscall.LINUX_REBOOT_CMD_RESTART)
	}
	if err != nil {
		return fmt.Errorf("take the node down: %w", err)
	}
	return nil
}
