package instance

import (
	"context"
	"errors"
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
	return fmt.Sprintf("%s: no instance on node %s: the configuration lists it in neither nodes nor drpnodes", e.Path, e.Node)
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
	Pid     int // of the holder, 0 when it is not known
	Intent  string
	Session string
	At      time.Time
	Waited  time.Duration
}

// Error names the holder and what it does.
func (e *LockedError) Error() string {
	if e.Pid == 0 {
		return fmt.Sprintf("%s: another action is in progress, still there after %s: wait longer with --waitlock", e.Path, e.Waited)
	}
	return fmt.Sprintf("%s: another action is in progress: %s by process %d since %s, session %s, still there after %s: wait longer with --waitlock",
		e.Path, e.Intent, e.Pid, e.At.Format(time.DateTime), e.Session, e.Waited)
}

// ActionError tells that an action failed. It is in the logs already.
type ActionError struct {
	Path   object.Path
	Action Action
	Err    error
}

// Error names the object and the action.
func (e *ActionError) Error() string { return fmt.Sprintf("%s: %s: %v", e.Path, e.Action, e.Err) }

// ExitCode is the exit status of a command that ends with this error. It is not
// that of the cause: an object that is missing in the course of the action is not
// the one acted on.
func (e *ActionError) ExitCode() int {
	if errors.Is(e.Err, context.Canceled) {
		return exitInterrupted
	}
	return 1
}

// exitInterrupted is how shells report a command ended by a signal.
const exitInterrupted = 130

// Unwrap returns the cause.
func (e *ActionError) Unwrap() error { return e.Err }

// Logged tells that the error was written to the logs, console included.
func (*ActionError) Logged() bool { return true }
