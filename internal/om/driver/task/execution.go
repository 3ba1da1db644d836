package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// execution is a run in progress, one file each. The process is the one that
// runs the action: when it is gone, so is the run.
type execution struct {
	proc.Identity
	SessionID string    `json:"session_id"`
	At        time.Time `json:"at"`
}

func (t *task) runDir() string { return filepath.Join(t.env.StateDir, "run") }

// register writes down that a run begins, unless as many as allowed go on. done
// is to be called at its end.
func (t *task) register() (done func() error, err error) {
	if err := os.MkdirAll(t.runDir(), 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(t.env.StateDir, "run.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // the lock goes with it
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	going, err := t.Executions()
	if err != nil {
		return nil, err
	}
	if most := max(t.maxParallel, 1); len(going) >= most {
		pids := make([]string, len(going))
		for i, r := range going {
			pids[i] = fmt.Sprintf("process %d since %s", r.Pid, r.At.Format(time.DateTime))
		}
		return nil, fmt.Errorf("already running as many times as max_parallel = %d allows: %s", most, strings.Join(pids, ", "))
	}
	self, err := proc.Self()
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(execution{Identity: self, SessionID: t.env.Session, At: time.Now()})
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(t.runDir(), strconv.Itoa(self.Pid)+".*")
	if err != nil {
		return nil, err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return func() error { return os.Remove(f.Name()) }, nil
}

// Executions implements [resource.Executor]. Files left by runs that were killed
// are passed over.
func (t *task) Executions() ([]cluster.Running, error) {
	entries, err := os.ReadDir(t.runDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var going []cluster.Running
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(t.runDir(), e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var x execution
		if json.Unmarshal(b, &x) != nil || !x.Alive() {
			continue
		}
		going = append(going, cluster.Running{Rid: t.env.RID, SessionID: x.SessionID, Pid: x.Pid, At: x.At})
	}
	return going, nil
}
