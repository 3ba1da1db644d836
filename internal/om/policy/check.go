package policy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Write is a configuration that is to replace another.
type Write struct {
	Path   object.Path
	Schema *keyword.Schema
	Former *config.Document // nil: the object is created
	Fresh  *config.Document
	// Evaluator evaluates a version as a node does.
	Evaluator func(doc *config.Document, node string) (*config.Evaluator, error)
	// Nodes are those that may read the configuration, besides those it names.
	Nodes []string
}

// Denial is a keyword the writer may not change.
type Denial struct {
	Key  config.Key
	Node string    // where it changes
	Role rbac.Role // what it asks
	Why  string    // more about it; may be empty
}

// DeniedError refuses a write.
type DeniedError struct {
	Path    object.Path
	Denials []Denial
}

// Error names each keyword.
func (e *DeniedError) Error() string {
	reasons := make([]string, len(e.Denials))
	for i, d := range e.Denials {
		reasons[i] = fmt.Sprintf("%s asks for the %s grant", d.Key, d.Role)
		if d.Why != "" {
			reasons[i] += ", " + d.Why
		}
	}
	return fmt.Sprintf("denied: %s: %s", e.Path, strings.Join(reasons, "; "))
}

// Check refuses the changes of a write that the grants do not cover, with a
// *[DeniedError]. What the write leaves as it evaluates needs no grant: it was
// allowed to whoever wrote it.
func Check(grants rbac.Grants, w Write) error {
	if grants.Has(rbac.Root) {
		return nil
	}
	former := w.Former
	if former == nil {
		former = config.NewDocument()
	}
	c := &check{Write: w, grants: grants, denied: map[config.Key]bool{}}
	c.was, c.is = c.version(former), c.version(w.Fresh)
	nodes, err := c.nodes()
	if err != nil {
		return err
	}
	for _, groups := range subsets(c.groups()) {
		for _, node := range nodes {
			if err := c.onNode(node, groups); err != nil {
				return err
			}
		}
	}
	if len(c.denials) == 0 {
		return nil
	}
	return &DeniedError{Path: w.Path, Denials: c.denials}
}

type check struct {
	Write

	grants  rbac.Grants
	was, is *version
	denied  map[config.Key]bool
	denials []Denial
}

// version is one of the two configurations.
type version struct {
	doc      *config.Document
	sections map[string]*place
	ev       *config.Evaluator // of the node being looked at
}

// place is what may be written in a section of a version.
type place struct {
	driver   string
	keywords map[string]*keyword.Keyword
	err      error
}

func (c *check) version(doc *config.Document) *version {
	v := &version{doc: doc, sections: map[string]*place{}}
	declared := c.Schema.Declarer(doc)
	for _, section := range doc.Sections() {
		p := &place{keywords: map[string]*keyword.Keyword{}}
		v.sections[section] = p
		var keywords []*keyword.Keyword
		p.driver, keywords, p.err = declared(section)
		for _, k := range keywords {
			p.keywords[k.Name] = k
		}
		if c.Schema.IsOpen(section) && !For(c.Path.Kind, p.driver, "").IsOpen() {
			for _, k := range doc.Keys(section) {
				p.keywords[k.Option] = &keyword.Keyword{Definition: keyword.Definition{
					Option: config.Option{Name: k.Option, Scopable: true, Inherit: config.LeafOnly},
				}}
			}
		}
	}
	return v
}

// elsewhere stands for the nodes the configuration does not name: what it says
// to them is read once they are added.
const elsewhere = "any other node"

