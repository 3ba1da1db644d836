package datastore

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// The longest name, and the longest element of one: a key becomes a file.
const (
	maxName    = 1024
	maxElement = 255
)

// CheckName refuses the names a key cannot be given. A name may be a path, as
// conf.d/a.conf: it becomes the file of that name below the directory it is
// installed in, and must not lead out of it.
func CheckName(name string) error {
	refuse := func(format string, a ...any) error {
		return &KeyNameError{Key: clip(name), Reason: fmt.Sprintf(format, a...)}
	}
	switch {
	case name == "":
		return refuse("it is empty")
	case len(name) > maxName:
		return refuse("it has %d bytes, more than %d", len(name), maxName)
	case !utf8.ValidString(name):
		return refuse("it is no UTF-8 text")
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return refuse("it holds characters that do not print")
	}
	for element := range strings.SplitSeq(name, "/") {
		switch {
		case element == "" && strings.HasPrefix(name, "/"):
			return refuse("it begins with a slash: a name is relative to the directory it is installed in")
		case element == "":
			return refuse("it has an empty element")
		case element == "." || element == "..":
			return refuse("%s leads elsewhere: write the path without it", element)
		case len(element) > maxElement:
			return refuse("an element has %d bytes, more than %d", len(element), maxElement)
		}
	}
	_, err := parseKey(name)
	return err
}

// Match returns the names that a pattern designates: the one spelled so if there
// is one, else those it matches. "*" stands for slashes, too.
func Match(pattern string, names []string) ([]string, error) {
	found, err := object.Among(pattern, names)
	if err != nil {
		return nil, &KeyNameError{Key: clip(pattern), Reason: err.Error()}
	}
	return found, nil
}

// parseKey reads the name of a key as the configuration file does: what follows
// an "@" is a scope there, and part of the name here. It takes more names than
// [CheckName]: those written in a file by hand can be read and removed.
func parseKey(name string) (config.Key, error) {
	k, err := config.ParseKey(section + "." + name)
	if err != nil {
		return config.Key{}, &KeyNameError{Key: clip(name), Reason: err.Error()}
	}
	return k, nil
}

func keyName(k config.Key) string {
	if k.Scope == "" {
		return k.Option
	}
	return strings.Join([]string{k.Option, k.Scope}, "@")
}

// clip shortens what a message shows.
func clip(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
