// Package loop makes block devices of files. A device is always told by the file it
// is backed by, as the kernel knows it: its number may be another one after a reboot.
package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

const (
	control = "/dev/loop-control"
	sysfs   = "/sys/block"
	// attempts bounds the race for a free device with the other programs of the host.
	attempts = 64
)

// Find lists the devices that are backed by a file, as "/dev/loop3". A file that does
// not exist backs none: one that was removed is not the one of its name.
func Find(file string) ([]string, error) {
	its, err := Of(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return FindBacked(its)
}

// Backing is a file as the kernel knows it, whatever its name is by now.
type Backing struct{ Device, Inode uint64 }

// Of tells which file has a name.
func Of(file string) (Backing, error) {
	info, err := os.Stat(file)
	if err != nil {
		return Backing{}, err
	}
	its, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Backing{}, fmt.Errorf("%s: its number is not known", file)
	}
	return Backing{Device: its.Dev, Inode: its.Ino}, nil
}

// FindBacked lists the devices that are backed by a file, even one that was removed or
// has another name by now.
func FindBacked(its Backing) ([]string, error) {
	names, err := bound()
	if err != nil {
		return nil, err
	}
	var devices []string
	for _, name := range names {
		is, err := backs(name, its)
		if err != nil {
			return nil, err
		}
		if is {
			devices = append(devices, "/dev/"+name)
		}
	}
	return devices, nil
}

// bound lists the devices that are backed by some file, by their numbers.
func bound() ([]string, error) {
	backed, err := filepath.Glob(sysfs + "/loop*/loop/backing_file")
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(backed))
	for _, file := range backed {
		names = append(names, filepath.Base(filepath.Dir(filepath.Dir(file))))
	}
	slices.SortFunc(names, func(a, b string) int { return number(a) - number(b) })
	return names, nil
}

func number(name string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "loop"))
	return n
}

// backs tells whether a device is backed by a file.
func backs(name string, file Backing) (bool, error) {
	device, err := os.OpenFile("/dev/"+name, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENXIO) {
		return false, nil // gone meanwhile
	}
	if err != nil {
		return false, fmt.Errorf("look whether /dev/%s is backed by the file: %w", name, err)
	}
	defer func() { _ = device.Close() }()
	var info *unix.LoopInfo64
	err = within(device, func(fd int) (err error) {
		info, err = unix.IoctlLoopGetStatus64(fd)
		return err
	})
	if errors.Is(err, unix.ENXIO) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether /dev/%s is backed by the file: %w", name, err)
	}
	return Backing{Device: info.Device, Inode: info.Inode} == file, nil
}

// Attach makes a device of a file, and returns its name.
func Attach(file string) (device string, err error) {
	backing, err := os.OpenFile(file, os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = backing.Close() }()
	c, err := os.OpenFile(control, os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("ask for a loop device: %w", err)
	}
	defer func() { _ = c.Close() }()
	for range attempts {
		var free int
		err := within(c, func(fd int) (err error) {
			free, err = unix.IoctlRetInt(fd, unix.LOOP_CTL_GET_FREE)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("ask for a loop device: %w", err)
		}
		device = "/dev/loop" + strconv.Itoa(free)
		err = bind(device, backing)
		if errors.Is(err, unix.EBUSY) {
			continue // another program was faster
		}
		if err != nil {
			return "", fmt.Errorf("make %s of %s: %w", device, file, err)
		}
		return device, nil
	}
	return "", fmt.Errorf("make a loop device of %s: other programs take each free one first", file)
}

func bind(device string, backing *os.File) error {
	d, err := os.OpenFile(device, os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	config := unix.LoopConfig{Fd: uint32(backing.Fd()), Info: unix.LoopInfo64{}} //nolint:gosec // a descriptor is small
	copy(config.Info.File_name[:len(config.Info.File_name)-1], backing.Name())
	err = within(d, func(fd int) error { return unix.IoctlLoopConfigure(fd, &config) })
	return errors.Join(err, d.Close())
}

// patience is how long those who only look at a device, as udev does, are waited for.
const patience = 5 * time.Second

// Detach unbinds a device that is backed by a file. The device goes when the last who
// uses it closes it: one that is still there after a while is in use, which is an error.
func Detach(ctx context.Context, device, file string) error {
	its, err := Of(file)
	if err != nil {
		return err
	}
	return DetachBacked(ctx, device, its)
}

// DetachBacked is [Detach] for a file that may have been removed.
func DetachBacked(ctx context.Context, device string, its Backing) error {
	d, err := os.OpenFile(device, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENXIO) {
		return nil
	}
	if err != nil {
		return err
	}
	err = within(d, func(fd int) error { return unix.IoctlSetInt(fd, unix.LOOP_CLR_FD, 0) })
	if errors.Is(err, unix.ENXIO) {
		err = nil
	}
	if err := errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("detach %s: %w", device, err)
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = retry.Until(limited, retry.Policy{Interval: 5 * time.Millisecond, Max: 200 * time.Millisecond}, func(context.Context) (bool, error) {
		left, err := FindBacked(its)
		return !slices.Contains(left, device), err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%s is in use%s: it goes once nobody uses it", device, holders(device))
	}
	return err
}

// holders names the devices made of a device.
func holders(device string) string {
	entries, err := os.ReadDir(filepath.Join(sysfs, filepath.Base(device), "holders"))
	if err != nil || len(entries) == 0 {
		return ""
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return " by " + strings.Join(names, ", ")
}

// within calls f with the descriptor of a file.
func within(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = conn.Control(func(fd uintptr) { inner = f(int(fd)) })
	return errors.Join(err, inner)
}
