// Package config reads, edits and evaluates configurations: a lossless ini
// document, edit operations, node scopes, references and arithmetic. It knows
// nothing of which keywords exist (package keyword does). The package is pure.
//
// # Files
//
// A file holds [section] lines and key = value lines; keys above the first
// section belong to DEFAULT. A line whose first mark is # or ; is a comment; a
// # or a ; after a blank ends a value. A value goes on when its line ends with a
// backslash (the lines are joined), when the next lines are indented deeper than
// the key (joined by line ends), or until the mark that closes it when it starts
// with a backquote or three double quotes. A key written twice reads as its last
// line.
//
// # References
//
// {[modifier:][#]name[[index]]} is replaced by what name designates: "#" counts
// its words, [index] takes one, a modifier (upper lower capitalize title
// swapcase) changes its case. A name is made of letters, digits, underscores,
// dashes, dots, "#" and "@", starts with a letter or an underscore, and has no
// empty part between its dots; a colon may follow a "#".
//
// Any other brace is text, as are those that follow a dollar, a percent sign or
// another brace. So JSON, ${VAR}, {{.Name}}, awk's {print $1} and curl's
// %{http_code} stay as they are. What reads as a reference and designates
// nothing, or before whose colon stands no modifier, is an error: to keep such a
// text, put a blank after the brace.
//
// # Arithmetic
//
// $( ... ) is computed when it only holds numbers (1.5, 10g, 60%), references,
// + - * / and parentheses; $(date) is left to the shell, and so is $(date when
// nothing closes it, whereas $(1 + 2 is an error. Sizes give whole bytes,
// a percentage of something a whole number, both rounded towards zero; other
// results have at most nine decimals.
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
