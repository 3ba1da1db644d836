package event

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// InstanceConfigFor says that a node has a configuration that is for others only: it
// keeps it until each of them has it.
type InstanceConfigFor struct {
	Path        object.Path `json:"path"`
	Node        string      `json:"node"`
	Orchestrate string      `json:"orchestrate"`
	Scope       []string    `json:"scope"`
	UpdatedAt   time.Time   `json:"updated_at"`
}

// ConfigFileConflict says that a configuration was edited on two nodes that did not
// hear of each other, and that the edit which is lost is kept in a file of Node.
type ConfigFileConflict struct {
	Path object.Path `json:"path"`
	Node string      `json:"node"` // where the edit was replaced
	File string      `json:"file"`
	// Backup has the edit that was replaced.
	Backup string     `json:"backup"`
	Kept   ConfigEdit `json:"kept"`
	Lost   ConfigEdit `json:"lost"`
}

// ConfigEdit is an edit of a configuration, or its deletion.
type ConfigEdit struct {
	Node     string    `json:"node"` // who made it
	At       time.Time `json:"at"`
	Checksum string    `json:"checksum,omitempty"`
	Deleted  bool      `json:"deleted,omitempty"`
}

// Kind implements [Event].
func (InstanceConfigFor) Kind() string { return "InstanceConfigFor" }

// Labels implements [Event].
func (e InstanceConfigFor) Labels() map[string]string { return objectLabels(e.Path, e.Node) }

// Kind implements [Event].
func (ConfigFileConflict) Kind() string { return "ConfigFileConflict" }

// Labels implements [Event].
func (e ConfigFileConflict) Labels() map[string]string { return objectLabels(e.Path, e.Node) }