// nodes lists where the configuration is, or may come to be, read: a keyword is
// written once per node, and a reference that means the same here may mean
// something else there.
func (c *check) nodes() ([]string, error) {
	nodes := slices.Clone(c.Nodes)
	for _, v := range []*version{c.was, c.is} {
		for _, section := range v.doc.Sections() {
			for _, k := range v.doc.Keys(section) {
				if k.Scope != "" && !slices.Contains(nodeLists(), k.Scope) {
					nodes = append(nodes, k.Scope)
				}
			}
		}
		for _, node := range c.Nodes {
			ev, err := c.Evaluator(v.doc, node)
			if err != nil {
				return nil, err
			}
			nodes = slices.Concat(nodes, ev.Scope.Nodes, ev.Scope.DRPNodes, ev.Scope.EncapNodes)
		}
	}
	slices.Sort(nodes)
	return append(slices.Compact(nodes), elsewhere), nil
}

// nodeLists are the lists of nodes that keywords are scoped by.
func nodeLists() []string { return []string{"nodes", "drpnodes", "encapnodes"} }

// groups are those of them that either version scopes a keyword by.
func (c *check) groups() []string {
	return slices.DeleteFunc(nodeLists(), func(group string) bool {
		return !slices.ContainsFunc([]*version{c.was, c.is}, func(v *version) bool {
			return slices.ContainsFunc(v.doc.Sections(), func(section string) bool {
				return slices.ContainsFunc(v.doc.Keys(section), func(k config.Key) bool { return k.Scope == group })
			})
		})
	})
}

// subsets lists those of groups, the empty one first.
func subsets(groups []string) [][]string {
	all := [][]string{nil}
	for _, group := range groups {
		for _, some := range slices.Clone(all) {
			all = append(all, append(slices.Clone(some), group))
		}
	}
	return all
}

// joined is a scope whose node is in some groups, whatever it is now: a selector
// of labels takes nodes in with no write of the object.
func joined(scope config.Scope, groups []string) config.Scope {
	for name, nodes := range map[string]*[]string{"nodes": &scope.Nodes, "drpnodes": &scope.DRPNodes, "encapnodes": &scope.EncapNodes} {
		if slices.Contains(groups, name) && !slices.Contains(*nodes, scope.Node) {
			*nodes = append(slices.Clone(*nodes), scope.Node)
		}
	}
	return scope
}

// onNode checks what a node evaluates, were it in some groups besides its own.
func (c *check) onNode(node string, groups []string) error {
	for _, v := range []*version{c.was, c.is} {
		ev, err := c.Evaluator(v.doc, node)
		if err != nil {
			return err
		}
		known := *ev
		known.Lookup, known.Scope = v.kept(ev.Lookup), joined(ev.Scope, groups)
		v.ev = known.Pass()
	}
	if len(groups) > 0 {
		node += ", as one of " + strings.Join(groups, " and ")
	}
	for _, section := range sections(c.was.doc, c.is.doc) {
		c.section(node, section)
	}
	return nil
}

// kept has what is known only once resources run stand for itself, with the
// section it depends on: two texts that refer to it alike are alike as long as
// that section is what it was.
func (v *version) kept(lookup func(section, name string) (string, bool, error)) func(section, name string) (string, bool, error) {
	if lookup == nil {
		return nil
	}
	return func(section, name string) (string, bool, error) {
		value, ok, err := lookup(section, name)
		if err != nil {
			target, _, _ := strings.Cut(name, ".")
			return fmt.Sprintf("{%s %x}", name, v.fingerprint(target)), true, nil //nolint:nilerr // it stands for itself
		}
		return value, ok, nil
	}
}

// fingerprint tells the lines of a section from others; those of the whole
// configuration when they refer to something.
func (v *version) fingerprint(section string) []byte {
	sum := sha256.New()
	add := func(section string) (refers bool) {
		for _, k := range v.doc.Keys(section) {
			text, _ := v.doc.Get(k)
			_, _ = fmt.Fprintf(sum, "%q %q\n", k.String(), text) // never fails
			refers = refers || strings.Contains(text, "{")
		}
		return refers
	}
	if add(section) {
		for _, other := range v.doc.Sections() {
			add(other)
		}
	}
	return sum.Sum(nil)[:8]
}

