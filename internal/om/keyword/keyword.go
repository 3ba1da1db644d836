// Package keyword declares what may be written in a configuration. A driver or
// a section binds each keyword to a field, the way package flag does:
//
//	func (d *flag) Keywords(k *keyword.Table) {
//		k.Bool(&d.force, "force", "Replace a flag left by another node.").Scopable()
//	}
//
// Decoding, defaults, validation, completion, `om config doc` and the reference
// pages all replay that one table. The package is pure.
package keyword

import (
	"math"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Type names how the text of a value converts.
type Type string

// The types, named as the keyword reference prints them.
const (
	TypeString   Type = "string"
	TypeInt      Type = "int"
	TypeBool     Type = "bool"
	TypeTristate Type = "tristate" // a bool that may be left unset
	TypeSize     Type = "size"     // bytes
	TypeDuration Type = "duration" // a bare number is seconds
	TypeList     Type = "list"
	TypeSet      Type = "set"
	TypeLower    Type = "listlowercase"
	TypeShlex    Type = "shlex"
	TypeUmask    Type = "umask"
	TypeFileMode Type = "filemode"
	TypeNodes    Type = "nodes" // a node selector
	TypePeers    Type = "peers" // a node selector, empty by default
)

// Definition is what a keyword is: how it is looked up, converted and explained.
type Definition struct {
	config.Option // name, aliases, scope, inheritance, default, required

	Type           Type
	Help           string   // full sentences, present tense
	Example        string   // a value one could write
	Candidates     []string // the only values allowed, when not empty
	DefaultDoc     string   // said instead of the default when it depends on the site
	IsProvisioning bool     // read only when provisioning
	IsRecorded     bool     // written by the agent, reset when the object is cloned
	Deprecation    string   // what to write instead, when deprecated
	Kinds          []object.Kind
	Depends        []string // "topology=flex", ".mode=ovs": read only then
}

// Keyword is one declared option of a section, bound to a field.
type Keyword struct {
	Definition

	set    func(text string, c Context) error
	checks []func(text string) error
	refers func(text string) []string // the sections a value names
	word   string                     // what is accepted besides; nothing when empty
}

// Context gives the converters what depends on the site.
type Context struct {
	// Nodes expands a node selector into node names. Nil: names are kept as written.
	Nodes func(selector string) ([]string, error)
}

// Table is an ordered list of keywords, each bound to a field.
type Table struct {
	keywords []*Keyword
	seen     [16]uint64 // a filter of the names
	room     []Keyword  // the next ones, made together: tables are built at each decode
}

// Keywords returns the declarations, in declaration order.
func (t *Table) Keywords() []*Keyword { return t.keywords }

// Find returns the keyword named or aliased name, nil when there is none.
func (t *Table) Find(name string) *Keyword {
	for _, k := range t.keywords {
		if k.Name == name || slices.Contains(k.Aliases, name) {
			return k
		}
	}
	return nil
}

func (t *Table) add(typ Type, name, help string, set func(string, Context) error) *Keyword {
	t.refuseTwice(name)
	if len(t.room) == 0 {
		t.room = make([]Keyword, 16)
	}
	k := &t.room[0]
	t.room = t.room[1:]
	k.Name, k.Type, k.Help, k.set = name, typ, help, set
	t.keywords = append(t.keywords, k)
	return k
}

// refuseTwice panics when a name is declared already. Tables are built at each
// decode: names are compared only when a filter cannot tell them apart.
func (t *Table) refuseTwice(name string) {
	hash := uint32(2166136261) // FNV-1a
	for i := range len(name) {
		hash = (hash ^ uint32(name[i])) * 16777619
	}
	word, bit := &t.seen[hash>>6%uint32(len(t.seen))], uint64(1)<<(hash%64)
	if *word&bit != 0 && t.Find(name) != nil {
		panic("keyword " + name + " is declared twice")
	}
	*word |= bit
}

// The modifiers below return the keyword, to be chained after a declaration.

// Required refuses a configuration that does not set the keyword.
func (k *Keyword) Required() *Keyword { k.Option.Required = true; return k }

// Default gives the text a missing keyword reads as. It may hold references.
func (k *Keyword) Default(text string) *Keyword { k.Option.Default = text; return k }

// DefaultText says in words what the default is, when it depends on the site.
func (k *Keyword) DefaultText(text string) *Keyword { k.DefaultDoc = text; return k }

// Scopable allows name@node, name@nodes, name@drpnodes and name@encapnodes.
func (k *Keyword) Scopable() *Keyword { k.Option.Scopable = true; return k }

// Inherit sets where the value is looked up; [config.LeafToHead] by default.
func (k *Keyword) Inherit(i config.Inherit) *Keyword { k.Option.Inherit = i; return k }

// HeadName names the DEFAULT option inherited from, when it is another name.
func (k *Keyword) HeadName(option string) *Keyword { k.Option.HeadName = option; return k }

// Alias adds names read when the keyword itself is not set.
func (k *Keyword) Alias(names ...string) *Keyword {
	k.Aliases = append(k.Aliases, names...)
	return k
}

// OrWord accepts a word besides the values of the type, whatever the rules. It
// leaves the field as it is.
func (k *Keyword) OrWord(word string) *Keyword { k.word = word; return k }

// OneOf lists the only values allowed.
func (k *Keyword) OneOf(values ...string) *Keyword { k.Candidates = values; return k }

// Check adds a rule that an evaluated value must follow, once it converts. The
// error says what is wrong and what to write; the key and the value are told
// by the caller.
func (k *Keyword) Check(rule func(text string) error) *Keyword {
	k.checks = append(k.checks, rule)
	return k
}

// Between bounds a number.
func (k *Keyword) Between(low, high int) *Keyword { return k.Check(between(low, high)) }

// AtLeast bounds a number from below.
func (k *Keyword) AtLeast(low int) *Keyword { return k.Check(between(low, math.MaxInt)) }

// Sections says that a value names other sections of the configuration, which
// must be there, and how to read their names in it.
func (k *Keyword) Sections(names func(text string) []string) *Keyword {
	k.refers = names
	return k
}

// Provisioning marks a keyword read only when provisioning.
func (k *Keyword) Provisioning() *Keyword { k.IsProvisioning = true; return k }

// Recorded marks a keyword the agent writes, and resets when the object is cloned.
func (k *Keyword) Recorded() *Keyword { k.IsRecorded = true; return k }

// Deprecated says what to write instead.
func (k *Keyword) Deprecated(instead string) *Keyword { k.Deprecation = instead; return k }

// Eg gives an example value.
func (k *Keyword) Eg(value string) *Keyword { k.Example = value; return k }

// For restricts the keyword to some kinds of objects.
func (k *Keyword) For(kinds ...object.Kind) *Keyword { k.Definition.Kinds = kinds; return k }

// When says with which other settings the keyword is read: "topology=flex" is
// one of DEFAULT, ".mode=ovs" one of the same section.
func (k *Keyword) When(keyvals ...string) *Keyword { k.Depends = keyvals; return k }
