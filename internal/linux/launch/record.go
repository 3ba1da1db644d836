package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
)

// Record is what is known of a launched process.
type Record struct {
	proc.Identity
	// Error says why the command could not be executed.
	Error string `json:"error,omitempty"`
}

// ReadRecord reads a record file. No file is [os.ErrNotExist]; a file cut by a
// crash of the machine reads as a record of no process.
func ReadRecord(name string) (Record, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return Record{}, err
	}
	var r Record
	if json.Unmarshal(b, &r) == nil {
		return r, nil
	}
	return Record{}, nil
}

// RunningError tells that the recorded process is still alive.
type RunningError struct{ Pid int }

// Error names the process.
func (e *RunningError) Error() string { return fmt.Sprintf("already running as process %d", e.Pid) }

// Executed reports whether the process that wrote a record has become the
// command, or ended: the lock of the record, which it holds until then, is free.
func Executed(name string) (bool, error) {
	lock, err := os.OpenFile(name+".lock", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	free := err == nil
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		err = nil
	}
	return free, errors.Join(err, lock.Close())
}

// claimed is a record being written. Its lock is held until the process executes
// the command or ends: the descriptors close on exec.
type claimed struct {
	lock *os.File
	file *os.File // the record itself
	name string
	self proc.Identity
}

// claim writes the identity of the running process in a record, unless the
// process recorded is alive. A nil *claimed records nothing.
func claim(name string) (_ *claimed, err error) {
	if name == "" {
		return nil, nil //nolint:nilnil // nil is "no record"
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(name+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", lock.Name(), err), lock.Close())
	}
	if r, err := ReadRecord(name); err == nil && r.Alive() {
		return nil, errors.Join(&RunningError{Pid: r.Pid}, lock.Close())
	}
	self, err := proc.Self()
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	c := &claimed{lock: lock, name: name, self: self}
	if err := c.write(Record{Identity: self}); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return c, nil
}

// write replaces the record at once, so that a reader never sees half of it. The
// file stays open: it can be written again by the user the process becomes.
func (c *claimed) write(r Record) (err error) {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	c.file, err = os.OpenFile(c.name+".tmp", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if _, err = c.file.Write(append(b, '\n')); err == nil {
		err = os.Rename(c.file.Name(), c.name)
	}
	if err != nil {
		return errors.Join(err, c.file.Close())
	}
	return nil
}

// fail adds to the record why the command is not executed, for whoever started
// this process with its output thrown away.
func (c *claimed) fail(cause error) error {
	if c == nil || cause == nil {
		return cause
	}
	b, err := json.Marshal(Record{Identity: c.self, Error: cause.Error()})
	if err == nil {
		_, err = c.file.WriteAt(append(b, '\n'), 0) // longer than what it covers
	}
	return errors.Join(cause, err, c.file.Close(), c.lock.Close())
}
