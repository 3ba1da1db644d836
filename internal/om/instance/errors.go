package instance

import (
	"fmt"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// NotFoundError tells that the object exists but has no instance on this node.
type NotFoundError struct {
	Path object.Path
	Node string
}

// Error names the object and the node.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s: no instance on node %s: it is in neither nodes nor drpnodes of the configuration", e.Path, e.Node)
}

// ExitCode is the exit status of a command that ends with this error.
func (e *NotFoundError) ExitCode() int { return 3 }

// UnsupportedError tells that objects of this kind have no such action.
type UnsupportedError struct {
	Path   object.Path
	Action Action
}

// Error names the object, the action and the kind.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: action %s is not supported on objects of kind %s", e.Path, e.Action, e.Path.Kind)
}

// ExitCode is the exit status of a command that ends with this error.
func (e *UnsupportedError) ExitCode() int { return 4 }

// LockedError tells that another action holds the lock of the instance.
type LockedError struct {
	Path    object.Path
	Pid     int
	Intent  string
	Session string
	At      time.Time
	Waited  time.Duration
}

// Error names the holder and what it does.
func (e *LockedError) Error() string {
	return fmt.Sprintf("%s: another action is in progress: %s by process %d since %s, session %s: still there after %s",
		e.Path, e.Intent, e.Pid, e.At.Format(time.DateTime), e.Session, e.Waited)
}
