package event

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Exec says that the daemon started a command.
type Exec struct {
	Command         string      `json:"command"`
	Node            string      `json:"node"`
	Origin          string      `json:"origin"`
	Title           string      `json:"title"`
	SessionID       string      `json:"session_id"`
	ExecID          string      `json:"exec_id"`
	OrchestrationID string      `json:"orchestration_id,omitempty"`
	Path            object.Path `json:"path,omitzero"`
}

// ExecSuccess says that such a command ended well.
type ExecSuccess struct {
	Command         string        `json:"command"`
	Duration        time.Duration `json:"duration"` // nanoseconds
	Node            string        `json:"node"`
	Origin          string        `json:"origin"`
	Title           string        `json:"title"`
	SessionID       string        `json:"session_id"`
	ExecID          string        `json:"exec_id"`
	OrchestrationID string        `json:"orchestration_id,omitempty"`
	Path            object.Path   `json:"path,omitzero"`
}

// ExecFailed says that such a command failed, or could not run.
type ExecFailed struct {
	Command         string        `json:"command"`
	Duration        time.Duration `json:"duration"` // nanoseconds
	Error           string        `json:"error"`
	Node            string        `json:"node"`
	Origin          string        `json:"origin"`
	Title           string        `json:"title"`
	SessionID       string        `json:"session_id"`
	ExecID          string        `json:"exec_id"`
	OrchestrationID string        `json:"orchestration_id,omitempty"`
	Path            object.Path   `json:"path,omitzero"`
}

// Gap is put by the bus in the queue of a reader that was too slow: Lost events
// were dropped from there on, read the whole state again. It reaches that
// reader only, under the name resync.
type Gap struct {
	Lost uint64 `json:"lost"` // how many the reader has missed since it subscribed
}
