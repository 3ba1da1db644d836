package writer

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Busy reports whether a process has a file open for writing: what it holds may be half
// of what it will. Where the kernel does not tell, nobody has.
func Busy(name string) (bool, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // read only
	// A read lease is refused for a file that is open for writing. Who opens it while
	// the lease lasts waits for its end, which is at once.
	switch _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); {
	case errors.Is(err, unix.EAGAIN):
		return true, nil
	case err != nil:
		return false, nil // no leases on this file system, or for this account
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
		return false, fmt.Errorf("give the lease of %s back: %w", name, err)
	}
	return false, nil
}
