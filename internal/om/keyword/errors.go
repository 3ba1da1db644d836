package keyword

import (
	"fmt"
	"strings"
)

// UnknownSectionError is a section no schema declares.
type UnknownSectionError struct {
	Section string
	Nearest string // the right name, when one is near
	Reason  string // said instead, when it is known
}

func (e *UnknownSectionError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("section %s: %s", e.Section, e.Reason)
	}
	return fmt.Sprintf("section %s is unknown%s", e.Section, didYouMean(e.Nearest))
}

// UnknownDriverError is a section whose type names no driver.
type UnknownDriverError struct {
	Section string
	Type    string // empty: not set
	Nearest string
	Known   []string
}

func (e *UnknownDriverError) Error() string {
	known := ": use one of " + strings.Join(e.Known, ", ")
	switch {
	case e.Type == "":
		return e.Section + ".type is required, and not set" + known
	case e.Nearest != "":
		return fmt.Sprintf("%s.type: %q is an unknown driver%s", e.Section, e.Type, didYouMean(e.Nearest))
	default:
		return fmt.Sprintf("%s.type: %q is an unknown driver%s", e.Section, e.Type, known)
	}
}

// UnknownKeywordError is an option the section does not have.
type UnknownKeywordError struct {
	Section   string
	Option    string
	Driver    string // "app.simple", empty when the section has no driver
	Nearest   string // the right name, when one is near
	Elsewhere string // where a keyword of that name exists
}

func (e *UnknownKeywordError) Error() string {
	name := e.Section + "." + e.Option
	if e.Section == "DEFAULT" {
		name = e.Option
	}
	of := ""
	if e.Driver != "" {
		of = " of " + e.Driver
	}
	hint := didYouMean(e.Nearest)
	if e.Elsewhere != "" {
		hint = ": " + e.Elsewhere
	}
	return name + ": unknown keyword" + of + hint
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", name)
}
