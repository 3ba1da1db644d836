package config

import (
	"fmt"
	"slices"
	"strings"
)

// A table declares the keys of a TOML table and binds each to a field. Decoding,
// the JSON Schema and the reference page all replay the same declarations.
type table struct{ keys []*key }

// shape is what the value of a key looks like.
type shape int

const (
	shapeText shape = iota
	shapeDuration
	shapeBool
	shapeList    // of texts
	shapeTextMap // of texts by any name
	shapeTable
	shapeTables   // an array of tables
	shapeTableMap // tables by any name
)

// A key is one declaration.
type key struct {
	name     string
	shape    shape
	doc      string
	required bool
	enum     []string
	pattern  string // of a text, for editors
	preset   string // what holds without the key, for readers
	example  string

	set      func(any)               // stores a value of the right type
	nested   func() *table           // the keys of shapeTable
	add      func(at *origin) *table // the keys of one more table of shapeTables and shapeTableMap
	describe func() *table           // the same on a zero value
}

// origin is where a table of an array or a map was written.
type origin struct {
	name string // of a table of a map
	at   Position
}

func (k *key) must() *key           { k.required = true; return k }
func (k *key) oneOf(v ...string)    { k.enum = v }
func (k *key) orElse(v string) *key { k.preset = v; return k }
func (k *key) like(v string)        { k.example = v }

func (t *table) declare(name string, s shape, doc string) *key {
	k := &key{name: name, shape: s, doc: doc}
	t.keys = append(t.keys, k)
	return k
}

func (t *table) text(field *string, name, doc string) *key {
	k := t.declare(name, shapeText, doc)
	k.set = func(v any) { *field, _ = v.(string) }
	return k
}

func (t *table) duration(field *Duration, name, doc string) *key {
	k := t.declare(name, shapeDuration, doc)
	k.pattern = durationPattern
	k.set = func(v any) {
		text, _ := v.(string)
		// The decoder has parsed it before.
		*field, _ = ParseDuration(text)
	}
	return k
}

func (t *table) boolean(field *bool, name, doc string) *key {
	k := t.declare(name, shapeBool, doc)
	k.set = func(v any) { *field, _ = v.(bool) }
	return k
}

func (t *table) list(field *[]string, name, doc string) *key {
	k := t.declare(name, shapeList, doc)
	k.set = func(v any) { *field = texts(v) }
	return k
}

func (t *table) textMap(field *map[string]string, name, doc string) *key {
	k := t.declare(name, shapeTextMap, doc)
	k.set = func(v any) {
		values, _ := v.(map[string]any)
		*field = make(map[string]string, len(values))
		for name, value := range values {
			(*field)[name], _ = value.(string)
		}
	}
	return k
}

func (t *table) table(name, doc string, keys func(*table)) *key {
	k := t.declare(name, shapeTable, doc)
	k.nested = func() *table {
		sub := &table{}
		keys(sub)
		return sub
	}
	k.describe = k.nested
	return k
}

func texts(v any) []string {
	values, _ := v.([]any)
	list := make([]string, len(values))
	for i, value := range values {
		list[i], _ = value.(string)
	}
	return list
}

// A decoder fills declared tables from a document and collects what is wrong.
type decoder struct {
	*document
	nearest  Nearest
	problems []Problem
}

// Nearest finds the name that a mistyped word most likely stands for.
type Nearest func(word string, names []string) (string, bool)

func (d *decoder) problem(a address, format string, args ...any) {
	d.problems = append(d.problems, Problem{At: d.at(a), Text: fmt.Sprintf(format, args...)})
}

func (d *decoder) table(t *table, at address, values map[string]any) {
	for _, name := range d.keys(at, values) {
		value, ok := values[name]
		if !ok {
			continue
		}
		i := slices.IndexFunc(t.keys, func(k *key) bool { return k.name == name })
		if i < 0 {
			d.unknown(t, at, name)
			continue
		}
		d.value(t.keys[i], at.child(name), value)
	}
	for _, k := range t.keys {
		if _, set := values[k.name]; k.required && !set {
			d.problem(at, "%s is missing", at.child(k.name))
		}
	}
}

