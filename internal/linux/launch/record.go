package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
)

// Record is what is known of a launched process.
type Record struct{ proc.Identity }

// RecordError tells that a record says nothing: who runs is not known.
type RecordError struct {
	Name string
	Err  error
}

// Error names the file.
func (e *RecordError) Error() string {
	return fmt.Sprintf("the record of the process cannot be read: %s: %v", e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// ReadRecord reads a record file. No file is [os.ErrNotExist]; a file that names
// no process is a [*RecordError], which is not the same as no process.
func ReadRecord(name string) (Record, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return Record{}, err
	}
	var r Record
	switch {
	case err != nil:
	case len(bytes.TrimSpace(b)) == 0:
		err = errors.New("it is empty")
	default:
		if err = json.Unmarshal(b, &r); err == nil && (r.Pid <= 0 || r.BootID == "") {
			err = errors.New("it names no process")
		}
	}
	if err != nil {
		return Record{}, &RecordError{Name: name, Err: err}
	}
	return r, nil
}

// RunningError tells that the recorded process is still alive.
type RunningError struct{ Pid int }

// Error names the process.
func (e *RunningError) Error() string { return fmt.Sprintf("already running as process %d", e.Pid) }

// claimed is a record that was written. Its lock is held until the process
// executes the command or ends: the descriptor closes on exec.
type claimed struct{ lock *os.File }

// claim writes the identity of the running process in a record, unless the
// process recorded is alive, or unless the record does not tell. lock is the
// descriptor of the lock the launcher took, 0 when it took none. A nil *claimed
// records nothing.
func claim(name string, lock int) (_ *claimed, err error) {
	if name == "" {
		return nil, nil //nolint:nilnil // nil is "no record"
	}
	c := &claimed{}
	if c.lock, err = own(name, lock); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	r, err := ReadRecord(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case r.Alive():
		return nil, &RunningError{Pid: r.Pid}
	}
	self, err := proc.Self()
	if err != nil {
		return nil, err
	}
	return c, (Record{Identity: self}).write(name)
}

// own is the lock the process was given, else one it takes.
func own(name string, lock int) (*os.File, error) {
	if lock != 0 {
		return inherited(lock, name)
	}
	l, err := TakeLock(context.Background(), name) // for as long as it takes
	if err != nil {
		return nil, err
	}
	return l.file, nil
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
