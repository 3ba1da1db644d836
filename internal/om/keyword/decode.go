package keyword

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// Decode fills the fields bound by t from a section, as the node of ev reads
// it. A keyword that is neither set nor has a default, or that depends on a
// setting which is not there, leaves its field alone. Every problem is
// reported, joined; [config.ErrPostponed] is in the error only when nothing
// else is wrong.
func Decode(ev *config.Evaluator, section string, t *Table, c Context) error {
	ev = ev.Pass()
	var errs, postponed []error
	for _, k := range t.keywords {
		err := k.decode(ev, section, c)
		switch {
		case errors.Is(err, config.ErrPostponed):
			postponed = append(postponed, err)
		case err != nil:
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		errs = postponed
	}
	return errors.Join(errs...)
}

func (k *Keyword) decode(ev *config.Evaluator, section string, c Context) error {
	if unmet, err := k.unmet(ev, section); err != nil || unmet != "" {
		return err
	}
	text, found, err := ev.Value(section, k.Option)
	if errors.Is(err, config.ErrRequired) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", k.written(ev, section), err)
	}
	if !found {
		return nil
	}
	if err := k.Convert(text, c); err != nil {
		return fmt.Errorf("%s: value %q: %w", k.written(ev, section), clip(text), err)
	}
	return nil
}

// written returns the key the value of the keyword comes from, for messages.
func (k *Keyword) written(ev *config.Evaluator, section string) config.Key {
	if _, key, found, err := ev.Raw(section, k.Option); err == nil && found {
		return key
	}
	return config.Key{Section: section, Option: k.Name}
}

// Convert gives a text to the field, after checking the candidates. The rules
// of the keyword are checked last.
func (k *Keyword) Convert(text string, c Context) error {
	if err := k.checkCandidate(text); err != nil {
		return err
	}
	return k.convert(text, c)
}

func (k *Keyword) convert(text string, c Context) error {
	if k.word != "" && strings.TrimSpace(text) == k.word {
		return nil
	}
	if err := k.set(text, c); err != nil {
		return err
	}
	for _, rule := range k.checks {
		if err := rule(text); err != nil {
			return err
		}
	}
	return nil
}

// IsList tells whether the value is made of words.
func (k *Keyword) IsList() bool {
	switch k.Type {
	case TypeList, TypeSet, TypeLower, TypeShlex, TypeNodes, TypePeers:
		return true
	case TypeString, TypeInt, TypeBool, TypeTristate, TypeSize, TypeDuration, TypeUmask, TypeFileMode:
		return false
	}
	return false
}

func (k *Keyword) checkCandidate(text string) error {
	if len(k.Candidates) == 0 {
		return nil
	}
	words := []string{strings.TrimSpace(text)}
	if k.IsList() {
		words = strings.Fields(text)
	}
	for _, w := range words {
		if k.Type == TypeLower {
			w = strings.ToLower(w)
		}
		if !slices.Contains(k.Candidates, w) {
			named := k.named()
			return fmt.Errorf("%q is not one of %s%s", w, strings.Join(named, ", "), didYouMean(nearest(w, named)))
		}
	}
	return nil
}

// named lists the candidates, without the empty one, which no message can show.
func (k *Keyword) named() []string {
	return slices.DeleteFunc(slices.Clone(k.Candidates), func(c string) bool { return c == "" })
}

// unmet returns the first setting the keyword depends on that is not there.
// "topology=flex" is in DEFAULT, ".mode=ovs" in the same section.
func (k *Keyword) unmet(ev *config.Evaluator, section string) (string, error) {
	for _, d := range k.Depends {
		name, want, _ := strings.Cut(d, "=")
		key := config.Key{Section: config.DefaultSection, Option: name}
		if s, o, ok := strings.Cut(name, "."); ok {
			key = config.Key{Section: s, Option: o}
			if s == "" {
				key.Section = section
			}
		}
		o := config.Option{Name: key.Option, Scopable: true}
		if ev.Options != nil {
			if declared, ok := ev.Options(key.Section, key.Option); ok {
				o = declared
			}
		}
		got, _, err := ev.Value(key.Section, o)
		if errors.Is(err, config.ErrRequired) || errors.Is(err, config.ErrPostponed) {
			err = nil
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
		if !sameSetting(got, want) {
			return d, nil
		}
	}
	return "", nil
}

func sameSetting(got, want string) bool {
	if got == want {
		return true
	}
	a, errA := config.ParseBool(got)
	b, errB := config.ParseBool(want)
	return errA == nil && errB == nil && a == b
}

// clip keeps messages short.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
