package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

// Outcome is how a run ended.
type Outcome string

// The outcomes.
const (
	Running     Outcome = "running"
	Complete    Outcome = "done"
	Broken      Outcome = "failed"
	Interrupted Outcome = "interrupted"
)

// State is what a run leaves for those who ask later.
type State struct {
	Verb        string            `json:"verb"`
	Environment string            `json:"environment"`
	Cluster     string            `json:"kind_cluster"`
	Command     string            `json:"command"`
	PID         int               `json:"pid"`
	Host        string            `json:"host"`
	Attempt     int               `json:"attempt"` // runs of the verb until it is done
	Outcome     Outcome           `json:"outcome"`
	Phase       string            `json:"phase,omitempty"`
	Step        string            `json:"step,omitempty"` // at work, or where it ended
	Title       string            `json:"title,omitempty"`
	Last        string            `json:"last_done,omitempty"`
	Error       string            `json:"error,omitempty"`
	Hint        string            `json:"hint,omitempty"`
	Versions    map[string]string `json:"versions,omitempty"`
	Kubeconfig  string            `json:"mgmt_kubeconfig,omitempty"`
	Started     time.Time         `json:"started"`
	Updated     time.Time         `json:"updated"`
	Ended       *time.Time        `json:"ended,omitempty"`
}

// ReadState returns the state of the last run on a kind cluster. ok is false when
// there was none.
func ReadState(dir, cluster string) (s State, ok bool, err error) {
	path := inState(dir, cluster, ".json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return State{}, false, fmt.Errorf("read the state of the last run: %s: %w", path, err)
	}
	return s, true, nil
}

// Book keeps the state of a run in its file. A run goes on when that fails, and
// the first failure is told when it ends.
type Book struct {
	path string

	mu    sync.Mutex
	state State
	err   error
}

// NewBook begins the state of a run. The one of the run before tells the attempt.
func NewBook(dir string, s State) *Book {
	before, ok, err := ReadState(dir, s.Cluster)
	s.Attempt = 1
	if ok && before.Verb == s.Verb && before.Environment == s.Environment && before.Outcome != Complete {
		s.Attempt = before.Attempt + 1
	}
	s.Outcome = Running
	b := &Book{path: inState(dir, s.Cluster, ".json"), state: s, err: err}
	b.write()
	return b
}

// Event implements [Sink].
func (b *Book) Event(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e.Name {
	case Started:
		b.state.Phase, b.state.Step, b.state.Title = e.Step.Phase, e.Step.ID, e.Step.Title
	case Done:
		b.state.Last = e.Step.ID
	case Failed:
		b.state.Phase, b.state.Step, b.state.Title, b.state.Error = e.Step.Phase, e.Step.ID, e.Step.Title, e.Message
	case Finished:
		now := time.Now().UTC()
		b.state.Ended, b.state.Hint = &now, e.Hint
		switch e.Code {
		case 0:
			b.state.Outcome, b.state.Step, b.state.Title = Complete, "", ""
		case interrupted:
			b.state.Outcome = Interrupted
		default:
			b.state.Outcome = Broken
		}
		if e.Err != nil {
			b.state.Error = e.Err.Error()
		}
	case Progress:
		if time.Since(b.state.Updated) < heartbeat {
			return
		}
	case Begun, Line, Detail, Confirmed, Output, Skipped, Warning, Trouble, Advice, Stopping, Said:
		return
	}
	b.write()
}

// interrupted is the exit code of a run that was.
const interrupted = 130

func (b *Book) write() {
	b.state.Updated = time.Now().UTC()
	text, err := json.MarshalIndent(b.state, "", "  ")
	if err == nil {
		err = renameio.WriteFile(b.path, append(text, '\n'), 0o600)
	}
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("keep the state of the run: %w", err)
	}
}

// Err is the first thing that went wrong.
func (b *Book) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
