package config

// Operator is what an [Op] does to a value.
type Operator string

// The operators.
const (
	OpSet    Operator = "="
	OpAppend Operator = "+="
	OpAdd    Operator = "|="
	OpRemove Operator = "-="
	OpToggle Operator = "^="
	OpInsert Operator = "[]=" // insert at Index
	OpDelete Operator = "[]"  // remove the element at Index
)

// Op is one operation on a key, as "env.x+=1".
type Op struct {
	Key      Key
	Operator Operator
	Index    int
	Value    string
}

// ParseOp reads a keyword operation.
func ParseOp(s string) (Op, error) { panic("to write") }

// String prints the operation as [ParseOp] reads it.
func (o Op) String() string { panic("to write") }

// Change is a batch of edits applied as one transaction.
type Change struct {
	Delete []string // sections
	Unset  []Key
	Set    []Op

	// Group tells whether a name, as "fs", stands for every section "fs#...".
	// Nil: it does when the document has no section of that name and some "fs#...".
	Group func(name string) bool
}

// Apply edits d: sections are deleted, keys unset, then operations done, in
// that order. All or nothing: on error d is as it was. list tells whether a
// keyword is a list, the only place where elements can be inserted.
func (c Change) Apply(d *Document, list func(Key) bool) (changed bool, err error) { panic("to write") }
