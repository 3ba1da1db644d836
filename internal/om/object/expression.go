package object

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Configs is what config expressions look at. Only what is written in a
// configuration counts: a default value matches nothing.
type Configs interface {
	// Sections returns the names of the sections written.
	Sections(p Path) []string
	// Value returns an option written in a section.
	Value(p Path, section, option string) (value Value, present bool)
}

// Value is a keyword as config expressions compare it.
type Value struct {
	Text string // evaluated
	// Number reads a text as the type of the keyword does: an integer, bytes,
	// nanoseconds, a boolean as 0 or 1. Nil when the keyword holds texts.
	Number func(text string) (int64, error)
}

const headSection = "DEFAULT"

var (
	keyPattern      = regexp.MustCompile(`^[A-Za-z0-9_.#:@-]+$`)
	operatorPattern = regexp.MustCompile(`!=|<=|>=|[<>=~:]`)
	decimalPattern  = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?$`)
)

// expression compares the values of a keyword with a literal.
type expression struct {
	section string // a section, a group of sections, or "" for every section
	option  string // "" to test whether the section exists
	bare    bool   // written without a section
	op      string
	literal string
	re      *regexp.Regexp
}

func hasOperator(text string) bool { return strings.ContainsAny(text, "<>=~:") }

func parseExpression(text string) (matcher, error) {
	at := operatorPattern.FindStringIndex(text)
	key, op, literal := text[:at[0]], text[at[0]:at[1]], text[at[1]:]
	switch {
	case key == "":
		return nil, fmt.Errorf("no keyword before %q: write a keyword, as in app.timeout>1", op)
	case !keyPattern.MatchString(key):
		return nil, fmt.Errorf("%q is not a keyword: write <rid>.<option>, <group>.<option> or <option>", key)
	}
	x := expression{op: op, literal: literal}
	x.section, x.option, x.bare = headSection, key, true
	if section, option, dotted := strings.Cut(key, "."); dotted {
		x.section, x.option, x.bare = section, option, false
	}
	switch {
	case x.option == "":
		return nil, fmt.Errorf("no option after %q: write <section>.<option>, or <section>: to test that the section exists", key)
	case op == ":" && literal != "":
		return nil, fmt.Errorf("the existence test takes no value: write %q, or %q to compare", key+":", key+"="+literal)
	case literal == "" && op != ":" && op != "=" && op != "!=":
		return nil, fmt.Errorf("nothing to compare with after %q", op)
	case op == "~":
		re, err := regexp.Compile(literal)
		if err != nil {
			return nil, fmt.Errorf("bad regular expression: %w", err)
		}
		x.re = re
	}
	return x, nil
}

func (x expression) match(p Path, c Configs) bool {
	sections := c.Sections(p)
	if x.op == ":" && x.bare && slices.ContainsFunc(sections, func(s string) bool { return inGroup(s, x.option) }) {
		return true
	}
	if x.compare(c, p, headSection) {
		return true
	}
	return slices.ContainsFunc(sections, func(s string) bool { return s != headSection && x.compare(c, p, s) })
}

// compare tells whether a section is concerned, sets the option, and to a value
// that compares.
func (x expression) compare(c Configs, p Path, section string) bool {
	if x.section != "" && !inGroup(section, x.section) {
		return false
	}
	v, present := c.Value(p, section, x.option)
	return present && (x.op == ":" || x.holds(v))
}

// inGroup reports whether section is name or one of the sections of group name.
func inGroup(section, name string) bool {
	return section == name || strings.HasPrefix(section, name+"#")
}

func (x expression) holds(v Value) bool {
	if x.re != nil {
		return x.re.MatchString(v.Text)
	}
	order, ordered := v.order(x.literal)
	switch x.op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return ordered && order < 0
	case "<=":
		return ordered && order <= 0
	case ">":
		return ordered && order > 0
	default: // ">="
		return ordered && order >= 0
	}
}

// order compares the value with a literal as booleans when both are, as numbers
// when both are, else as texts. A number has no order relative to what is none.
func (v Value) order(literal string) (order int, ordered bool) {
	switch {
	case isBool(v.Text) && isBool(literal):
		return cmp.Compare(strings.ToLower(v.Text), strings.ToLower(literal)), true
	case v.Number != nil:
		a, errA := v.Number(v.Text)
		b, errB := v.Number(literal)
		if errors.Join(errA, errB) != nil {
			return strings.Compare(v.Text, literal), false
		}
		return cmp.Compare(a, b), true
	case decimalPattern.MatchString(v.Text) && decimalPattern.MatchString(literal):
		return compareDecimals(v.Text, literal), true
	default:
		return strings.Compare(v.Text, literal), true
	}
}

// compareDecimals compares integers exactly, other numbers as floats.
func compareDecimals(x, y string) int {
	a, errA := strconv.ParseInt(x, 10, 64)
	b, errB := strconv.ParseInt(y, 10, 64)
	if errA == nil && errB == nil {
		return cmp.Compare(a, b)
	}
	f, _ := strconv.ParseFloat(x, 64) // out of range: an infinity, which still compares
	g, _ := strconv.ParseFloat(y, 64)
	return cmp.Compare(f, g)
}

func isBool(s string) bool { return strings.EqualFold(s, "true") || strings.EqualFold(s, "false") }