func (d *decoder) unknown(t *table, at address, name string) {
	names := make([]string, len(t.keys))
	for i, k := range t.keys {
		names[i] = k.name
	}
	hint := ": it knows " + strings.Join(names, ", ")
	if near, ok := d.nearest(name, names); ok {
		hint = ", did you mean " + near + "?"
	}
	where := "the file"
	if len(at) > 0 {
		where = "[" + at.String() + "]"
	}
	d.problem(at.child(name), "unknown key %s of %s%s", name, where, hint)
}

func (d *decoder) value(k *key, at address, value any) {
	switch k.shape {
	case shapeText, shapeDuration:
		d.text(k, at, value)
	case shapeBool:
		if _, ok := value.(bool); !ok {
			d.problem(at, "%s must be true or false, it is %s", at, kindOf(value))
			return
		}
		k.set(value)
	case shapeList:
		if d.list(at, value) {
			k.set(value)
		}
	case shapeTextMap:
		if d.textMap(at, value) {
			k.set(value)
		}
	case shapeTable:
		if values, ok := d.isTable(at, value); ok {
			d.table(k.nested(), at, values)
		}
	case shapeTables:
		d.tables(k, at, value)
	case shapeTableMap:
		d.tableMap(k, at, value)
	}
}

func (d *decoder) text(k *key, at address, value any) {
	text, ok := value.(string)
	switch {
	case !ok:
		d.problem(at, "%s must be a string, it is %s", at, kindOf(value))
		return
	case k.required && strings.TrimSpace(text) == "":
		d.problem(at, "%s is empty", at)
		return
	case len(k.enum) > 0 && !slices.Contains(k.enum, text):
		d.problem(at, "%s is %q, it must be one of %s", at, text, strings.Join(k.enum, ", "))
		return
	}
	if k.shape == shapeDuration {
		if _, err := ParseDuration(text); err != nil {
			d.problem(at, "%s: %v", at, err)
			return
		}
	}
	k.set(text)
}

func (d *decoder) list(at address, value any) bool {
	values, ok := value.([]any)
	if !ok {
		d.problem(at, "%s must be an array of strings, it is %s", at, kindOf(value))
		return false
	}
	for i, v := range values {
		if text, isText := v.(string); !isText || text == "" {
			d.problem(at, "%s must be a string that is not empty, it is %s", at.child(index(i)), kindOf(v))
			ok = false
		}
	}
	return ok
}

func (d *decoder) textMap(at address, value any) bool {
	values, ok := d.isTable(at, value)
	if !ok {
		return false
	}
	for _, name := range d.keys(at, values) {
		if _, isText := values[name].(string); !isText {
			d.problem(at.child(name), "%s must be a string, it is %s", at.child(name), kindOf(values[name]))
			ok = false
		}
	}
	return ok
}

func (d *decoder) tables(k *key, at address, value any) {
	values, ok := value.([]any)
	if !ok {
		d.problem(at, "%s must be an array of tables, it is %s", at, kindOf(value))
		return
	}
	for i, v := range values {
		element := at.child(index(i))
		if table, isTable := d.isTable(element, v); isTable {
			d.table(k.add(&origin{at: d.first(element, table)}), element, table)
		}
	}
}

// first is where the first key of a table is written.
func (d *decoder) first(at address, values map[string]any) Position {
	for _, name := range d.keys(at, values) {
		return d.at(at.child(name))
	}
	return d.at(at)
}

func (d *decoder) tableMap(k *key, at address, value any) {
	values, ok := d.isTable(at, value)
	if !ok {
		return
	}
	for _, name := range d.keys(at, values) {
		if table, isTable := d.isTable(at.child(name), values[name]); isTable {
			d.table(k.add(&origin{name: name, at: d.at(at.child(name))}), at.child(name), table)
		}
	}
}

func (d *decoder) isTable(at address, value any) (map[string]any, bool) {
	values, ok := value.(map[string]any)
	if !ok {
		d.problem(at, "%s must be a table, it is %s", at, kindOf(value))
	}
	return values, ok
}
