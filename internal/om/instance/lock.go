package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// holder is what the process that has the lock writes in it, for those who wait.
type holder struct {
	At        time.Time `json:"at"`
	Pid       int       `json:"pid"`
	SessionID string    `json:"session_id"`
	Intent    string    `json:"intent"`
}

// lock is held until it is released or the process ends. The file stays: what is
// locked is the file, not its presence, so one left by a crash holds nobody.
type lock struct{ file *os.File }

func (e *Engine) lock(ctx context.Context, p object.Path, r Request) (*lock, error) {
	name := filepath.Join(e.flags(p).dir, "lock", "generic")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	wait, cancel := context.WithTimeout(ctx, r.WaitLock)
	defer cancel()
	free, err := tryLock(file) // however short the wait
	if err == nil && !free {
		err = retry.Until(wait, retry.Policy{Interval: 5 * time.Millisecond, Max: 100 * time.Millisecond}, func(context.Context) (bool, error) {
			return tryLock(file)
		})
	}
	if err == nil {
		// What is locked is the file. Who has it is told if the disk is not full.
		h := holder{At: time.Now(), Pid: os.Getpid(), SessionID: r.Session, Intent: string(r.Action)}
		_ = h.write(file)
		return &lock{file: file}, nil
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = locked(name, p, time.Since(began))
	} else {
		err = fmt.Errorf("%s: take the action lock: %w", p, err)
	}
	return nil, errors.Join(err, file.Close())
}

// tryLock takes the lock if nobody has it.
func tryLock(file *os.File) (bool, error) {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}

func (h holder) write(file *os.File) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(append(b, '\n'), 0)
	return err
}

func locked(name string, p object.Path, waited time.Duration) error {
	e := &LockedError{Path: p, Waited: waited.Round(time.Millisecond)}
	var h holder
	if b, err := os.ReadFile(name); err == nil && json.Unmarshal([]byte(strings.TrimSpace(string(b))), &h) == nil {
		e.Pid, e.Intent, e.Session, e.At = h.Pid, h.Intent, h.SessionID, h.At
	}
	return e
}

func (l *lock) release() error {
	if l == nil || l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	_ = f.Truncate(0) // for the next one not to be told of this one
	// A process that is being started shares the file until it runs its own program.
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	return f.Close()
}
