//go:build !linux

package host

import "os/exec"

// born starts a command: this system has no control groups.
func born(_ string, build func() *exec.Cmd) (*exec.Cmd, error) {
	cmd := build()
	return cmd, cmd.Start()
}
