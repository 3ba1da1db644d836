//go:build !linux

package unicast

import (
	"syscall"
	"time"
)

// control leaves sockets as they are: the agent runs on linux.
func control(string, time.Duration) func(network, address string, c syscall.RawConn) error {
	return nil
}
