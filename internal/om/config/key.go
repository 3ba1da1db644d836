package config

// DefaultSection is the section a key without a section belongs to.
const DefaultSection = "DEFAULT"

// Key names a line of a configuration: section.option@scope.
type Key struct {
	Section string
	Option  string
	Scope   string // empty: not scoped
}

// ParseKey reads section.option@scope; the section is DEFAULT when not given.
func ParseKey(s string) (Key, error) { panic("to write") }

// String prints the key as [ParseKey] reads it; the DEFAULT section is not printed.
func (k Key) String() string { panic("to write") }
