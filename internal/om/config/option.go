// Package config reads, edits and evaluates configurations: a lossless ini
// document, edit operations, node scopes, references and arithmetic. It knows
// nothing of which keywords exist (package keyword does). The package is pure.
package config

// Inherit tells where the value of an option of a section is looked up.
type Inherit int

// The inheritance rules.
const (
	LeafToHead Inherit = iota // the section, then DEFAULT
	HeadToLeaf                // DEFAULT, then the section
	LeafOnly                  // the section
	HeadOnly                  // DEFAULT
)

// String returns the word of the keyword reference.
func (i Inherit) String() string {
	return [...]string{"leaf2head", "head2leaf", "leaf", "head"}[i]
}

// Option tells how the value of a keyword is looked up.
type Option struct {
	Name     string
	Aliases  []string
	Scopable bool
	Inherit  Inherit
	HeadName string // name of the option in DEFAULT, when not Name
	Default  string // may hold references
	Required bool
}
