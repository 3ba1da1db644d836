package object

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Selector designates a set of objects:
//
//	selector     = intersection { "," intersection }
//	intersection = element { "+" element }
//	element      = [ "!" ] ( glob | config expression | path )
//
// An element holding an operator is a config expression, else one holding a
// glob character is a glob, else it is an exact path. Matching is
// case-sensitive.
type Selector struct {
	terms     [][]element // union of intersections
	namespace string      // when not empty, only objects of that namespace
	kind      Kind        // when not empty, only objects of that kind
}

type element struct {
	negated bool
	text    string // without the negation
	matcher matcher
}

// matcher is one of exact, glob and expression.
type matcher interface {
	match(p Path, c Configs) bool
}

type exact struct{ path Path }

func (m exact) match(p Path, _ Configs) bool { return p == m.path }

// glob matches fully qualified paths.
type glob struct{ pattern string }

func (m glob) match(p Path, _ Configs) bool { return Glob(m.pattern, p.FQN()) }

// SyntaxError says what is wrong in a selector, and where.
type SyntaxError struct {
	Expr    string // the whole selector
	Element string // the wrong element
	Pos     int    // of the element in the selector, in characters, from 1
	Err     error
}

// Error names the selector, the element and its position.
func (e *SyntaxError) Error() string {
	if e.Element == e.Expr {
		return fmt.Sprintf("selector %q: %v", e.Expr, e.Err)
	}
	return fmt.Sprintf("selector %q: element %q at character %d: %v", e.Expr, e.Element, e.Pos, e.Err)
}

// Unwrap returns the reason.
func (e *SyntaxError) Unwrap() error { return e.Err }

// ParseSelector reads a selector.
func ParseSelector(expr string) (*Selector, error) {
	s := &Selector{}
	pos := 0
	fail := func(text string, err error) error {
		return &SyntaxError{Expr: expr, Element: text, Pos: 1 + len([]rune(expr[:pos])), Err: err}
	}
	if strings.TrimSpace(expr) == "" {
		return nil, fail(expr, errors.New("empty: write a path, a glob, or ** for every object"))
	}
	for term := range strings.SplitSeq(expr, ",") {
		texts := strings.Split(term, "+")
		elements := make([]element, 0, len(texts))
		for _, text := range texts {
			e, err := parseElement(strings.TrimSpace(text), len(texts) > 1)
			if err != nil {
				return nil, fail(text, err)
			}
			elements = append(elements, e)
			pos += len(text) + 1
		}
		s.terms = append(s.terms, elements)
	}
	return s, nil
}

func parseElement(text string, intersected bool) (e element, err error) {
	e.text, e.negated = strings.CutPrefix(text, "!")
	switch {
	case text == "":
		return e, errors.New(`nothing before or after "," or "+": remove the separator`)
	case e.text == "":
		return e, errors.New(`"!" negates nothing: write what to leave out just after it`)
	case e.text[0] == '!':
		return e, errors.New(`"!" is doubled: remove both`)
	case hasOperator(e.text):
		e.matcher, err = parseExpression(e.text)
	case HasGlob(e.text):
		e.matcher, err = parseGlob(e.text)
	default:
		e.matcher, err = parseExact(e.text, e.negated || intersected)
	}
	return e, err
}

// parseGlob completes a pattern written as a path of one or two parts.
func parseGlob(text string) (matcher, error) {
	if err := CheckGlob(text); err != nil {
		return nil, err
	}
	return completeGlob(text), nil
}

func completeGlob(text string) glob {
	switch parts := strings.Split(text, "/"); {
	case text == "*":
		return glob{"*/" + string(KindSvc) + "/*"}
	case strings.Contains(text, "**"):
		return glob{text}
	case len(parts) == 1:
		return glob{RootNamespace + "/" + string(KindSvc) + "/" + text}
	case len(parts) == 2 && parts[1] == "":
		return glob{text + string(KindNscfg) + "/" + namespaceName}
	case len(parts) == 2:
		return glob{RootNamespace + "/" + text}
	default:
		return glob{text}
	}
}

// parseExact reads a path. A word with a character that only keywords may hold,
// as in "!monitor_schedule+**", is the existence test of that keyword where a
// path alone would make little sense: when negated or intersected.
func parseExact(text string, qualified bool) (matcher, error) {
	p, err := Parse(text)
	if err == nil {
		return exact{p}, nil
	}
	if !strings.ContainsAny(text, "_#") || !keyPattern.MatchString(text) {
		return nil, err
	}
	if !qualified {
		return nil, fmt.Errorf("%w; to select the objects that set a keyword, write %q", err, text+":")
	}
	return parseExpression(text + ":")
}

// String returns the selector as [ParseSelector] reads it.
func (s *Selector) String() string {
	var b strings.Builder
	for i, term := range s.terms {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, e := range term {
			if j > 0 {
				b.WriteByte('+')
			}
			if e.negated {
				b.WriteByte('!')
			}
			b.WriteString(e.text)
		}
	}
	return b.String()
}

// Narrow returns the selector restricted to the objects of a namespace and of a
// kind, as OSVC_NAMESPACE and OSVC_KIND ask. Empty means any.
func (s *Selector) Narrow(namespace string, kind Kind) *Selector {
	n := *s
	n.namespace, n.kind = namespace, kind
	return &n
}

// Exact returns the paths of a selector made only of exact paths, in the order
// written, each once. They are not narrowed: the name of an object to create
// says where it goes.
func (s *Selector) Exact() ([]Path, bool) {
	var paths []Path
	for _, term := range s.terms {
		if len(term) != 1 || term[0].negated {
			return nil, false
		}
		m, ok := term[0].matcher.(exact)
		if !ok {
			return nil, false
		}
		if !slices.Contains(paths, m.path) {
			paths = append(paths, m.path)
		}
	}
	return paths, true
}

// Select returns the objects of all that the selector designates, sorted. A
// glob or an expression may match nothing. A selector made only of exact paths
// none of which is in all is a *[NotFoundError]; a missing path beside others is
// ignored. Config expressions ask c.
func (s *Selector) Select(all []Path, c Configs) ([]Path, error) {
	if c == nil {
		c = noConfigs{}
	}
	var out []Path
	for _, p := range all {
		if s.sees(p) && s.match(p, c) {
			out = append(out, p)
		}
	}
	if paths, ok := s.Exact(); ok && len(out) == 0 {
		return nil, &NotFoundError{What: s.missing(paths)}
	}
	slices.SortFunc(out, Compare)
	return slices.Compact(out), nil
}

func (s *Selector) sees(p Path) bool {
	return (s.namespace == "" || s.namespace == p.Namespace) && (s.kind == "" || s.kind == p.Kind)
}

func (s *Selector) match(p Path, c Configs) bool {
	return slices.ContainsFunc(s.terms, func(term []element) bool {
		return !slices.ContainsFunc(term, func(e element) bool { return e.matcher.match(p, c) == e.negated })
	})
}

func (s *Selector) missing(paths []Path) string {
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = p.String()
	}
	what := strings.Join(names, ", ")
	if s.namespace != "" {
		what += " (seeing namespace " + s.namespace + " only)"
	}
	if s.kind != "" {
		what += " (seeing kind " + string(s.kind) + " only)"
	}
	return what
}

type noConfigs struct{}

func (noConfigs) Sections(Path) []string                   { return nil }
func (noConfigs) Value(Path, string, string) (Value, bool) { return Value{}, false }
