package whole

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// nameless opens a file without a name in a directory: what becomes of it when the
// process ends is nothing.
func nameless(dir string, mode fs.FileMode) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), dir)
	if _, err := os.Stat(handle(f)); err != nil { // without /proc it could not be named
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// name gives such a file its name, unless there is one of it.
func name(f *os.File, path string) error {
	if err := unix.Linkat(unix.AT_FDCWD, handle(f), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &fs.PathError{Op: "create", Path: path, Err: err}
	}
	return nil
}

func handle(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
