package object

import "io"

// NotFoundError says that an object does not exist.
type NotFoundError struct{ What string }

// Error names the object.
func (e *NotFoundError) Error() string { return e.What + ": object not found" }

// ExitCode is the exit status of a command ended by this error.
func (e *NotFoundError) ExitCode() int { return 2 }

// Value is an evaluated keyword, as config expressions compare it.
type Value struct {
	Text string
	// Number reads a text of the type of the value: an integer, bytes,
	// nanoseconds, a boolean as 0 or 1. Nil for texts and lists.
	Number func(text string) (int64, error)
	// Bool tells that the value is a boolean, compared whatever the case.
	Bool bool
}

// Configs is what config expressions look at. Only what is written in a
// configuration counts, defaults do not.
type Configs interface {
	// Sections returns the names of the sections present.
	Sections(p Path) []string
	// Value returns an option written in a section.
	Value(p Path, section, option string) (value Value, present bool)
}

// Selector designates a set of objects.
type Selector struct{}

// ParseSelector reads a selector expression.
func ParseSelector(expr string) (*Selector, error) { panic("to write") }

// Narrow restricts the selector to a namespace and a kind; empty means any.
func (s *Selector) Narrow(namespace string, kind Kind) *Selector { panic("to write") }

// Select returns the sorted objects of all that the selector designates.
func (s *Selector) Select(all []Path, c Configs) ([]Path, error) { panic("to write") }

// Exact returns the paths of a selector made only of exact paths.
func (s *Selector) Exact() ([]Path, bool) { panic("to write") }

// String returns the expression.
func (s *Selector) String() string { panic("to write") }

// ReadList reads the object paths of a list, one a line.
func ReadList(r io.Reader) ([]string, error) { panic("to write") }

// NodeSelector designates a set of nodes.
type NodeSelector struct{}

// ParseNodeSelector reads a node selector.
func ParseNodeSelector(expr string) (*NodeSelector, error) { panic("to write") }

// Select returns the designated nodes, in the order of the expression. A name
// which is not among nodes is an error.
func (s *NodeSelector) Select(nodes []string, labels map[string]map[string]string) ([]string, error) {
	panic("to write")
}

// Expand is Select keeping the names which are not among nodes.
func (s *NodeSelector) Expand(nodes []string, labels map[string]map[string]string) []string {
	panic("to write")
}
