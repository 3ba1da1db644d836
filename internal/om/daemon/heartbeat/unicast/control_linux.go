package unicast

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// control ties a socket to an interface, and bounds how long what it sends may stay
// unanswered.
func control(intf string, silence time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		outer := c.Control(func(fd uintptr) {
			if silence > 0 {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
			}
			if intf != "" && err == nil {
				err = unix.BindToDevice(int(fd), intf)
			}
		})
		if err != nil {
			err = fmt.Errorf("leave by the interface %s: %w", intf, err)
		}
		return errors.Join(outer, err)
	}
}
