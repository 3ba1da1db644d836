package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// InvalidError refuses a configuration.
type InvalidError struct {
	Path   object.Path
	Alerts []keyword.Alert // of level error
}

// Error lists what is wrong, one a line.
func (e *InvalidError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the configuration is refused", name(e.Path))
	for _, a := range e.Alerts {
		b.WriteString("\n" + a.Comment)
	}
	return b.String()
}

// ExistsError refuses to create an object which is there already.
type ExistsError struct{ Path object.Path }

// Error says what to do instead.
func (e *ExistsError) Error() string {
	return name(e.Path) + " already exists: change it with config update, or replace it with --force"
}

// ConflictError refuses an edit because the configuration changed meanwhile.
type ConflictError struct {
	Path  object.Path
	File  string // the configuration in place
	Draft string // what was edited
}

// Error says where both versions are.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: the configuration changed while it was edited: compare %s with %s, then commit your version with --recover or drop it with --discard",
		name(e.Path), e.File, e.Draft)
}

// DraftError says that an earlier edit was left uncommitted.
type DraftError struct {
	Path  object.Path
	Draft string
}

// Error says what to do with it.
func (e *DraftError) Error() string {
	return fmt.Sprintf("%s: an earlier edit was not committed, it is in %s: continue it with --recover, or drop it with --discard", name(e.Path), e.Draft)
}

// NoDraftError says that there is no edit to recover.
type NoDraftError struct{ Path object.Path }

// Error names the object.
func (e *NoDraftError) Error() string {
	return name(e.Path) + ": no edit was left uncommitted"
}

// NotFileError says that what has the name of a configuration is no file.
type NotFileError struct {
	Name string
	Is   string // what it is
}

// Error names it.
func (e *NotFileError) Error() string { return e.Name + " is " + e.Is + ", not a file" }

// LockedError says that another process is committing.
type LockedError struct {
	Path object.Path
	File string
	Pid  int // of the holder, 0 when it is not known
	Err  error
}

// Error names the holder of the lock.
func (e *LockedError) Error() string {
	holder := "another process"
	if e.Pid > 0 {
		holder = fmt.Sprintf("process %d", e.Pid)
	}
	return fmt.Sprintf("%s: the configuration is locked by %s (%s): wait longer with --waitlock: %v", name(e.Path), holder, e.File, e.Err)
}

// Unwrap returns why the wait ended.
func (e *LockedError) Unwrap() error { return e.Err }

func isNotFound(err error) bool {
	var missing *object.NotFoundError
	return errors.As(err, &missing)
}
