package keyword

import (
	"maps"
	"slices"

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
	TypeDocs    map[string]string // what each driver does, full sentences
	DefaultType string            // read when the section has no type
	TypeAliases map[string]string // other names of a type
}

// Schema is everything a configuration may hold.
type Schema struct {
	Name     string
	Kind     object.Kind // keywords declared for other kinds are refused; empty: none is
	Sections []Section
	// Access says, in a sentence, what a keyword of a driver, or of a section
	// without drivers, asks of who sets it besides the role on the object. Nil:
	// nothing is said of it.
	Access func(driver, option string) string
}

// Declarer tells what may be written in the sections of one state of the
// document: the driver, or the name of the section when it has none, and the
// keywords. It serves one goroutine.
func (s *Schema) Declarer(doc *config.Document) func(section string) (driver string, keywords []*Keyword, err error) {
	v := s.view(doc)
	return func(section string) (string, []*Keyword, error) {
		p := v.section(section)
		if p.err != nil {
			return "", nil, p.err
		}
		driver := p.driver
		if driver == "" {
			driver = p.declared.Name
		}
		return driver, v.keywords(p), nil
	}
}

// Inherits lists, by driver type, the keywords of the section that are read in
// DEFAULT under the name option.
func (d *Section) Inherits(option string) map[string][]string {
	found := map[string][]string{}
	for typ := range d.eachTypes() {
		for _, t := range d.tables(typ) {
			for _, k := range t.keywords {
				if k.inherits(option) {
					found[typ] = append(found[typ], k.Name)
				}
			}
		}
	}
	return found
}

// inherits tells whether the keyword of a section is read in DEFAULT as option.
func (k *Keyword) inherits(option string) bool {
	if k.Option.Inherit == config.LeafOnly {
		return false
	}
	head := k.Option.HeadName
	if head == "" {
		head = k.Name
	}
	return head == option || slices.Contains(k.Aliases, option)
}

// Find returns the declaration of an option of a section of doc, or an
// [UnknownSectionError], [UnknownDriverError] or [UnknownKeywordError]. In
// DEFAULT are also found the keywords which sections inherit from it. doc tells
// the driver of the section; nil is an empty document.
func (s *Schema) Find(doc *config.Document, section, option string) (*Keyword, error) {
	return s.view(doc).find(section, option)
}

// Finder is Find for many options of one state of the document: the tables are
// built once. It serves one goroutine.
func (s *Schema) Finder(doc *config.Document) func(section, option string) (*Keyword, error) {
	return s.view(doc).find
}

// Options is Find as an evaluator wants it: the tables are built once, so it
// serves one goroutine and one state of the document.
func (s *Schema) Options(doc *config.Document) func(section, option string) (config.Option, bool) {
	v := s.view(doc)
	return func(section, option string) (config.Option, bool) {
		k, err := v.find(section, option)
		if err != nil {
			return config.Option{}, false
		}
		return k.Option, true
	}
}

// IsGroup tells whether name is that of indexed sections, as "fs" is. It is
// meant for config.Change.Group.
func (s *Schema) IsGroup(name string) bool {
	d := s.declaration(name)
	return d != nil && d.Indexed
}

// IsOpen tells whether any option may be written in a section, as in "env".
func (s *Schema) IsOpen(section string) bool {
	d := s.declaration(baseName(section))
	return d != nil && d.Open
}

// IsList tells whether a key of doc is a list. It is meant for
// config.Change.Apply: the section may be one the change is adding, so a
// keyword of any driver of the section counts.
func (s *Schema) IsList(doc *config.Document) func(config.Key) bool {
	v := s.view(doc)
	return func(k config.Key) bool {
		if kw, err := v.find(k.Section, k.Option); err == nil {
			return kw.IsList() || v.isOpen(k.Section)
		}
		d := s.declaration(baseName(k.Section))
		if d == nil {
			return false
		}
		for typ := range d.eachTypes() {
			p := &place{tables: d.tables(typ)}
			if kw := p.find(k.Option); kw != nil {
				return kw.IsList()
			}
		}
		return false
	}
}

// Driver returns the driver of a section of doc, as "app.simple"; empty when
// the section has no type.
func (s *Schema) Driver(doc *config.Document, section string) (string, error) {
	p := s.view(doc).section(section)
	return p.driver, p.err
}

func (s *Schema) declaration(name string) *Section {
	for i := range s.Sections {
		if s.Sections[i].Name == name {
			return &s.Sections[i]
		}
	}
	return nil
}

// allows tells whether the keyword is for the objects of the schema.
func (s *Schema) allows(k *Keyword) bool {
	return s.Kind == "" || len(k.Kinds) == 0 || slices.Contains(k.Kinds, s.Kind)
}

// typeNames lists the driver types, sorted, without the common table.
func (d *Section) typeNames() []string {
	names := slices.Sorted(maps.Keys(d.Types))
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// typed tells whether the keywords depend on a driver.
func (d *Section) typed() bool {
	for name := range d.Types {
		if name != "" {
			return true
		}
	}
	return false
}

// tables builds the keywords of a driver type: its own, then the common ones.
func (d *Section) tables(typ string) []*Table {
	var out []*Table
	for _, build := range []func() *Table{d.Types[typ], d.Types[""]} {
		if build != nil {
			out = append(out, build())
		}
		if typ == "" {
			break
		}
	}
	return out
}

// allTables builds the keywords of every driver type.
func (d *Section) allTables() []*Table {
	var out []*Table
	for typ := range d.eachTypes() {
		out = append(out, d.tables(typ)...)
	}
	return out
}

// typeKeyword is the keyword that chooses the driver.
func (d *Section) typeKeyword() *Keyword {
	return &Keyword{
		Definition: Definition{
			Option: config.Option{
				Name: "type", Inherit: config.LeafOnly, Default: d.DefaultType, Required: d.DefaultType == "",
			},
			Type:       TypeString,
			Help:       "Names the driver, which decides what the other keywords of the section are.",
			Candidates: d.typeNames(),
		},
		set: func(string, Context) error { return nil },
	}
}
