package keyword

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

func bind[V any](p *V, parse func(string) (V, error)) func(string, Context) error {
	return func(text string, _ Context) error {
		v, err := parse(text)
		if err != nil {
			return err
		}
		*p = v
		return nil
	}
}

// String declares a text keyword.
func (t *Table) String(p *string, name, help string) *Keyword {
	return t.add(TypeString, name, help, bind(p, func(s string) (string, error) { return s, nil }))
}

// Int declares an integer keyword.
func (t *Table) Int(p *int, name, help string) *Keyword {
	return t.add(TypeInt, name, help, bind(p, func(s string) (int, error) {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			return 0, errors.New("not an integer: write digits only, as 3")
		}
		return n, nil
	}))
}

// Bool declares a true or false keyword; empty is false.
func (t *Table) Bool(p *bool, name, help string) *Keyword {
	return t.add(TypeBool, name, help, bind(p, config.ParseBool))
}

// Tristate declares a bool keyword that may be left unset: *p is then nil.
func (t *Table) Tristate(p **bool, name, help string) *Keyword {
	return t.add(TypeTristate, name, help, bind(p, optional(config.ParseBool)))
}

// Size declares a number of bytes.
func (t *Table) Size(p *int64, name, help string) *Keyword {
	return t.add(TypeSize, name, help, bind(p, blank(config.ParseSize)))
}

// Duration declares a duration; a bare number is seconds.
func (t *Table) Duration(p *time.Duration, name, help string) *Keyword {
	return t.add(TypeDuration, name, help, bind(p, blank(config.ParseDuration)))
}

// List declares blank separated words.
func (t *Table) List(p *[]string, name, help string) *Keyword {
	return t.add(TypeList, name, help, bind(p, words))
}

// Set declares blank separated words, each kept once.
func (t *Table) Set(p *[]string, name, help string) *Keyword {
	return t.add(TypeSet, name, help, bind(p, func(s string) ([]string, error) {
		var out []string
		seen := map[string]bool{}
		for w := range strings.FieldsSeq(s) {
			if !seen[w] {
				seen[w] = true
				out = append(out, w)
			}
		}
		return out, nil
	}))
}

// Lower declares blank separated words, lower-cased.
func (t *Table) Lower(p *[]string, name, help string) *Keyword {
	return t.add(TypeLower, name, help, bind(p, func(s string) ([]string, error) { return words(strings.ToLower(s)) }))
}

// Shlex declares shell words: blanks separate, quotes group.
func (t *Table) Shlex(p *[]string, name, help string) *Keyword {
	return t.add(TypeShlex, name, help, bind(p, config.ParseShlex))
}

// Umask declares an octal mask; *p is nil when not set.
func (t *Table) Umask(p **fs.FileMode, name, help string) *Keyword {
	return t.add(TypeUmask, name, help, bind(p, optional(config.ParseUmask)))
}

// FileMode declares three or four octal digits; *p is nil when not set.
func (t *Table) FileMode(p **fs.FileMode, name, help string) *Keyword {
	return t.add(TypeFileMode, name, help, bind(p, optional(config.ParseFileMode)))
}

// Nodes declares a node selector; *p receives the node names.
func (t *Table) Nodes(p *[]string, name, help string) *Keyword {
	return t.add(TypeNodes, name, help, bindNodes(p))
}

// Peers declares a node selector that designates nobody by default.
func (t *Table) Peers(p *[]string, name, help string) *Keyword {
	return t.add(TypePeers, name, help, bindNodes(p))
}

func bindNodes(p *[]string) func(string, Context) error {
	return func(text string, c Context) error {
		if c.Nodes == nil || strings.TrimSpace(text) == "" {
			*p, _ = words(text)
			return nil
		}
		names, err := c.Nodes(text)
		if err != nil {
			return err
		}
		*p = names
		return nil
	}
}

func words(s string) ([]string, error) { return strings.Fields(s), nil }

// optional makes the empty text mean "not set".
func optional[V any](parse func(string) (V, error)) func(string) (*V, error) {
	return func(s string) (*V, error) {
		if strings.TrimSpace(s) == "" {
			return nil, nil //nolint:nilnil // nil is the value for "not set"
		}
		v, err := parse(s)
		if err != nil {
			return nil, err
		}
		return &v, nil
	}
}

// blank makes the empty text mean the zero value.
func blank[V any](parse func(string) (V, error)) func(string) (V, error) {
	return func(s string) (v V, err error) {
		if strings.TrimSpace(s) == "" {
			return v, nil
		}
		return parse(s)
	}
}
