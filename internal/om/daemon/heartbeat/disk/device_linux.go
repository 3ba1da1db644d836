package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Device is what is read and written, past every cache of this host.
type Device interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Open opens a device. A regular file does as well, for tests: what caches it is this
// host alone.
func Open(name string) (Device, int64, error) {
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_DIRECT|unix.O_SYNC|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EINVAL) && isRegular(name) {
		f, err = os.OpenFile(name, os.O_RDWR|unix.O_SYNC|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && (info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0) {
		err = fmt.Errorf("%s is not a block device", name)
	}
	var size int64
	if err == nil {
		size, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, size, nil
}

func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// aligned returns bytes that begin where the device can read and write them.
func aligned(size int) []byte {
	b := make([]byte, size+pageSize)
	shift := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (pageSize - 1)) //nolint:gosec // only where it begins is looked at
	return b[shift : shift+size : shift+size]
}
