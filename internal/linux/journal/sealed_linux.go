package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// sealed returns a file in memory that nobody can change any more: the journal
// takes no other.
func sealed(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("journal entry", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "journal entry")
	if _, err := file.Write(content); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, errors.Join(os.NewSyscallError("fcntl", err), file.Close())
	}
	return file, nil
}
