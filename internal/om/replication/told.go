package replication

import (
	"encoding/json"
	"fmt"
)

// Told is what a node says of a configuration it has, or of one that is gone.
type Told struct {
	Version

	// Scope are the nodes the configuration is for, as who says so evaluates it.
	Scope []string `json:"s,omitempty"`
}

// MaxTold bounds what is read of one.
const MaxTold = 64 << 10

const maxScope = 4096

// ParseTold reads what a peer says.
func ParseTold(data []byte) (Told, error) {
	if len(data) > MaxTold {
		return Told{}, fmt.Errorf("a version of %d bytes: at most %d", len(data), MaxTold)
	}
	var t Told
	if err := json.Unmarshal(data, &t); err != nil {
		return Told{}, fmt.Errorf("a version: %w", err)
	}
	if len(t.Scope) > maxScope {
		return Told{}, fmt.Errorf("a version for %d nodes: at most %d", len(t.Scope), maxScope)
	}
	return t, t.check()
}
