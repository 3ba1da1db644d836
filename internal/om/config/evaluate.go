package config

import (
	"errors"
	"fmt"
	"slices"
)

var (
	// ErrPostponed is a reference to what exists only at run time, while the
	// resource it looks at is not configured. Lookup returns it, wrapped or not.
	ErrPostponed = errors.New("known only once the resource runs")
	// ErrRequired is a required option which is not set.
	ErrRequired = errors.New("required, and not set")
)

// Scope is who evaluates: the node, and the node lists the scopes stand for.
type Scope struct {
	Node       string
	Nodes      []string // of option@nodes
	DRPNodes   []string // of option@drpnodes
	EncapNodes []string // of option@encapnodes
}

// suffixes lists the scopes that apply to the node, the most specific first.
func (s Scope) suffixes() []string {
	out := make([]string, 0, 5)
	if s.Node != "" {
		out = append(out, s.Node)
	}
	for _, group := range []struct {
		name  string
		nodes []string
	}{{"nodes", s.Nodes}, {"drpnodes", s.DRPNodes}, {"encapnodes", s.EncapNodes}} {
		if slices.Contains(group.nodes, s.Node) {
			out = append(out, group.name)
		}
	}
	return append(out, "")
}

// Evaluator reads values out of a document as one node sees them.
type Evaluator struct {
	Doc   *Document
	Scope Scope
	// Options tells how an option of a section is looked up; false when it is
	// not a keyword. Nil: every option is scopable and inherited.
	Options func(section, option string) (Option, bool)
	// Lookup answers the references the document does not hold. name is the
	// reference without modifier, "#" and "[n]", as "nodename" or
	// "disk#1.exposed_devs"; section is where the reference is evaluated.
	// It is asked before the document. Nil: nothing is known.
	Lookup func(section, name string) (value string, ok bool, err error)

	pass *pass // nil: each evaluation is one of its own
}

// Raw returns the text of an option as written for the node, and the key that holds it.
func (e *Evaluator) Raw(section string, o Option) (value string, key Key, found bool, err error) {
	if e.Doc == nil {
		return "", Key{}, false, errors.New("no configuration to read")
	}
	value, key, found = e.raw(section, o)
	return value, key, found, nil
}

func (e *Evaluator) raw(section string, o Option) (string, Key, bool) {
	head := o.HeadName
	if head == "" || section == DefaultSection {
		head = o.Name
	}
	if section == DefaultSection {
		return e.descope(section, head, o)
	}
	switch o.Inherit {
	case LeafOnly:
		return e.descope(section, o.Name, o)
	case HeadOnly:
		return e.descope(DefaultSection, head, o)
	case HeadToLeaf:
		if v, k, ok := e.descope(DefaultSection, head, o); ok {
			return v, k, true
		}
		return e.descope(section, o.Name, o)
	case LeafToHead:
	}
	if v, k, ok := e.descope(section, o.Name, o); ok {
		return v, k, true
	}
	return e.descope(DefaultSection, head, o)
}

// descope finds the most specific line of an option in one section. At each
// level of scope the aliases come after the name.
func (e *Evaluator) descope(section, name string, o Option) (string, Key, bool) {
	if !e.Doc.mentions(section, name, o.Aliases) {
		return "", Key{}, false
	}
	suffixes := []string{""}
	if o.Scopable {
		suffixes = e.suffixes()
	}
	for _, scope := range suffixes {
		for i := -1; i < len(o.Aliases); i++ {
			k := Key{section, name, scope}
			if i >= 0 {
				k.Option = o.Aliases[i]
			}
			if v, ok := e.Doc.Get(k); ok {
				return v, k, true
			}
		}
	}
	return "", Key{}, false
}

// mentions tells whether a section has a line, of any scope, for one of the names.
func (d *Document) mentions(section, name string, aliases []string) bool {
	return d.Mentions(section, name) ||
		slices.ContainsFunc(aliases, func(a string) bool { return d.Mentions(section, a) })
}

// Value returns the value of an option for the node: the default applied,
// references and arithmetic replaced. found is false when the option is not
// set and has no default; when it is required too, the error is [ErrRequired].
func (e *Evaluator) Value(section string, o Option) (value string, found bool, err error) {
	if e.Doc == nil {
		return "", false, errors.New("no configuration to read")
	}
	x := e.expansion()
	value, found, err = x.value(section, o)
	if err != nil {
		return "", found, err
	}
	if !found && o.Required {
		return "", false, fmt.Errorf("%s: %w", Key{section, o.Name, ""}, ErrRequired)
	}
	return value, found, nil
}

// Expand replaces the references and the arithmetic of a text of a section.
func (e *Evaluator) Expand(section, text string) (string, error) {
	if e.Doc == nil {
		return "", errors.New("no configuration to read")
	}
	x := e.expansion()
	return x.expand(section, text)
}

// option tells how an option is looked up, whether it is a keyword or not.
func (e *Evaluator) option(section, name string) Option {
	if e.Options != nil {
		if o, ok := e.Options(section, name); ok {
			return o
		}
	}
	return Option{Name: name, Scopable: true}
}

func (e *Evaluator) expansion() expansion {
	x := expansion{Evaluator: e, pass: e.pass}
	if x.pass == nil {
		x.pass = &pass{}
	}
	return x
}
