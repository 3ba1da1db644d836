package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Holder is who works on a kind cluster.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

// A Lock keeps two runs from working on one kind cluster. It ends with the process.
type Lock struct{ file *os.File }

// HeldError tells that another run holds the lock.
type HeldError struct {
	Cluster string
	Holder  Holder
}

// Error implements error.
func (e *HeldError) Error() string {
	who := "another run"
	if e.Holder.PID > 0 {
		who = fmt.Sprintf("'%s' (process %d on %s, since %s)", e.Holder.Command, e.Holder.PID, e.Holder.Host, e.Holder.Since.Format(time.DateTime))
	}
	return fmt.Sprintf("kind cluster '%s' is in the hands of %s; wait until it ends, or name another cluster with KROPS_KIND_CLUSTER", e.Cluster, who)
}

// StateDir is where locks and states are, "" when the environment names no place.
func StateDir(env func(string) string) string {
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "krops")
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "krops")
	}
	return ""
}

func inState(dir, cluster, suffix string) string {
	return filepath.Join(dir, url.PathEscape(cluster)+suffix)
}

// Acquire takes the lock of a kind cluster.
func Acquire(dir, cluster string, h Holder) (*Lock, error) {
	f, err := openLock(dir, cluster)
	if err != nil {
		return nil, fmt.Errorf("lock kind cluster '%s': %w", cluster, err)
	}
	if err := flock(f, syscall.LOCK_EX); err != nil {
		defer func() { _ = f.Close() }()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &HeldError{cluster, holder(f)}
		}
		return nil, fmt.Errorf("lock kind cluster '%s': %w", cluster, err)
	}
	text, err := json.Marshal(h)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock kind cluster '%s': %w", cluster, err)
	}
	return &Lock{f}, nil
}

// Release gives the lock back. Its file stays: another run may be waiting for it.
func (l *Lock) Release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// Held tells who works on a kind cluster at this moment.
func Held(dir, cluster string) (Holder, bool) {
	f, err := os.Open(inState(dir, cluster, ".lock"))
	if err != nil {
		return Holder{}, false
	}
	defer func() { _ = f.Close() }()
	if flock(f, syscall.LOCK_SH) == nil {
		return Holder{}, false
	}
	return holder(f), true
}

// Lockable tells why the lock of a kind cluster cannot be opened, without making it.
func Lockable(dir, cluster string) error {
	f, err := os.OpenFile(inState(dir, cluster, ".lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock kind cluster '%s': %w", cluster, err)
	}
	return f.Close()
}

func openLock(dir, cluster string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(inState(dir, cluster, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
}

// flock does not wait.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// holder reads who holds a lock; one that just took it may not have said so yet.
func holder(f *os.File) Holder {
	var h Holder
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<16))
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}
	}
	return h
}
