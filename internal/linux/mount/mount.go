// Package mount mounts filesystems, by the calls of the kernel, and tells what is
// mounted where and who uses it.
package mount

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Point is a filesystem at a directory.
type Point struct {
	ID       int
	Device   uint64 // its number, as stat has it
	Dir      string
	Type     string
	Source   string // as it was given to mount
	ReadOnly bool   // of the mount or of the whole filesystem
}

// Place is a directory as the kernel names it: without the links that lead to it. The
// directory itself need not exist.
func Place(dir string) (string, error) {
	dir = filepath.Clean(dir)
	if dir == "/" {
		return dir, nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if errors.Is(err, os.ErrNotExist) {
		return dir, nil
	}
	return filepath.Join(parent, filepath.Base(dir)), err
}

// At lists what is mounted at a directory, each hiding those before it.
func At(dir string) ([]Point, error) {
	place, err := Place(dir)
	if err != nil {
		return nil, err
	}
	return list(func(i *mountinfo.Info) (skip, stop bool) { return i.Mountpoint != place, false })
}

// Of lists where a block device is mounted.
func Of(device uint64) ([]Point, error) {
	major, minor := int(unix.Major(device)), int(unix.Minor(device))
	return list(func(i *mountinfo.Info) (skip, stop bool) { return i.Major != major || i.Minor != minor, false })
}

func list(filter mountinfo.FilterFunc) ([]Point, error) {
	infos, err := mountinfo.GetMounts(filter)
	if err != nil {
		return nil, fmt.Errorf("list the mounts: %w", err)
	}
	points := make([]Point, len(infos))
	for i, m := range infos {
		points[i] = Point{
			ID: m.ID, Device: unix.Mkdev(uint32(m.Major), uint32(m.Minor)), //nolint:gosec // as the kernel has them
			Dir: m.Mountpoint, Type: m.FSType, Source: m.Source,
			ReadOnly: has(m.Options, "ro") || has(m.VFSOptions, "ro"),
		}
	}
	return points, nil
}

func has(options, word string) bool {
	for o := range strings.SplitSeq(options, ",") {
		if o == word {
			return true
		}
	}
	return false
}

// Mount mounts a source at a directory. It returns when ctx ends, though the kernel may
// still be at it.
func Mount(ctx context.Context, source, dir, typ string, o Options) error {
	err := apart(ctx, func() error {
		if !o.Bind {
			return unix.Mount(source, dir, typ, o.Flags, o.Data)
		}
		if err := unix.Mount(source, dir, "", o.Flags&(unix.MS_BIND|unix.MS_REC), ""); err != nil {
			return err
		}
		if rest := o.Flags &^ (unix.MS_BIND | unix.MS_REC); rest != 0 { // the first call takes none of them
			if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|rest, ""); err != nil {
				return errors.Join(err, unix.Unmount(dir, 0))
			}
		}
		return nil
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("mount %s on %s: %w%s", source, dir, err, hint(err, typ, o))
}

// hint says what an error number means here.
func hint(err error, typ string, o Options) string {
	switch {
	case errors.Is(err, unix.EINVAL) && o.Data != "":
		return fmt.Sprintf(": it holds no %s, or the kernel does not take the options %s", typ, o.Data)
	case errors.Is(err, unix.EINVAL):
		return ": it holds no " + typ
	case errors.Is(err, unix.ENODEV):
		return ": this kernel knows no filesystem " + typ
	case errors.Is(err, unix.EBUSY):
		return ": the device is in use"
	case errors.Is(err, unix.EUCLEAN):
		return ": the filesystem is damaged: repair it"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EROFS):
		return ": the device is write-protected: set ro in the options, or promote_rw"
	}
	return ""
}

// apart runs a call that may hang.
func apart(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// BusyError tells who keeps a filesystem from being unmounted.
type BusyError struct {
	Dir   string
	Users []string
}

// Error names the users.
func (e *BusyError) Error() string {
	if len(e.Users) == 0 {
		return e.Dir + " is busy, by no process that can be seen: by an export, a swap file, or another name space"
	}
	const shown = 8
	users := e.Users
	rest := ""
	if len(users) > shown {
		users, rest = users[:shown], fmt.Sprintf(" and %d more", len(e.Users)-shown)
	}
	return fmt.Sprintf("%s is busy: %s%s", e.Dir, strings.Join(users, ", "), rest)
}

// Unmount unmounts what is on top at a directory. A filesystem in use is tried again
// for as long as patience, as processes that end let go of it; then it is a [BusyError].
func Unmount(ctx context.Context, p Point, patience time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	busy := false
	err := retry.Until(limited, retry.Policy{Interval: 10 * time.Millisecond, Max: 200 * time.Millisecond}, func(context.Context) (bool, error) {
		err := apart(ctx, func() error { return unix.Unmount(p.Dir, unix.UMOUNT_NOFOLLOW) })
		busy = errors.Is(err, unix.EBUSY)
		if busy {
			return false, nil
		}
		return true, err
	})
	switch {
	case err == nil:
		return nil
	case busy && ctx.Err() == nil:
		return &BusyError{Dir: p.Dir, Users: Users(p)}
	}
	return fmt.Errorf("unmount %s: %w", p.Dir, err)
}
