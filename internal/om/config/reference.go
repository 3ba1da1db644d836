package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A reference is what stands between braces: {[modifier:][#]name[[index]]}.
type reference struct {
	text     string // with its braces
	name     string
	modifier string
	count    bool
	index    int // -1: none
}

// The bounds of one evaluation.
const (
	maxReference = 256     // bytes, braces included
	maxDepth     = 64      // references inside references
	maxResolved  = 10_000  // references in all
	maxExpanded  = 1 << 20 // bytes of a value
	maxRead      = 1 << 25 // bytes read through references
)

// parseReference reads the reference s starts with. The rule is in the
// documentation of the package.
func parseReference(s string) (reference, bool) {
	end := strings.IndexByte(s[:min(len(s), maxReference)], '}')
	if end < 0 {
		return reference{}, false
	}
	r := reference{text: s[:end+1], name: s[1:end], index: -1}
	if i := strings.IndexByte(r.name, ':'); i >= 0 {
		if m := r.name[:i]; isModifier(m) {
			r.modifier, r.name = m, r.name[i+1:]
		}
	}
	r.name, r.count = strings.CutPrefix(r.name, "#")
	if index, base, ok := cutIndex(r.name); ok {
		n, err := strconv.Atoi(index)
		if err != nil || n < 0 || index[0] == '+' {
			return reference{}, false
		}
		r.index, r.name = n, base
	}
	return r, isReferenceName(r.name)
}

// modifiers are the words that may stand before the colon.
func modifiers() []string { return []string{"upper", "lower", "capitalize", "title", "swapcase"} }

// isModifier accepts a word, known or not: what reads as a reference is one.
func isModifier(word string) bool {
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' }
	return word != "" && strings.TrimLeftFunc(word, letter) == ""
}

// isReferenceName accepts words joined by dots, the first byte being a letter
// or an underscore. A colon is accepted after a "#" only.
func isReferenceName(name string) bool {
	indexed := false
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i == 0:
			return false
		case c >= '0' && c <= '9', c == '-', c == '@':
		case c == '#':
			indexed = true
		case c == ':' && indexed:
		case c == '.' && name[i-1] != '.' && i < len(name)-1:
		default:
			return false
		}
	}
	return name != ""
}

// An expansion is the evaluation of one value.
type expansion struct {
	*Evaluator

	pass     *pass
	stack    []frame // the options being evaluated, outermost first
	deepest  int     // how long the stack was, at most, inside the last of them
	resolved int     // references so far, those of what is recalled included
	read     int     // bytes they stand for
}

// A frame is an option being evaluated: the section it is evaluated for, and
// the key its text comes from.
type frame struct {
	section string
	key     Key
}

// value evaluates an option, its default included.
func (x *expansion) value(section string, o Option) (string, bool, error) {
	text, key, found := x.raw(section, o)
	if !found {
		if o.Default == "" {
			return "", false, nil
		}
		text, key = o.Default, Key{section, o.Name, ""}
	}
	if !mayExpand(text) {
		return text, true, nil
	}
	text, err := x.evaluate(frame{section, key}, text, found)
	return text, true, err
}

// enter refuses to evaluate an option inside itself.
func (x *expansion) enter(f frame) error {
	for i, g := range x.stack {
		if g == f {
			names := make([]string, 0, len(x.stack)-i+1)
			for _, h := range append(x.stack[i:len(x.stack):len(x.stack)], f) {
				names = append(names, h.key.String())
			}
			return fmt.Errorf("references in a circle: %s", strings.Join(names, " -> "))
		}
	}
	if len(x.stack) >= maxDepth {
		return tooDeep()
	}
	x.stack = append(x.stack, f)
	return nil
}

func mayExpand(text string) bool {
	return strings.IndexByte(text, '{') >= 0 || strings.Contains(text, "$(")
}

// expand replaces the references and the arithmetic of a text.
func (x *expansion) expand(section, text string) (string, error) {
	if !mayExpand(text) {
		return text, nil
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		n := strings.IndexAny(text[i:], "{$")
		if n < 0 {
			out.WriteString(text[i:])
			break
		}
		out.WriteString(text[i : i+n])
		i += n
		fresh, n, err := x.replace(section, text, i)
		if err != nil {
			return "", err
		}
		out.WriteString(fresh)
		i += n
		if out.Len() > maxExpanded {
			return "", fmt.Errorf("references expand to more than %d bytes", maxExpanded)
		}
	}
	return out.String(), nil
}

// replace returns what stands for the text at i, and how many bytes it replaces.
func (x *expansion) replace(section, text string, i int) (fresh string, n int, err error) {
	if text[i] == '$' {
		return x.compute(section, text[i:])
	}
	if i > 0 && strings.IndexByte("${%", text[i-1]) >= 0 {
		return "{", 1, nil
	}
	r, ok := parseReference(text[i:])
	if !ok {
		return "{", 1, nil
	}
	value, err := x.resolve(section, r)
	return value, len(r.text), err
}

