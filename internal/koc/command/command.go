// Package command declares the commands of koc as data and reads command lines by
// their declarations, as argparse does for the openstack client: options anywhere,
// unambiguous abbreviations, mutually exclusive groups, repeated and optional
// values, exit code 2 for what cannot be understood.
//
// A service lists [Entry] values; only the entry that a run needs is built.
package command

import "context"

// Entry is a command by its words, built on demand.
type Entry struct {
	Name  string // "network create"
	Build func() Command
}

// Command is one leaf of the tree.
type Command struct {
	Short string // one sentence, present tense, no full stop
	Long  string // more paragraphs for its own help; may be empty
	Args  []Arg
	Flags []Flag
	// Exclusive lists groups of flags of which one may be given, as in
	// "share no-share". A group that begins with "!" needs one of them.
	Exclusive []string
	Output    Output
	// NoWatch keeps --watch off a command that reads but must not be repeated.
	NoWatch bool
	// OptIn names the columns of a listing that only -c or --sort-column shows.
	OptIn []string
	// Columns are those of a listing that are known before it asks the cloud, without
	// and with --long; nil is unknown. They complete -c.
	Columns func(long bool) []string
	// Aliases are other words for the same command, hidden from lists.
	Aliases []string
	Run     func(ctx context.Context, c *Call) error
}

// Output is the kind of result a command prints. It decides its formatter flags:
// none, those of a listing (with --sort-column, --quote and --watch) or those of
// one thing (with --variable and --prefix).
type Output int

// The kinds of result. Created is one thing that a write returns: it is printed
// like Shown, but never watched.
const (
	None Output = iota
	Listed
	Shown
	Created
)

// Type is what the value of a flag must be.
type Type int

// The types of values.
const (
	Text         Type = iota
	Int               // any integer
	Natural           // an integer of 0 or more
	Float             // a decimal number
	KeyValue          // key=value, repeatable, the last value of a key wins
	KeyList           // key=value, repeatable, a key keeps all its values
	Records           // key=value,key=value: one record each time, repeatable
	Commas            // a,b,c: repeatable, split at commas
	JSONKeyValue      // a JSON object or key=value pairs
)

// Flag is an option.
type Flag struct {
	Name  string   // without the dashes: "mtu"; one letter is a short flag only
	Short string   // one letter: "f"
	Also  []string // other spellings, hidden from help, without dashes
	Value string   // what help calls the value: "<mtu>"; "" for a flag without one
	Type  Type
	Help  string // one sentence
	// Choices are the accepted values.
	Choices []string
	// Default is the value when the flag is not given, "" for none.
	Default string
	// Optional makes the value optional; it is then this text.
	Optional string
	Repeat   bool // every value is kept, else the last one wins
	Required bool
	Hidden   bool // accepted, not shown
	// Keys are the keys a record of type Records may have; those with a "!" in
	// front it must have. None means any.
	Keys []string
	// LooseCommas lets values of Records have commas: a piece without an equals
	// sign goes on the value before it.
	LooseCommas bool
	// Fold matches choices without regard to case; the value becomes the choice as
	// it is declared. Without choices it makes the value lower case.
	Fold bool
	// Attached makes an optional value need the equals sign: --watch=5s.
	Attached bool
	// Loose are values, in any case, that an attached flag takes without the equals
	// sign all the same.
	Loose []string
	// Complete names the noun whose names complete the value: "network".
	Complete string
	// Koc marks a flag that upstream does not have.
	Koc bool
}

// takesValue reports whether the flag is followed by a value.
func (f *Flag) takesValue() bool { return f.Value != "" }

// keepsAll reports whether a repeated flag adds to what it was given before.
func (f *Flag) keepsAll() bool {
	switch f.Type {
	case KeyValue, KeyList, Records, Commas, JSONKeyValue:
		return true
	case Text, Int, Natural, Float:
	}
	return f.Repeat
}

// spellings are the names of a flag without dashes.
func (f *Flag) spellings() []string {
	if len(f.Also) == 0 {
		return []string{f.Name}
	}
	return append([]string{f.Name}, f.Also...)
}

// Dashed is the flag as it is typed.
func (f *Flag) Dashed() string { return dashed(f.Name) }

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// Arg is a positional argument.
type Arg struct {
	Name     string // "<network>"; it is also the key of its values
	Help     string
	Many     bool // one or more
	Optional bool // may be left out; with Many: none or more
	Choices  []string
	Complete string
}
