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
type Record struct{ proc.Identity }

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

// claimed is a record that was written. Its lock is held until the process
// executes the command or ends: the descriptor closes on exec.
type claimed struct{ lock *os.File }

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
	if err := (Record{Identity: self}).write(name); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &claimed{lock: lock}, nil
}

// write replaces the record at once, so that a reader never sees half of it.
func (r Record) write(name string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".tmp", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

func (c *claimed) close() error {
	if c == nil {
		return nil
	}
	return c.lock.Close()
}
