package executor

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// tailSize bounds the last words of a command that failed.
const tailSize = 2 << 10

// capture is the output of a child, in memory that goes away with the last of
// those who hold it: the daemon may die first, or the child.
type capture struct{ file *os.File }

func newCapture() (capture, error) {
	fd, err := unix.MemfdCreate("exec", unix.MFD_CLOEXEC)
	if err != nil {
		return capture{}, os.NewSyscallError("memfd_create", err)
	}
	return capture{file: os.NewFile(uintptr(fd), "output of an exec")}, nil
}

// tail is the end of what was written.
func (c capture) tail() string {
	if c.file == nil {
		return ""
	}
	end, err := c.file.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	b := make([]byte, min(end, tailSize))
	n, _ := c.file.ReadAt(b, end-int64(len(b))) // what was read is told, little as it may be
	return string(b[:n])
}

func (c capture) close() {
	if c.file != nil {
		_ = c.file.Close() // nothing is kept of it
	}
}
