package keyword

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// Query selects what [Schema.Doc] tells.
type Query struct {
	Keyword string // "fs#1.type", "fs.type", "nodes"
	Driver  string // "app.simple", or a section, "DEFAULT"
	Depth   int    // how deep in a document the headings go; zero is the top
}

// Doc returns the documentation of a keyword, of a driver or a section, or of
// everything, in markdown. doc tells the drivers of the sections; nil when
// there is no object to look at.
func (s *Schema) Doc(doc *config.Document, q Query) (string, error) {
	w := docWriter{depth: max(0, q.Depth)}
	v := s.view(doc)
	switch {
	case q.Keyword != "":
		if err := v.docKeyword(&w, q); err != nil {
			return "", err
		}
	case q.Driver != "":
		c, err := v.chapter(q.Driver)
		if err != nil {
			return "", err
		}
		w.chapter(v, c)
	default:
		for i, c := range v.chapters() {
			if i > 0 {
				w.line("")
			}
			w.chapter(v, c)
		}
	}
	return w.String(), nil
}

// Page is a page of the generated reference.
type Page struct {
	Name     string // file name without suffix, "app.simple"
	Title    string
	Markdown string
}

// Pages returns the reference pages, one per section or driver, in the order
// of the schema.
func (s *Schema) Pages() []Page {
	v := s.view(nil)
	var pages []Page
	for _, c := range v.chapters() {
		var w docWriter
		w.chapter(v, c)
		pages = append(pages, Page{Name: c.name, Title: c.name, Markdown: w.String()})
	}
	return pages
}

// A chapter is a section or a driver.
type chapter struct {
	name     string
	declared *Section
	typ      string
	place    *place
}

func (v *view) chapters() []chapter {
	var out []chapter
	for i := range v.schema.Sections {
		d := &v.schema.Sections[i]
		for typ := range d.eachTypes() {
			out = append(out, d.chapter(typ))
		}
	}
	return out
}

func (d *Section) chapter(typ string) chapter {
	c := chapter{name: d.Name, declared: d, typ: typ, place: &place{declared: d, tables: d.tables(typ)}}
	if typ != "" {
		c.name += "." + typ
		c.place.driver = c.name
	}
	return c
}

func (v *view) chapter(name string) (chapter, error) {
	base, typ, _ := strings.Cut(name, ".")
	var known []string
	for _, c := range v.chapters() {
		known = append(known, c.name)
		alias := c.typ != "" && c.declared.Name == base && c.declared.TypeAliases[typ] == c.typ
		if c.name == name || alias {
			return c, nil
		}
	}
	near := nearest(name, known)
	if near == "" {
		return chapter{}, fmt.Errorf("driver %s is unknown: use one of %s", name, strings.Join(known, ", "))
	}
	return chapter{}, fmt.Errorf("driver %s is unknown%s", name, didYouMean(near))
}

// docKeyword writes the keyword of a section of the document, or of every
// driver that has it when no section tells which.
func (v *view) docKeyword(w *docWriter, q Query) error {
	key, err := config.ParseKey(q.Keyword)
	if err != nil {
		return err
	}
	if q.Driver != "" {
		c, err := v.chapter(q.Driver)
		if err != nil {
			return err
		}
		k, ok := v.lookIn(c, key.Option)
		if !ok {
			return v.unknown(key.Section, key.Option, c.place)
		}
		w.keyword(c.name+"."+k.Name, k, c.declared, v.access(c.name, k))
		return nil
	}
	base := baseName(key.Section)
	d := v.schema.declaration(base)
	k, err := v.find(key.Section, key.Option)
	if err == nil && (v.doc.Has(key.Section) || !d.typed()) {
		name := d.Name
		if driver := v.section(key.Section).driver; driver != "" {
			name = driver
		}
		w.keyword(key.String(), k, d, v.access(name, k))
		return nil
	}
	var unknown *UnknownKeywordError
	if d == nil || errors.As(err, &unknown) && (v.doc.Has(key.Section) || !d.typed()) {
		return err
	}
	return v.docVariants(w, d, key.Option)
}

func (v *view) lookIn(c chapter, option string) (*Keyword, bool) {
	for _, k := range v.keywords(c.place) {
		if k.Name == option || slices.Contains(k.Aliases, option) {
			return k, true
		}
	}
	return nil, false
}

// docVariants writes a keyword of a group, once for the drivers that agree.
func (v *view) docVariants(w *docWriter, d *Section, option string) error {
	var texts []string
	drivers := map[string][]string{}
	for typ := range d.eachTypes() {
		c := d.chapter(typ)
		k, ok := v.lookIn(c, option)
		if !ok {
			continue
		}
		one := docWriter{depth: w.depth}
		one.keyword(d.Name+"."+k.Name, k, d, v.access(c.name, k))
		text := one.String()
		if len(drivers[text]) == 0 {
			texts = append(texts, text)
		}
		drivers[text] = append(drivers[text], c.name)
	}
	if len(texts) == 0 {
		return v.unknown(d.Name, option, &place{declared: d, driver: d.Name, tables: d.allTables()})
	}
	for i, text := range texts {
		if i > 0 {
			w.line("")
		}
		w.b.WriteString(text)
		if d.typed() {
			w.line("")
			w.paragraph("Read by " + strings.Join(drivers[text], ", ") + ".")
		}
	}
	return nil
}

