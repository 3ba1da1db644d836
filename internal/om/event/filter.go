package event

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Filter selects events. The zero Filter selects all of them.
//
//	filter    := [ kind ] { "," ( label "=" value | path op value ) }
//	path      := "." member { "." member | "[" index "]" }
//	op        := "=" | "!=" | ">" | ">=" | "<" | "<="
//
// Everything named must hold. A path looks into the fields of the event;
// ".data.x" is read as ".x", the form seen in the output of the event commands.
// Values compare as numbers when both are, else as text, where only the form of
// dates makes the order meaningful.
type Filter struct {
	kind   string
	labels []label
	fields []field
}

type label struct{ name, value string }

type field struct {
	path  []string
	op    string
	value string
}

// operators, longest first.
var operators = [...]string{"!=", ">=", "<=", "=", ">", "<"}

// ParseFilter reads a filter.
func ParseFilter(text string) (Filter, error) {
	var f Filter
	for i, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		at, op := operator(part)
		switch {
		case i == 0 && op == "":
			f.kind = part
		case part == "":
			return Filter{}, fmt.Errorf("event filter %q: empty condition: write label=value or .field=value", text)
		case op == "":
			return Filter{}, fmt.Errorf("event filter %q: condition %q has no operator: use one of = != > >= < <=", text, part)
		case strings.HasPrefix(part, "."):
			path, err := parsePath(part[:at])
			if err != nil {
				return Filter{}, fmt.Errorf("event filter %q: %w", text, err)
			}
			f.fields = append(f.fields, field{path, op, part[at+len(op):]})
		case op != "=" || at == 0:
			return Filter{}, fmt.Errorf("event filter %q: condition %q: a label is compared with name=value, a field starts with a dot", text, part)
		default:
			f.labels = append(f.labels, label{part[:at], part[at+1:]})
		}
	}
	if f.kind != "" && !known(f.kind) {
		return Filter{}, fmt.Errorf("event filter %q: unknown kind %q: use one of %s", text, f.kind, strings.Join(Kinds(), ", "))
	}
	return f, nil
}

// Kind is the kind of events the filter selects; empty for all of them.
func (f Filter) Kind() string { return f.kind }

// Has reports whether the filter has a condition on a label.
func (f Filter) Has(name string) bool {
	return slices.ContainsFunc(f.labels, func(l label) bool { return l.name == name })
}

// Equal is what a label, or the field of that name, must be equal to.
func (f Filter) Equal(name string) (value string, ok bool) {
	for _, l := range f.labels {
		if l.name == name {
			return l.value, true
		}
	}
	for _, c := range f.fields {
		if c.op == "=" && c.path[len(c.path)-1] == name && (len(c.path) == 1 || len(c.path) == 2 && c.path[0] == "data") {
			return c.value, true
		}
	}
	return "", false
}

// String returns the text [ParseFilter] reads back.
func (f Filter) String() string {
	parts := []string{f.kind}
	for _, l := range f.labels {
		parts = append(parts, l.name+"="+l.value)
	}
	for _, c := range f.fields {
		parts = append(parts, "."+strings.Join(c.path, ".")+c.op+c.value)
	}
	return strings.Join(parts, ",")
}

// Match reports whether f selects e.
func (f Filter) Match(e *Envelope) bool {
	if f.kind != "" && f.kind != e.Kind {
		return false
	}
	for _, l := range f.labels {
		if v, ok := e.Labels[l.name]; !ok || v != l.value {
			return false
		}
	}
	for _, c := range f.fields {
		if !c.match(e.document()) {
			return false
		}
	}
	return true
}

func (c field) match(doc any) bool {
	got, ok := lookup(doc, c.path)
	if !ok && c.path[0] == "data" && len(c.path) > 1 {
		got, ok = lookup(doc, c.path[1:])
	}
	if !ok {
		return false
	}
	order := compare(got, c.value)
	switch c.op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	default:
		return order <= 0
	}
}

func lookup(doc any, path []string) (any, bool) {
	for _, name := range path {
		switch at := doc.(type) {
		case map[string]any:
			v, ok := at[name]
			if !ok {
				return nil, false
			}
			doc = v
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			doc = at[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

func compare(got any, want string) int {
	switch v := got.(type) {
	case float64:
		if n, err := strconv.ParseFloat(want, 64); err == nil {
			return cmp.Compare(v, n)
		}
		return strings.Compare(strconv.FormatFloat(v, 'f', -1, 64), want)
	case bool:
		return strings.Compare(strconv.FormatBool(v), want)
	case nil:
		return strings.Compare("null", want)
	case string:
		return strings.Compare(v, want)
	default: // an object or a list equals nothing
		return 1
	}
}

func operator(s string) (at int, op string) {
	at = strings.IndexAny(s, "=!<>")
	if at < 0 {
		return 0, ""
	}
	for _, op := range operators {
		if strings.HasPrefix(s[at:], op) {
			return at, op
		}
	}
	return 0, ""
}

// fieldPath is a path: members after a dot, indexes in brackets.
var fieldPath = regexp.MustCompile(`^(\.[^.\[\]\s]+|\[[0-9]+\])+$`)

// parsePath reads ".a.b[0]" as a, b, 0. Member names may hold anything but the
// marks of the grammar and blanks: resource ids are members.
func parsePath(s string) ([]string, error) {
	s = strings.TrimRight(s, " ")
	if !fieldPath.MatchString(s) {
		return nil, fmt.Errorf("field path %q has an empty member, a blank, or a bracket out of place: write .member.member[index]", s)
	}
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(s[1:]), "."), nil
}

func known(kind string) bool {
	return slices.Contains(Kinds(), kind)
}
