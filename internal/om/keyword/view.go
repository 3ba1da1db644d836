package keyword

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// A view is a schema seen from one document, which tells the driver of each
// section. Tables are built once, when first asked for.
type view struct {
	schema  *Schema
	doc     *config.Document
	places  map[string]*place
	inherit map[string]*Keyword // of DEFAULT, by option; nil values are known misses
	built   map[tableKey][]*Table
	owners  map[string][]tableKey // the drivers that have an option; nil until asked for
	drivers []*place              // one section for each driver, in file order; nil until asked for
}

type tableKey struct {
	declared *Section
	typ      string
}

// A place is a section of the document and what may be written in it.
type place struct {
	declared *Section
	driver   string // "app.simple", empty when untyped
	tables   []*Table
	err      error
}

func (s *Schema) view(doc *config.Document) *view {
	if doc == nil {
		doc = config.NewDocument()
	}
	return &view{schema: s, doc: doc, places: map[string]*place{}, inherit: map[string]*Keyword{}, built: map[tableKey][]*Table{}}
}

// tables builds the keywords of a driver type, once.
func (v *view) tables(d *Section, typ string) []*Table {
	k := tableKey{d, typ}
	t, ok := v.built[k]
	if !ok {
		t = d.tables(typ)
		v.built[k] = t
	}
	return t
}

// baseName is the name of a section without its index.
func baseName(section string) string {
	name, _, _ := strings.Cut(section, "#")
	return name
}

func (v *view) section(name string) *place {
	p, ok := v.places[name]
	if !ok {
		p = v.locate(name)
		v.places[name] = p
	}
	return p
}

func (v *view) isOpen(section string) bool {
	p := v.section(section)
	return p.declared != nil && p.declared.Open
}

func (v *view) locate(name string) *place {
	base, index, indexed := strings.Cut(name, "#")
	d := v.schema.declaration(base)
	switch {
	case d == nil:
		return &place{err: &UnknownSectionError{Section: name, Nearest: v.nearestSection(name)}}
	case d.Indexed && index == "":
		return &place{err: &UnknownSectionError{Section: name, Reason: "an index is missing: write " + base + "#1"}}
	case strings.Contains(index, "@"):
		index, scope, _ := strings.Cut(index, "@")
		return &place{err: &UnknownSectionError{Section: name, Reason: fmt.Sprintf("a section has no scope: write [%s#%s], and the scope after its options, as option@%s", base, index, scope)}}
	case !d.Indexed && indexed:
		return &place{err: &UnknownSectionError{Section: name, Reason: "it takes no index: write " + base}}
	case !d.typed():
		return &place{declared: d, tables: v.tables(d, "")}
	}
	typ, _ := v.doc.Get(config.Key{Section: name, Option: "type"})
	if typ == "" {
		typ = d.DefaultType
	}
	if alias, ok := d.TypeAliases[typ]; ok {
		typ = alias
	}
	if typ == "" || d.Types[typ] == nil {
		known := d.typeNames()
		return &place{declared: d, err: &UnknownDriverError{Section: name, Type: typ, Known: known, Nearest: nearest(typ, known)}}
	}
	return &place{declared: d, driver: base + "." + typ, tables: v.tables(d, typ)}
}

func (v *view) nearestSection(name string) string {
	base, index, _ := strings.Cut(name, "#")
	names := make([]string, 0, len(v.schema.Sections))
	for _, d := range v.schema.Sections {
		names = append(names, d.Name)
	}
	near := nearest(base, names)
	if d := v.schema.declaration(near); d != nil && d.Indexed {
		if index == "" {
			index = "1"
		}
		near += "#" + index
	}
	return near
}

// keywords lists what may be written in a place, those of other kinds excepted.
func (v *view) keywords(p *place) []*Keyword {
	var out []*Keyword
	seen := map[string]bool{}
	for _, t := range p.tables {
		for _, k := range t.keywords {
			if v.schema.allows(k) && !seen[k.Name] {
				seen[k.Name] = true
				out = append(out, k)
			}
		}
	}
	if p.declared != nil && p.declared.typed() && !seen["type"] {
		out = slices.Insert(out, 0, p.declared.typeKeyword())
	}
	return out
}

func (p *place) find(option string) *Keyword {
	for _, t := range p.tables {
		if k := t.Find(option); k != nil {
			return k
		}
	}
	return nil
}

func (v *view) find(section, option string) (*Keyword, error) {
	p := v.section(section)
	if p.err != nil {
		if option == "type" && p.declared != nil {
			return p.declared.typeKeyword(), nil
		}
		return nil, p.err
	}
	if k := p.find(option); k != nil && v.schema.allows(k) {
		return k, nil
	}
	if option == "type" && p.declared.typed() {
		return p.declared.typeKeyword(), nil
	}
	if section == config.DefaultSection {
		if k := v.inherited(option); k != nil {
			return k, nil
		}
	}
	if p.declared.Open {
		return &Keyword{
			Definition: Definition{
				Option: config.Option{Name: option, Scopable: p.declared.OpenScopable, Inherit: config.LeafOnly},
				Type:   TypeString,
			},
			set: func(string, Context) error { return nil },
		}, nil
	}
	return nil, v.unknown(section, option, p)
}

