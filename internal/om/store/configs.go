package store

import (
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Configs gives selectors the configurations, as this node reads them. It is
// meant for one selection: what it evaluated once it does not look at again.
func (s *Store) Configs() object.Configs {
	return &configs{store: s, evaluators: map[object.Path]*config.Evaluator{}}
}

type configs struct {
	store *Store

	mu         sync.Mutex
	evaluators map[object.Path]*config.Evaluator // nil: cannot be read
}

// Sections lists nothing for an object that cannot be read: it matches no expression.
func (c *configs) Sections(p object.Path) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ev := c.evaluator(p)
	if ev == nil {
		return nil
	}
	return ev.Doc.Sections()
}

// Value returns an option written in a section; one whose references cannot be
// resolved as it is written.
func (c *configs) Value(p object.Path, section, option string) (object.Value, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ev := c.evaluator(p)
	if ev == nil {
		return object.Value{}, false
	}
	o := config.Option{Name: option, Scopable: true}
	var v object.Value
	if k, err := c.store.Schema(p).Find(ev.Doc, section, option); err == nil {
		o, v.Number = k.Option, number(k.Type)
	}
	o.Inherit, o.Default, o.Required = config.LeafOnly, "", false
	raw, _, present, err := ev.Raw(section, o)
	if err != nil || !present {
		return object.Value{}, false
	}
	v.Text = raw
	if text, _, err := ev.Value(section, o); err == nil {
		v.Text = text
	}
	v.Text = strings.TrimSpace(v.Text)
	return v, true
}

func (c *configs) evaluator(p object.Path) *config.Evaluator {
	if known, ok := c.evaluators[p]; ok {
		return known
	}
	var ev *config.Evaluator
	if f, err := c.store.load(p); err == nil {
		if fresh, err := c.store.Evaluator(p, f.Doc, ""); err == nil {
			ev = fresh
		}
	}
	c.evaluators[p] = ev
	return ev
}

// number returns how the values of a type compare; nil for those that are texts.
func number(t keyword.Type) func(string) (int64, error) {
	switch t {
	case keyword.TypeInt:
		return func(s string) (int64, error) { return strconv.ParseInt(strings.TrimSpace(s), 10, 64) }
	case keyword.TypeSize:
		return config.ParseSize
	case keyword.TypeDuration:
		return func(s string) (int64, error) {
			d, err := config.ParseDuration(s)
			return int64(d), err
		}
	case keyword.TypeBool, keyword.TypeTristate:
		return func(s string) (int64, error) {
			b, err := config.ParseBool(strings.ToLower(s))
			if b {
				return 1, err
			}
			return 0, err
		}
	case keyword.TypeString, keyword.TypeList, keyword.TypeSet, keyword.TypeLower, keyword.TypeShlex,
		keyword.TypeUmask, keyword.TypeFileMode, keyword.TypeNodes, keyword.TypePeers:
	}
	return nil
}
