package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// LockFD is the descriptor on which the launched process holds the lock of its
// record, when [Lock.File] is the second of the files it is given.
const LockFD = ReportFD + 1

// Lock keeps the others from launching, and from believing the record, while a
// launch is in progress:
//
//	launcher: locks, looks at the record, forks ------------> closes
//	                                        \
//	launched process:                        holds, records, executes (which closes)
//
// Both hold the same lock: the launcher may be killed at any time, the launch goes
// on and so does the lock, until the record tells who runs.
type Lock struct{ file *os.File }

// BusyError tells that a launch is in progress, and does not end.
type BusyError struct{ Name string }

// Error names the lock.
func (e *BusyError) Error() string {
	return "a start is in progress: a process being launched holds " + e.Name
}

// TakeLock locks a record, until ctx ends at most: then it is a [*BusyError].
func TakeLock(ctx context.Context, record string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(record), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(lockName(record), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(ctx, file, unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file: file}, nil
}

// Settle waits until no launch is in progress, until ctx ends at most: then it is
// a [*BusyError]. What the record says from then on is true.
func Settle(ctx context.Context, record string) error {
	file, err := os.Open(lockName(record))
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing was ever launched
	}
	if err != nil {
		return err
	}
	return errors.Join(flock(ctx, file, unix.LOCK_SH), file.Close())
}

// File is what the launched process inherits.
func (l *Lock) File() *os.File { return l.file }

// Close lets the lock go, unless a launched process holds it.
func (l *Lock) Close() error {
	if err := l.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func lockName(record string) string { return record + ".lock" }

// flock never blocks: a blocked one ignores ctx.
func flock(ctx context.Context, file *os.File, how int) error {
	try := func(context.Context) (bool, error) {
		err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		return true, nil
	}
	free, err := try(ctx) // however short the wait
	if free || err != nil {
		return err
	}
	err = retry.Until(ctx, retry.Policy{Interval: time.Millisecond, Max: 20 * time.Millisecond}, try)
	if errors.Is(err, context.DeadlineExceeded) {
		return &BusyError{Name: file.Name()}
	}
	return err
}

// inherited is the lock the launcher took for this process. It must be that of
// the record: a lock whose file was deleted excludes nobody.
func inherited(fd int, record string) (*os.File, error) {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("lock of the record on descriptor %d: %w", fd, err)
	}
	file := os.NewFile(uintptr(fd), lockName(record))
	held, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	named, err := os.Stat(lockName(record))
	if err == nil && !os.SameFile(held, named) {
		err = errors.New("it is another file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock of the record on descriptor %d: %w", fd, err), file.Close())
	}
	return file, nil
}