// compute returns the result of the arithmetic a text starts with; the dollar
// itself when it is none.
func (x *expansion) compute(section, text string) (fresh string, n int, err error) {
	e, ok, err := parseArithmetic(text)
	if err != nil || !ok {
		return "$", 1, err
	}
	value, isNumber, err := e.evaluate(func(r reference) (string, error) { return x.resolve(section, r) })
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w", e.text, err)
	}
	if !isNumber {
		return "$", 1, nil
	}
	return value, len(e.text), nil
}

// resolve returns the text a reference stands for.
func (x *expansion) resolve(section string, r reference) (string, error) {
	if err := errors.Join(x.count(1, 0), x.spend(1, 0)); err != nil {
		return "", err
	}
	if known := modifiers(); r.modifier != "" && !slices.Contains(known, r.modifier) {
		return "", fmt.Errorf("reference %s: %s is no modifier: use %s, or put a blank after the brace if it is a text", r.text, r.modifier, strings.Join(known, ", "))
	}
	value, err := x.target(section, r.name)
	if errors.Is(err, ErrTooMuch) {
		return "", err // it names the key: the way to it would hide it
	}
	if err != nil {
		return "", through(r.text, err)
	}
	if err := errors.Join(x.count(0, len(value)), x.spend(0, len(value))); err != nil {
		return "", err
	}
	if r.index >= 0 {
		words := strings.Fields(value)
		if r.index >= len(words) {
			return "", fmt.Errorf("reference %s: no element %d, %s has %s", r.text, r.index, r.name, count(len(words)))
		}
		value = words[r.index]
	}
	if r.count {
		return strconv.Itoa(len(strings.Fields(value))), nil
	}
	return modify(r.modifier, value), nil
}

// target returns the value of what a reference names: what Lookup knows, then
// an option of the document.
func (x *expansion) target(section, name string) (string, error) {
	if x.Lookup != nil {
		value, ok, err := x.Lookup(section, name)
		if err != nil || ok {
			return value, err
		}
	}
	if target, option, ok := x.splitTarget(name); ok {
		return x.explicit(target, option)
	}
	if strings.Contains(name, ".") {
		target, _, _ := strings.Cut(name, ".")
		return "", fmt.Errorf("there is no section %s", target)
	}
	return x.bare(section, name)
}

// splitTarget cuts section.option where the section exists.
func (x *expansion) splitTarget(name string) (section, option string, ok bool) {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] == '.' && (x.Doc.Has(name[:i]) || name[:i] == DefaultSection) {
			return name[:i], name[i+1:], true
		}
	}
	return "", "", false
}

// explicit evaluates section.option.
func (x *expansion) explicit(section, option string) (string, error) {
	if k := splitScope(section, option); k.Scope != "" {
		return x.scoped(k)
	}
	value, found, err := x.value(section, x.option(section, option))
	if err == nil && !found {
		err = fmt.Errorf("%s is not set", Key{section, option, ""})
	}
	return value, err
}

// scoped evaluates exactly one line.
func (x *expansion) scoped(k Key) (string, error) {
	text, ok := x.Doc.Get(k)
	if !ok {
		return "", fmt.Errorf("%s is not set", k)
	}
	if !mayExpand(text) {
		return text, nil
	}
	return x.evaluate(frame{k.Section, k}, text, true)
}

// bare evaluates an option of the current section, else of DEFAULT.
func (x *expansion) bare(section, name string) (string, error) {
	if k := splitScope(section, name); k.Scope != "" {
		return x.scoped(k)
	}
	value, found, err := x.value(section, x.option(section, name))
	if err == nil && !found && section != DefaultSection {
		value, found, err = x.value(DefaultSection, x.option(DefaultSection, name))
	}
	if err == nil && !found {
		err = errors.New("no such option in " + where(section) + ", and no well-known reference of that name")
	}
	return value, err
}

func where(section string) string {
	if section == DefaultSection {
		return "[DEFAULT]"
	}
	return "[" + section + "] nor in [DEFAULT]"
}

// modify changes the case of a text.
func modify(modifier, s string) string {
	switch modifier {
	case "upper":
		return strings.ToUpper(s)
	case "lower":
		return strings.ToLower(s)
	case "capitalize":
		return capitalize(s)
	case "title":
		return title(s)
	case "swapcase":
		return strings.Map(swapCase, s)
	default:
		return s
	}
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
}

// title starts each run of letters with an upper case one.
func title(s string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		first := !inside
		inside = unicode.IsLetter(r)
		if first {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}
