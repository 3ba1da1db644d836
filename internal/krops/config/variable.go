package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Verb is what a command does; each variable says which verbs read it.
type Verb string

// The verbs. A bootstrap includes the pivot.
const (
	VerbBootstrap Verb = "bootstrap"
	VerbPivot     Verb = "pivot"
	VerbTeardown  Verb = "teardown"
	VerbOrphans   Verb = "orphans"
)

// Variables are a set of declared variables of the environment. Resolving and
// the reference page replay the same declarations.
type variables struct{ list []*variable }

type variable struct {
	name   string
	verbs  []Verb
	preset string // what holds without it, for readers
	doc    string
	secret bool
	set    func(text string) error // called with the value, never empty
	show   func() string           // the value that holds
}

// Lookup returns a variable of the environment and whether it is there.
type Lookup func(name string) (string, bool)

func (v *variables) add(name, preset, doc string, set func(string) error, show func() string) *variable {
	d := &variable{name: name, preset: preset, doc: doc, set: set, show: show}
	v.list = append(v.list, d)
	return d
}

// of says which verbs read the variable; bootstrap and pivot without it.
func (d *variable) of(verbs ...Verb) { d.verbs = verbs }

func (d *variable) readBy(verb Verb) bool {
	if len(d.verbs) == 0 {
		return verb == VerbBootstrap || verb == VerbPivot
	}
	return slices.Contains(d.verbs, verb)
}

func (v *variables) text(field *string, name, preset, doc string) *variable {
	return v.add(name, preset, doc, func(text string) error { *field = text; return nil }, func() string { return *field })
}

// trimmed is a text without the white space around it; nothing but white space
// is not set.
func (v *variables) trimmed(field *string, name, preset, doc string) *variable {
	return v.add(name, preset, doc, func(text string) error {
		if text = strings.TrimSpace(text); text != "" {
			*field = text
		}
		return nil
	}, func() string { return *field })
}

func (v *variables) secret(field *secret.String, name, preset, doc string) *variable {
	d := v.add(name, preset, doc, func(text string) error { *field = secret.New(text); return nil }, func() string {
		if field.IsZero() {
			return ""
		}
		return field.String()
	})
	d.secret = true
	return d
}

// gate is on with the text "1" and no other.
func (v *variables) gate(field *bool, name, preset, doc string) *variable {
	return v.add(name, preset, doc, func(text string) error { *field = text == "1"; return nil }, func() string {
		if *field {
			return "1"
		}
		return "0"
	})
}

func (v *variables) number(field *int, name, preset, doc, wrong string, lowest, highest int) *variable {
	return v.add(name, preset, doc, func(text string) error {
		n, err := digits(text)
		switch {
		case err == nil && n == 0 && lowest == 1 && wrong == positive:
			return fmt.Errorf("%s %s, got 0", name, wrong)
		case err != nil || n < int64(lowest) || n > int64(highest):
			return errors.New(name + " " + wrong)
		}
		*field = int(n)
		return nil
	}, func() string { return strconv.Itoa(*field) })
}

const positive = "must be a positive integer"

func (v *variables) duration(field *Duration, name, preset, doc string) {
	v.add(name, preset, doc, func(text string) error {
		d, err := ParseDuration(text)
		if err != nil {
			return errors.New(name + " must be a duration (40m, 2h, 90s, or bare seconds)")
		}
		if d.Duration <= 0 {
			return errors.New(name + " must be longer than 0")
		}
		*field = d
		return nil
	}, func() string { return field.String() })
}

// span is a duration that also takes the forms of Go, which the tools took that
// it was once handed to.
func (v *variables) span(field *Duration, name, preset, doc string) {
	v.add(name, preset, doc, func(text string) error {
		d, err := ParseDuration(text)
		if err != nil {
			d.text = strings.TrimSpace(text)
			d.Duration, err = time.ParseDuration(d.text)
		}
		if err != nil || d.Duration <= 0 {
			return errors.New(name + " must be a duration that is not 0 (15m, 1h30m, 90s, or bare seconds)")
		}
		*field = d
		return nil
	}, func() string { return field.String() })
}

// resolve reads the variables of a verb. One that is unset and one that is
// empty are the same.
func (v *variables) resolve(verb Verb, env Lookup) error {
	var wrong []error
	for _, d := range v.list {
		text, _ := env(d.name)
		if text == "" || !d.readBy(verb) {
			continue
		}
		wrong = append(wrong, d.set(text))
	}
	return errors.Join(wrong...)
}