// inherited returns the keyword that sections read from an option of DEFAULT:
// one of the sections of the document if possible.
func (v *view) inherited(option string) *Keyword {
	if k, ok := v.inherit[option]; ok {
		return k
	}
	k := v.searchInherited(option)
	v.inherit[option] = k
	return k
}

func (v *view) searchInherited(option string) *Keyword {
	for _, p := range v.driversInUse() {
		if k := v.asInherited(p.tables, option); k != nil {
			return k
		}
	}
	for i := range v.schema.Sections {
		d := &v.schema.Sections[i]
		if d.Name == config.DefaultSection {
			continue
		}
		for typ := range d.eachTypes() {
			if k := v.asInherited(v.tables(d, typ), option); k != nil {
				return k
			}
		}
	}
	return nil
}

// driversInUse lists one section of the document for each driver.
func (v *view) driversInUse() []*place {
	if v.drivers != nil {
		return v.drivers
	}
	v.drivers = []*place{}
	seen := map[*Table]bool{}
	for _, name := range v.doc.Sections() {
		p := v.section(name)
		if name == config.DefaultSection || len(p.tables) == 0 || seen[p.tables[0]] {
			continue
		}
		seen[p.tables[0]] = true
		v.drivers = append(v.drivers, p)
	}
	return v.drivers
}

// eachTypes goes through the driver types, "" when there is none.
func (d *Section) eachTypes() func(yield func(string) bool) {
	names := d.typeNames()
	if len(names) == 0 {
		names = []string{""}
	}
	return slices.Values(names)
}

// asInherited returns the keyword of the tables that reads option in DEFAULT,
// as it looks from there: neither required nor having a default.
func (v *view) asInherited(tables []*Table, option string) *Keyword {
	for _, t := range tables {
		for _, k := range t.keywords {
			if k.Option.Inherit == config.LeafOnly || !v.schema.allows(k) {
				continue
			}
			names := k.Option.HeadName == option
			if k.Option.HeadName == "" {
				names = k.Name == option
			}
			if names || slices.Contains(k.Aliases, option) {
				head := *k
				head.Name, head.Option.HeadName, head.Aliases = option, "", nil
				head.Option.Required, head.Option.Default = false, ""
				head.Depends = nil
				return &head
			}
		}
	}
	return nil
}

// unknown says what is wrong with an option, and what would be right.
func (v *view) unknown(section, option string, p *place) error {
	e := &UnknownKeywordError{Section: section, Option: option, Driver: p.driver}
	if k := p.find(option); k != nil {
		e.Elsewhere = "it is a keyword of " + kindList(k.Kinds) + " objects"
		return e
	}
	if e.Elsewhere = v.elsewhere(option, p); e.Elsewhere != "" {
		return e
	}
	var names []string
	for _, k := range v.keywords(p) {
		names = append(append(names, k.Name), k.Aliases...)
	}
	e.Nearest = nearest(option, names)
	return e
}

// elsewhere tells which other sections and drivers have the option.
func (v *view) elsewhere(option string, p *place) string {
	if v.owners == nil {
		v.findOwners()
	}
	var drivers []string
	example := ""
	for _, owner := range v.owners[option] {
		d, name := owner.declared, owner.declared.Name
		if owner.typ != "" {
			name += "." + owner.typ
		}
		if name == p.driver || d == p.declared && owner.typ == "" {
			continue
		}
		drivers = append(drivers, name)
		if example == "" && d != p.declared {
			example = d.place() + option
		}
	}
	return describeElsewhere(drivers, example)
}

// findOwners lists the drivers that have each option.
func (v *view) findOwners() {
	v.owners = map[string][]tableKey{}
	for i := range v.schema.Sections {
		d := &v.schema.Sections[i]
		for typ := range d.eachTypes() {
			owner := tableKey{d, typ}
			for _, t := range v.tables(d, typ) {
				for _, k := range t.keywords {
					if v.schema.allows(k) {
						v.own(owner, k)
					}
				}
			}
		}
	}
}

func (v *view) own(owner tableKey, k *Keyword) {
	for _, name := range append([]string{k.Name}, k.Aliases...) {
		known := v.owners[name]
		if len(known) == 0 || known[len(known)-1] != owner {
			v.owners[name] = append(known, owner)
		}
	}
}

// place is how a key of the section starts.
func (d *Section) place() string {
	switch {
	case d.Name == config.DefaultSection:
		return ""
	case d.Indexed:
		return d.Name + "#1."
	default:
		return d.Name + "."
	}
}

func describeElsewhere(drivers []string, example string) string {
	const most = 4
	if len(drivers) == 0 {
		return ""
	}
	text := strings.Join(drivers[:min(most, len(drivers))], ", ")
	if n := len(drivers) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	text = "it is a keyword of " + text
	if example != "" {
		text += ", written " + example
	}
	return text
}

func kindList(kinds []object.Kind) string {
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}
