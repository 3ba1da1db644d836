package instance

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is when the host booted, by the present wall clock; the zero time
// when the kernel does not say.
func bootTime() time.Time {
	var up unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(up.Nano()))
}
