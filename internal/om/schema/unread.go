package schema

import (
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/schedule"
)

// unread declares keywords no part of the agent reads through this package:
// they are bound to nothing that outlives their conversion.
type unread struct{ t *keyword.Table }

func (u unread) text(name, help string) *keyword.Keyword { return u.t.String(new(string), name, help) }

// when declares a schedule.
func (u unread) when(name, help string) *keyword.Keyword {
	return u.text(name, help).Check(schedule.Check)
}

func (u unread) number(name, help string) *keyword.Keyword {
	return u.t.Int(new(int), name, help)
}
func (u unread) flag(name, help string) *keyword.Keyword  { return u.t.Bool(new(bool), name, help) }
func (u unread) bytes(name, help string) *keyword.Keyword { return u.t.Size(new(int64), name, help) }

func (u unread) span(name, help string) *keyword.Keyword {
	return u.t.Duration(new(time.Duration), name, help)
}

func (u unread) list(name, help string) *keyword.Keyword {
	return u.t.List(new([]string), name, help)
}

func (u unread) argv(name, help string) *keyword.Keyword {
	return u.t.Shlex(new([]string), name, help)
}

// types collects the declarations of the types of a section.
type types struct{ tables map[string][]func(unread) }

func newTypes() types { return types{tables: map[string][]func(unread){}} }

// add declares keywords for the types named, in one blank separated list; for
// all of them when it is empty.
func (t types) add(names string, declare func(unread)) {
	if names == "" {
		t.tables[""] = append(t.tables[""], declare)
	}
	for name := range strings.FieldsSeq(names) {
		t.tables[name] = append(t.tables[name], declare)
	}
}

// section returns the section of the types collected.
func (t types) section(name, doc, defaultType string) keyword.Section {
	s := keyword.Section{
		Name: name, Doc: doc, Indexed: true, DefaultType: defaultType,
		Types: make(map[string]func() *keyword.Table, len(t.tables)),
	}
	for typ, declares := range t.tables {
		s.Types[typ] = table(func(k *keyword.Table) {
			for _, declare := range declares {
				declare(unread{k})
			}
		})
	}
	return s
}
