// Package orchestrate decides what one node should do about one object. It is
// pure: same [World], same [Decision].
package orchestrate

import (
	"fmt"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Reason says why a decision is what it is. The ID is stable and meant for
// programs, the text for people.
type Reason struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// RefusedError says why a goal was not accepted.
type RefusedError struct {
	Path   object.Path
	Goal   string
	Reason string
	// When another orchestration is the reason:
	OrchestrationID string
	InProgress      string
	Since           time.Time
}

// Error names the object, the goal and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: %s refused: %s", e.Path, e.Goal, e.Reason)
}
