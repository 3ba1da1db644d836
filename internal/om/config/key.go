package config

import (
	"errors"
	"fmt"
	"strings"
)

// DefaultSection is the section a key without a section belongs to.
const DefaultSection = "DEFAULT"

// Key names a line of a configuration: section.option@scope.
type Key struct {
	Section string
	Option  string
	Scope   string // empty: not scoped
}

// ParseKey reads section.option@scope; the section is DEFAULT when not given.
func ParseKey(s string) (Key, error) {
	section, name, ok := strings.Cut(s, ".")
	if !ok {
		section, name = DefaultSection, s
	}
	k := splitScope(section, name)
	if err := k.check(); err != nil {
		return Key{}, fmt.Errorf("key %q: %w", clip(s), err)
	}
	return k, nil
}

// String prints the key as [ParseKey] reads it; the DEFAULT section is implied
// when the option has no dot.
func (k Key) String() string {
	s := k.name()
	if k.Section == DefaultSection && !strings.Contains(s, ".") {
		return s
	}
	return k.Section + "." + s
}

// name is what is written before the equal sign.
func (k Key) name() string {
	if k.Scope == "" {
		return k.Option
	}
	return k.Option + "@" + k.Scope
}

// check tells whether a key can be written in a file and read back.
func (k Key) check() error {
	name := k.name()
	switch {
	case k.Section == "":
		return errors.New("the section is empty: write section.option")
	case k.Option == "":
		return errors.New("the option is empty: write section.option")
	case checkText(k.Section) != nil || checkText(name) != nil:
		return errors.New("it is not UTF-8 text")
	case strings.ContainsAny(k.Section, "[]\n") || strings.Trim(k.Section, blanks) != k.Section:
		return fmt.Errorf("section %q cannot be written: it holds a bracket or a line end, or blanks around it", k.Section)
	case strings.ContainsAny(name, "=\n") || strings.Trim(name, blanks) != name:
		return fmt.Errorf("option %q cannot be written: it holds an equal sign or a line end, or blanks around it", name)
	case strings.IndexByte("#;[", name[0]) >= 0:
		return fmt.Errorf("option %q cannot be written: it starts as a comment or a section does", name)
	case splitScope(k.Section, name) != k:
		return fmt.Errorf("option %q with scope %q reads as another key", k.Option, k.Scope)
	}
	return nil
}
