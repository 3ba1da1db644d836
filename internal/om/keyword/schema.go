package keyword

import (
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Section declares the sections of a name.
type Section struct {
	Name         string // "DEFAULT", "env", "app"
	Doc          string // full sentences
	Open         bool   // any option is accepted, as in [env]
	OpenScopable bool   // ... and may be scoped
	Indexed      bool   // written name#index
	// Types gives the keywords by driver type. "" holds those of an untyped
	// section, or those common to every type.
	Types       map[string]func() *Table
	DefaultType string            // read when the section has no type
	TypeAliases map[string]string // other names of a type
}

// Schema is everything a configuration may hold.
type Schema struct {
	Name     string
	Kind     object.Kind // keywords declared for other kinds are refused; empty: none is
	Sections []Section
}

// Find returns the declaration of an option of a section of doc, or an
// [UnknownSectionError], [UnknownDriverError] or [UnknownKeywordError].
func (s *Schema) Find(doc *config.Document, section, option string) (*Keyword, error) {
	panic("to write")
}

// Options is Find as an evaluator wants it.
func (s *Schema) Options(doc *config.Document) func(section, option string) (config.Option, bool) {
	panic("to write")
}

// IsGroup tells whether name is that of indexed sections, as "fs" is.
func (s *Schema) IsGroup(name string) bool { panic("to write") }

// Driver returns the driver type of a section of doc, empty when untyped.
func (s *Schema) Driver(doc *config.Document, section string) (string, error) { panic("to write") }

// IsList tells whether a key is a list, for config.Change.Apply.
func (s *Schema) IsList(doc *config.Document) func(config.Key) bool { panic("to write") }

// Complete proposes the keys and values that continue prefix.
func (s *Schema) Complete(doc *config.Document, prefix string) []string { panic("to write") }

// Query selects what [Schema.Doc] tells.
type Query struct {
	Keyword string // "fs#1.type", "nodes"
	Driver  string // "app.simple"
	Depth   int    // heading depth
}

// Doc returns the documentation of a keyword, of a driver, or of everything.
func (s *Schema) Doc(doc *config.Document, q Query) (string, error) { panic("to write") }

// Page is a page of the generated reference.
type Page struct {
	Name     string // file name without suffix, "app.simple"
	Markdown string
}

// Pages returns the reference pages, one per section or driver.
func (s *Schema) Pages() []Page { panic("to write") }
