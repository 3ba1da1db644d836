package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// process is the right to be the daemon of a root. The kernel gives it back when
// the process ends, however it ends: files left behind mean nothing.
type process struct {
	lock *os.File
	pid  string // file
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

// acquire makes this process the daemon.
func acquire(paths host.Paths) (*process, error) {
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
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer lock.Close() //nolint:errcheck // only read
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		holder, _ := io.ReadAll(io.LimitReader(lock, 32))
		return nil, &RunningError{Pid: strings.TrimSpace(string(holder)), Lock: name}
	}
	p := &process{lock: lock, pid: paths.Pid()}
	if err := p.sign(); err != nil {
		return nil, errors.Join(err, p.release())
	}
	return p, nil
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

// release gives the right back. It may be called twice.
func (p *process) release() error {
	if p.lock == nil {
		return nil
	}
	err := os.Remove(p.pid)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, p.lock.Close())
	p.lock = nil
	return err
}
