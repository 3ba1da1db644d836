package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// watchPeriod is how often the lock is looked for: for as long, a root whose
// files were deleted may have two daemons.
const watchPeriod = time.Second

// process is the right to be the daemon of a root. The kernel gives it back when
// the process ends, however it ends: files left behind mean nothing.
type process struct {
	lock  *os.File
	pid   string // file
	every time.Duration

	unsigned error // why the id of this process is not written
}

// RunningError says that another process is the daemon.
type RunningError struct {
	Pid  string
	Lock string
}

// Error names the process.
func (e *RunningError) Error() string {
	holder := "process " + e.Pid
	if e.Pid == "" {
		holder = "another process"
	}
	return fmt.Sprintf("a daemon already runs: %s holds %s: use om daemon status, om daemon stop or om daemon restart", holder, e.Lock)
}

// lockPatience is how long the lock is asked for. A process that was just started
// by the daemon that ended holds it too, until it runs its own program.
const lockPatience = 2 * time.Second

// acquire makes this process the daemon.
func acquire(ctx context.Context, paths host.Paths) (*process, error) {
	for _, dir := range []string{paths.Var(), paths.Locks()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("directory of the daemon: %w", err)
		}
	}
	name := filepath.Join(paths.Locks(), "daemon")
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the daemon: %w", err)
	}
	if err := flock(ctx, lock); err != nil {
		defer lock.Close() //nolint:errcheck // only read
		if !errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		holder, _ := io.ReadAll(io.LimitReader(lock, 32))
		return nil, &RunningError{Pid: strings.TrimSpace(string(holder)), Lock: name}
	}
	p := &process{lock: lock, pid: paths.Pid(), every: watchPeriod}
	if err := p.kept(); err != nil { // removed between its opening and its locking
		return nil, errors.Join(err, lock.Close())
	}
	// The right is the lock. Without the id of its holder others know less of it; a
	// node whose disk is full has a daemon all the same.
	p.unsigned = p.sign()
	return p, nil
}

// flock takes the lock, patiently.
func flock(ctx context.Context, lock *os.File) error {
	limited, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	return retry.Until(limited, retry.Policy{Interval: 5 * time.Millisecond, Max: 100 * time.Millisecond}, func(context.Context) (bool, error) {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			return false, nil
		}
		return err == nil, err
	})
}

// sign writes the id of this process in the lock, for the daemon that comes
// second, and in the pid file, for everybody else.
func (p *process) sign() error {
	id := strconv.Itoa(os.Getpid()) + "\n"
	if err := p.lock.Truncate(0); err != nil {
		return fmt.Errorf("sign the lock of the daemon: %w", err)
	}
	if _, err := p.lock.WriteAt([]byte(id), 0); err != nil {
		return fmt.Errorf("sign the lock of the daemon: %w", err)
	}
	if err := renameio.WriteFile(p.pid, []byte(id), 0o644, renameio.IgnoreUmask()); err != nil {
		return fmt.Errorf("write the pid file: %w", err)
	}
	return nil
}

// LostError says that the lock file is no longer the one this daemon holds: it
// keeps nobody out, and another daemon may have taken its place.
type LostError struct{ Lock string }

// Error says what happened and what to do.
func (e *LostError) Error() string {
	return e.Lock + " was removed or replaced while the daemon held it: it ends, for another one may serve this root: " +
		"leave the state directory alone while a daemon runs, then use om daemon start"
}

// watch fails when the lock no longer keeps a second daemon out.
func (p *process) watch(ctx context.Context) error {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := p.kept(); err != nil {
				return err
			}
		}
	}
}

// kept tells whether the lock held still is the file of that name. What cannot be
// looked at is not known to be lost.
func (p *process) kept() error {
	held, err := p.lock.Stat()
	if err != nil {
		return fmt.Errorf("lock of the daemon: %w", err)
	}
	found, err := os.Stat(p.lock.Name())
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !os.SameFile(held, found) {
		return &LostError{Lock: p.lock.Name()}
	}
	return nil
}

// release gives the right back. It may be called twice. A pid file that names
// another process is left to it.
func (p *process) release() error {
	if p.lock == nil {
		return nil
	}
	var err error
	if id, readErr := os.ReadFile(p.pid); readErr == nil && strings.TrimSpace(string(id)) == strconv.Itoa(os.Getpid()) {
		err = os.Remove(p.pid)
	}
	err = errors.Join(err, p.lock.Close())
	p.lock = nil
	return err
}
