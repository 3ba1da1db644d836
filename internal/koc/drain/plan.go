// Package drain empties a compute host of its servers. Nova has no request for a
// whole host: [Plan] says which servers can be moved, in which order, and a
// [Runner] moves them one by one and follows each off the host.
package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Verb is a way to move a server.
type Verb int

// The verbs. Nova moves servers of a host that is up, and rebuilds those of one
// that is down.
const (
	Live     Verb = iota // while it runs
	Cold                 // shut down first
	Evacuate             // rebuilt elsewhere
)

func (v Verb) String() string {
	switch v {
	case Cold:
		return "compute host drain --cold"
	case Evacuate:
		return "compute host evacuate"
	case Live:
	}
	return "compute host drain"
}

// Takes reports whether Nova lets the verb move a server of a status.
func (v Verb) Takes(status string) bool {
	switch v {
	case Live:
		return status == "ACTIVE" || status == "PAUSED"
	case Cold:
		return status == "ACTIVE" || status == "SHUTOFF"
	case Evacuate:
		return status == "ACTIVE" || status == "SHUTOFF" || status == "ERROR"
	}
	return false
}

// Server is what is known of a server.
type Server struct {
	ID, Name, Host string

	Status string // "ACTIVE"
	Task   string // what Nova does to it, "" for nothing
	Fault  string // why it is in ERROR
	RAM    int64
}

// Label is what messages call the server.
func (s Server) Label() string { return cmp.Or(s.Name, s.ID) }

// state is the status with the task.
func (s Server) state() string {
	if s.Task != "" {
		return s.Status + ", " + s.Task
	}
	return s.Status
}

// Step is a server with what is done about it.
type Step struct {
	Server Server
	// Skip says why the server is not moved, "" when it is.
	Skip string
	// Later says that it could be moved, and is not because enough others are.
	Later bool
}

// Moves reports whether the server of the step is moved.
func (s Step) Moves() bool { return s.Skip == "" && !s.Later }

// Plan orders the servers of a host, small ones first, so that a lack of room
// shows late, and says which of them the verb moves: at most limit of them, 0
// being no limit.
func Plan(servers []Server, verb Verb, limit int) []Step {
	servers = slices.Clone(servers)
	slices.SortStableFunc(servers, func(a, b Server) int {
		return cmp.Or(cmp.Compare(a.RAM, b.RAM), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	steps := make([]Step, len(servers))
	moved := 0
	for i, s := range servers {
		steps[i] = Step{Server: s, Skip: skip(s, verb)}
		if steps[i].Skip != "" {
			continue
		}
		if limit > 0 && moved >= limit {
			steps[i].Later = true
			continue
		}
		moved++
	}
	return steps
}

// skip says why a server cannot be moved and what can be done, "" when it can.
func skip(s Server, verb Verb) string {
	if s.Task != "" {
		return fmt.Sprintf("nova is busy with it (%s): try again when it is done", s.Task)
	}
	if verb.Takes(s.Status) {
		return ""
	}
	for _, other := range [...]Verb{Live, Cold, Evacuate} {
		if !other.Takes(s.Status) {
			continue
		}
		switch {
		case other == Evacuate:
			return fmt.Sprintf("'%s' can move a server in %s, once the host is down", other, s.Status)
		case verb == Evacuate:
			return fmt.Sprintf("'%s' can move a server in %s, once the host is up", other, s.Status)
		}
		return fmt.Sprintf("'%s' can move a server in %s", other, s.Status)
	}
	return fmt.Sprintf("no verb can move a server in %s: %s first", s.Status, remedy(s.Status))
}

// remedy is what brings a server into a status in which it can be moved.
func remedy(status string) string {
	switch status {
	case "SUSPENDED":
		return "'server resume' it"
	case "RESCUE":
		return "'server unrescue' it"
	case "VERIFY_RESIZE":
		return "'server resize confirm' or 'server resize revert' it"
	case "SHELVED", "SHELVED_OFFLOADED":
		return "'server unshelve' it"
	case "SOFT_DELETED":
		return "'server restore' it"
	}
	return "let nova finish with it"
}
