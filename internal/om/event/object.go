package event

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// ObjectCreated says that an object was not known and now is.
type ObjectCreated struct {
	Path object.Path `json:"path"`
	Node string      `json:"node"`
}

// ObjectDeleted says that the last instance of an object is gone.
type ObjectDeleted struct {
	Path object.Path `json:"path"`
	Node string      `json:"node"`
}

// ObjectStatusUpdated carries what follows for an object from its instances.
type ObjectStatusUpdated struct {
	Path   object.Path    `json:"path"`
	Node   string         `json:"node"`
	Status cluster.Object `json:"object_status"`
	Source string         `json:"source_event"` // kind of the event it follows from
}

// ObjectStatusDeleted says that an object has no status any more.
type ObjectStatusDeleted struct {
	Path object.Path `json:"path"`
	Node string      `json:"node"`
}

// ObjectStatusDone says that the status of an object is not computed any more.
type ObjectStatusDone struct {
	Path object.Path `json:"path"`
}

// ObjectOrchestrationAccepted says that an object has a new goal.
type ObjectOrchestrationAccepted struct {
	ID                    string      `json:"id"`
	Node                  string      `json:"node"`
	Path                  object.Path `json:"path"`
	GlobalExpect          string      `json:"global_expect"`
	GlobalExpectUpdatedAt time.Time   `json:"global_expect_updated_at"`
}

// ObjectOrchestrationRefused says that a goal was refused, and why.
type ObjectOrchestrationRefused struct {
	ID           string      `json:"id"`
	Node         string      `json:"node"`
	Path         object.Path `json:"path"`
	Reason       string      `json:"reason"`
	GlobalExpect string      `json:"global_expect"`
}

// ObjectOrchestrationEnd says that a goal is pursued no more. State is how it
// ended: succeeded, failed or aborted.
type ObjectOrchestrationEnd struct {
	ID                    string      `json:"id"`
	Node                  string      `json:"node"`
	Path                  object.Path `json:"path"`
	GlobalExpect          string      `json:"global_expect"`
	GlobalExpectUpdatedAt time.Time   `json:"global_expect_updated_at"`
	Aborted               bool        `json:"aborted"`
	State                 string      `json:"state"`
	Reason                string      `json:"reason,omitempty"`
}
