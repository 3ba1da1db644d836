package config

import "errors"

// ErrPostponed is a reference to what exists only at run time, while the
// resource it looks at is not configured.
var ErrPostponed = errors.New("known only once the resource runs")

// Scope is who evaluates: the node, and the node lists the scopes stand for.
type Scope struct {
	Node       string
	Nodes      []string
	DRPNodes   []string
	EncapNodes []string
}

// Evaluator reads values out of a document as one node sees them.
type Evaluator struct {
	Doc   *Document
	Scope Scope
	// Options tells how an option of a section is looked up; false when it is
	// not a keyword. Nil: every option is scopable and inherited.
	Options func(section, option string) (Option, bool)
	// Lookup answers the references the document does not hold. name is the
	// reference without modifier, "#" and "[n]", as "nodename" or
	// "disk#1.exposed_devs"; section is where the reference is evaluated.
	// It is asked before the document. Nil: nothing is known.
	Lookup func(section, name string) (value string, ok bool, err error)
}

// Raw returns the text of an option as written for the node, and the key that holds it.
func (e *Evaluator) Raw(section string, o Option) (value string, key Key, found bool, err error) {
	panic("to write")
}

// Value returns the value of an option for the node: the default applied,
// references and arithmetic replaced. found is false when the option is not
// set and has no default.
func (e *Evaluator) Value(section string, o Option) (value string, found bool, err error) {
	panic("to write")
}

// Expand replaces the references and the arithmetic of a text of a section.
func (e *Evaluator) Expand(section, text string) (string, error) { panic("to write") }
