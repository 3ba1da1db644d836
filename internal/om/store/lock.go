package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// lock is a held lock file. The kernel releases it when its process ends, so
// that a lock file found is never stale by itself.
type lock struct{ file *os.File }

const lockPoll = 5 * time.Millisecond

// lock serializes the commits of an object, between processes and inside one.
func (s *Store) lock(ctx context.Context, p object.Path) (*lock, error) {
	name := s.lockFile(p)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, fmt.Errorf("lock the configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.waitLock)
	defer cancel()
	var l *lock
	err := retry.Until(ctx, retry.Policy{Interval: lockPoll, Max: 20 * lockPoll, Jitter: 0.3}, func(context.Context) (bool, error) {
		var err error
		l, err = tryLock(name)
		return l != nil, err
	})
	if err == nil {
		return l, nil
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil, &LockedError{Path: p, File: name, Pid: holder(name), Err: err}
	}
	return nil, fmt.Errorf("lock the configuration: %w", err)
}

// tryLock returns nil when the lock is held, or was removed while it was taken.
func tryLock(name string) (*lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			return nil, nil //nolint:nilnil // not yet
		}
		return nil, &os.PathError{Op: "flock", Path: name, Err: err}
	}
	if !sameFile(f, name) {
		_ = f.Close()
		return nil, nil //nolint:nilnil // its object was deleted meanwhile: lock the new file
	}
	// Who holds it is only told to people: a lock works without it, on a full disk too.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return &lock{f}, nil
}

func sameFile(f *os.File, name string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(name)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

func holder(name string) int {
	data, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}

func (l *lock) release() error { return l.file.Close() }

// remove deletes the lock file of an object that no longer exists, while it is held.
func (l *lock) remove() error { return os.Remove(l.file.Name()) }