// A docWriter writes markdown.
type docWriter struct {
	b     strings.Builder
	depth int
}

func (w *docWriter) String() string { return w.b.String() }

func (w *docWriter) line(s string) { w.b.WriteString(s + "\n") }

func (w *docWriter) heading(level int, title string) {
	w.line(strings.Repeat("#", min(6, level+w.depth)) + " " + title)
	w.line("")
}

// paragraph wraps a text; blank lines separate paragraphs and indented lines
// are kept as they are.
func (w *docWriter) paragraph(text string) {
	const width = 78
	column := 0
	flush := func() {
		if column > 0 {
			w.line("")
			column = 0
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "* ") {
			flush()
			w.line(strings.TrimRight(line, " "))
			continue
		}
		for word := range strings.FieldsSeq(line) {
			if column > 0 && column+1+len(word) > width {
				flush()
			}
			if column > 0 {
				w.b.WriteByte(' ')
				column++
			}
			w.b.WriteString(word)
			column += len(word)
		}
	}
	flush()
}

func (w *docWriter) chapter(v *view, c chapter) {
	w.heading(1, c.name)
	if c.declared.Doc != "" && (c.typ == "" || v.typeDoc(c) == "") {
		w.paragraph(c.declared.Doc)
		w.line("")
	}
	if text := v.typeDoc(c); text != "" {
		w.paragraph(text)
		w.line("")
	}
	w.minimal(v, c)
	if c.declared.Open {
		scope := "they cannot be scoped."
		if c.declared.OpenScopable {
			scope = "they can be scoped."
		}
		w.paragraph("Any option can be set in this section; " + scope)
	}
	for i, k := range v.keywords(c.place) {
		if i > 0 {
			w.line("")
		}
		w.depth++
		w.keyword(k.Name, k, c.declared, v.access(c.name, k))
		w.depth--
	}
}

// typeDoc is what a driver does.
func (v *view) typeDoc(c chapter) string { return c.declared.TypeDocs[c.typ] }

// minimal writes the shortest section that is accepted.
func (w *docWriter) minimal(v *view, c chapter) {
	if c.declared.Open || c.declared.Name == config.DefaultSection {
		return
	}
	name := c.declared.Name
	if c.declared.Indexed {
		name += "#1"
	}
	w.line("```ini")
	w.line("[" + name + "]")
	for _, k := range v.keywords(c.place) {
		switch {
		case k.Name == "type" && c.typ != "":
			w.line("type = " + c.typ)
		case k.Option.Required && k.Option.Default == "":
			w.line(strings.TrimRight(k.Name+" = "+k.example(), " "))
		}
	}
	w.line("```")
	w.line("")
}

// example is a value one could write.
func (k *Keyword) example() string {
	switch {
	case k.Example != "":
		return k.Example
	case len(k.named()) > 0:
		return k.named()[0]
	default:
		return ""
	}
}

// access is what a keyword asks of who sets it.
func (v *view) access(driver string, k *Keyword) string {
	if v.schema.Access == nil {
		return ""
	}
	return v.schema.Access(driver, k.Name)
}

// keyword writes the facts, then the explanation.
func (w *docWriter) keyword(title string, k *Keyword, d *Section, access string) {
	w.heading(1, title)
	fact := func(name, value string) {
		if value != "" {
			w.line(fmt.Sprintf("    %-13s %s", name+":", value))
		}
	}
	fact("type", string(k.Type))
	fact("required", yesNo(k.Option.Required && k.Option.Default == ""))
	fact("scopable", yesNo(k.Option.Scopable))
	fact("inherit", k.inheritText(d))
	fact("default", k.defaultText())
	fact("candidates", strings.Join(k.named(), ", "))
	fact("aliases", strings.Join(k.Aliases, ", "))
	fact("kinds", kindList(k.Kinds))
	fact("depends", strings.Join(k.Depends, ", "))
	fact("deprecated", k.Deprecation)
	fact("rbac", access)
	if k.IsProvisioning {
		fact("provisioning", "read only when provisioning")
	}
	if k.IsRecorded {
		fact("recorded", "written when what it names is made, and reset when the object is cloned")
	}
	if k.Help != "" {
		w.line("")
		w.paragraph(k.Help)
	}
	if k.Example != "" {
		w.line("")
		w.line("Example:")
		w.line("")
		w.line("    " + k.Name + " = " + strings.ReplaceAll(k.Example, "\n", "\n      "))
	}
}

func (k *Keyword) inheritText(d *Section) string {
	if d != nil && d.Name == config.DefaultSection {
		return ""
	}
	text := k.Option.Inherit.String()
	if k.Option.HeadName != "" {
		text += ", as " + k.Option.HeadName + " in DEFAULT"
	}
	return text
}

func (k *Keyword) defaultText() string {
	if k.DefaultDoc != "" {
		return k.DefaultDoc
	}
	return k.Option.Default
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