// sections lists those of either version.
func sections(docs ...*config.Document) []string {
	var all []string
	for _, doc := range docs {
		for _, name := range doc.Sections() {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

func (c *check) section(node, section string) {
	was, is := c.was.sections[section], c.is.sections[section]
	for _, p := range []*place{was, is} {
		if p != nil && p.err != nil {
			c.unknown(node, section)
			return
		}
	}
	for _, option := range options(was, is) {
		c.keyword(node, section, option, was, is)
	}
	c.others(node, section, was, is)
}

// options lists the keywords of a section in either version.
func options(places ...*place) []string {
	var names []string
	for _, p := range places {
		if p == nil {
			continue
		}
		for name := range p.keywords {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// value is what a keyword of a version is for the node.
type value struct {
	there   bool // the section, and the keyword in its driver
	written bool
	text    string
	err     error
}

func (v *version) value(section, option string) value {
	p := v.sections[section]
	if p == nil || p.keywords[option] == nil {
		return value{}
	}
	out := value{there: true}
	if option == "type" && strings.Contains(p.driver, ".") {
		_, out.text, _ = strings.Cut(p.driver, ".")
		out.written = true
		return out
	}
	o := p.keywords[option].Option
	o.Required = false
	if _, _, out.written, out.err = v.ev.Raw(section, o); out.err == nil {
		out.text, _, out.err = v.ev.Value(section, o)
	}
	return out
}

// keyword checks one keyword of a section on a node.
func (c *check) keyword(node, section, option string, was, is *place) {
	key := config.Key{Section: section, Option: option}
	if c.denied[key] {
		return
	}
	isOpen := func(p *place) bool {
		return p == nil || p.keywords[option] == nil || For(c.Path.Kind, p.driver, option).IsOpen()
	}
	if isOpen(was) && isOpen(is) {
		return
	}
	before, after := c.was.value(section, option), c.is.value(section, option)
	var role rbac.Role
	for _, side := range []struct {
		place *place
		value value
	}{{was, before}, {is, after}} {
		if side.value.there && role == "" {
			role = c.asks(For(c.Path.Kind, side.place.driver, option), side.value)
		}
	}
	if role == "" || c.grants.Has(role) || !c.changed(before, after) {
		return
	}
	c.deny(node, key, role, before, after)
}

// asks returns what a rule asks for a value; one that cannot be evaluated is no
// value the rule excepts.
func (c *check) asks(r Rule, v value) rbac.Role {
	if v.err != nil {
		return r.Role
	}
	if !v.written && v.text == "" {
		if r.Role != "" && r.Unless != nil {
			return "" // nothing was chosen; the other version says what is
		}
		return r.Role
	}
	return r.Needs(c.Path.Namespace, v.text)
}

func (c *check) changed(before, after value) bool {
	switch {
	case before.there && after.there && !before.written && !after.written: // a default
		return before.text != after.text || (before.err == nil) != (after.err == nil)
	case before.err != nil || after.err != nil:
		// What it will be once it evaluates depends on the rest.
		return !sameText(c.was.doc, c.is.doc)
	case before.there && after.there:
		return before.text != after.text
	default: // the keyword comes, or goes, with its section: what is not written was not chosen
		return before.written || after.written
	}
}

func (c *check) deny(node string, key config.Key, role rbac.Role, before, after value) {
	d := Denial{Key: key, Node: node, Role: role}
	switch {
	case before.err != nil || after.err != nil:
		d.Why = fmt.Sprintf("and cannot be evaluated on %s: %v", node, errors.Join(before.err, after.err))
	case before.written == after.written && c.sameLines(key):
		d.Why = "and refers to what the write changes on " + node
	}
	c.denied[key] = true
	c.denials = append(c.denials, d)
}

// sameLines reports whether the lines of a keyword are those they were.
func (c *check) sameLines(key config.Key) bool {
	lines := func(doc *config.Document) map[config.Key]string {
		m := map[config.Key]string{}
		for _, k := range doc.Keys(key.Section) {
			if k.Option == key.Option {
				m[k], _ = doc.Get(k)
			}
		}
		return m
	}
	was, is := lines(c.was.doc), lines(c.is.doc)
	if len(was) != len(is) {
		return false
	}
	for k, text := range was {
		if is[k] != text {
			return false
		}
	}
	return true
}

// others checks the options of DEFAULT that are no keyword of it: sections
// inherit them, those to come too, so that the strictest of their rules counts.
func (c *check) others(node, section string, was, is *place) {
	if section != config.DefaultSection {
		return
	}
	for _, option := range inherited(c.was.doc, c.is.doc, was, is) {
		key := config.Key{Section: section, Option: option}
		rule := c.strictest(option)
		if rule.IsOpen() || c.grants.Has(rule.Role) || c.denied[key] {
			continue
		}
		o := config.Option{Name: option, Scopable: true, Inherit: config.LeafOnly}
		read := func(v *version) (out value) {
			out.there = true
			if _, _, out.written, out.err = v.ev.Raw(section, o); out.err == nil {
				out.text, _, out.err = v.ev.Value(section, o)
			}
			return out
		}
		if before, after := read(c.was), read(c.is); c.changed(before, after) {
			c.deny(node, key, rule.Role, before, after)
		}
	}
}

// inherited lists the options written in DEFAULT that are no keyword of it.
func inherited(was, is *config.Document, places ...*place) []string {
	var names []string
	for _, doc := range []*config.Document{was, is} {
		for _, k := range doc.Keys(config.DefaultSection) {
			own := slices.ContainsFunc(places, func(p *place) bool { return p != nil && p.has(k.Option) })
			if !own && !slices.Contains(names, k.Option) {
				names = append(names, k.Option)
			}
		}
	}
	return names
}

func (p *place) has(option string) bool {
	if p.keywords[option] != nil {
		return true
	}
	for _, k := range p.keywords {
		if slices.Contains(k.Aliases, option) {
			return true
		}
	}
	return false
}

// strictest is the rule of the drivers that inherit an option of DEFAULT. Rules
// that read the value count as root: which of them will read it is not known.
func (c *check) strictest(option string) Rule {
	strict := open()
	known := false
	for i := range c.Schema.Sections {
		d := &c.Schema.Sections[i]
		if d.Name == config.DefaultSection {
			continue
		}
		for typ, names := range d.Inherits(option) {
			driver := d.Name
			if typ != "" {
				driver += "." + typ
			}
			for _, name := range names {
				known = true
				if r := For(c.Path.Kind, driver, name); !r.IsOpen() {
					strict = Rule{Role: r.Role}
				}
			}
		}
	}
	if !known {
		return root()
	}
	return strict
}

// unknown checks a section whose driver is not known: nobody can tell what its
// lines do.
func (c *check) unknown(node, section string) {
	key := config.Key{Section: section, Option: "type"}
	if c.denied[key] || c.grants.Has(rbac.Root) || sameSection(c.was.doc, c.is.doc, section) {
		return
	}
	c.denied[key] = true
	c.denials = append(c.denials, Denial{Key: key, Node: node, Role: rbac.Root, Why: "its driver is not known here"})
}

func sameText(a, b *config.Document) bool {
	for _, section := range sections(a, b) {
		if !sameSection(a, b, section) {
			return false
		}
	}
	return true
}

func sameSection(a, b *config.Document, section string) bool {
	if a.Has(section) != b.Has(section) {
		return false
	}
	was, is := a.Keys(section), b.Keys(section)
	if len(was) != len(is) {
		return false
	}
	for _, k := range was {
		x, _ := a.Get(k)
		y, ok := b.Get(k)
		if !ok || x != y {
			return false
		}
	}
	return true
}
