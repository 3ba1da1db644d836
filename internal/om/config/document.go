package config

import (
	"slices"
	"strings"
)

// MaxSize bounds a configuration file, in bytes.
const MaxSize = 16 << 20

// Document is a configuration file in memory. It is lossless: what no edit
// touches is printed back byte for byte. Documents are not safe for concurrent
// edits; concurrent reads are fine.
type Document struct {
	bom   string
	eol   string
	items []item

	// What follows is derived from items by reindex.
	latest   map[slot]int   // index of the last entry of an option, whatever its scope
	sections map[string]int // index of the first item of a section
}

// An item is a run of whole lines that only make sense together.
type item struct {
	kind itemKind
	raw  string // the lines, their line ends included
	line int    // number of the first line, in the file as parsed
	key  Key    // of entries; a header only has Section

	value      string
	start, end int // raw[start:end] is the value as written
	earlier    int // index of the previous entry of the same option, -1 when none
}

type itemKind uint8

const (
	blankLine itemKind = iota
	commentLine
	sectionHeader
	entry
)

type slot struct{ section, option string }

// NewDocument returns an empty document.
func NewDocument() *Document {
	d := &Document{eol: "\n"}
	d.reindex()
	return d
}

// Bytes prints the document.
func (d *Document) Bytes() []byte {
	n := len(d.bom)
	for i := range d.items {
		n += len(d.items[i].raw)
	}
	out := append(make([]byte, 0, n), d.bom...)
	for i := range d.items {
		out = append(out, d.items[i].raw...)
	}
	return out
}

// Clone returns a copy that shares nothing with d.
func (d *Document) Clone() *Document {
	c := &Document{bom: d.bom, eol: d.eol, items: slices.Clone(d.items)}
	c.reindex()
	return c
}

// Sections lists the section names, in file order, each once.
func (d *Document) Sections() []string {
	names := make([]string, 0, len(d.sections))
	for i := range d.items {
		if name := d.items[i].key.Section; name != "" && d.sections[name] == i {
			names = append(names, name)
		}
	}
	return names
}

// Has tells whether the section exists.
func (d *Document) Has(section string) bool {
	_, ok := d.sections[section]
	return ok
}

// Keys lists the keys of a section, in file order, each once.
func (d *Document) Keys(section string) []Key {
	var keys []Key
	seen := map[Key]bool{}
	for i := range d.items {
		it := &d.items[i]
		if it.kind == entry && it.key.Section == section && !seen[it.key] {
			seen[it.key] = true
			keys = append(keys, it.key)
		}
	}
	return keys
}

// Get returns the raw value of exactly that key. When the key is written
// several times, the last one is read.
func (d *Document) Get(k Key) (string, bool) {
	if i := d.find(k); i >= 0 {
		return d.items[i].value, true
	}
	return "", false
}

// Duplicate is a key written more than once: the last one is read. Without
// option, it is a section which is: its parts are read as one.
type Duplicate struct {
	Key   Key
	Lines []int
}

// Duplicates lists what is written more than once, in file order.
func (d *Document) Duplicates() []Duplicate {
	lines := map[Key][]int{}
	var order []Key
	for i := range d.items {
		it := &d.items[i]
		if it.kind != entry && it.kind != sectionHeader {
			continue
		}
		if len(lines[it.key]) == 1 {
			order = append(order, it.key)
		}
		lines[it.key] = append(lines[it.key], it.line)
	}
	var out []Duplicate
	for _, k := range order {
		out = append(out, Duplicate{Key: k, Lines: lines[k]})
	}
	return out
}

// find returns the index of the entry read for a key, -1 when there is none.
func (d *Document) find(k Key) int {
	i, ok := d.latest[slot{k.Section, k.Option}]
	if !ok {
		return -1
	}
	for i >= 0 && d.items[i].key.Scope != k.Scope {
		i = d.items[i].earlier
	}
	return i
}

func (d *Document) reindex() {
	d.latest = make(map[slot]int, len(d.items))
	d.sections = map[string]int{}
	for i := range d.items {
		it := &d.items[i]
		if it.kind != entry && it.kind != sectionHeader {
			continue
		}
		if _, ok := d.sections[it.key.Section]; !ok {
			d.sections[it.key.Section] = i
		}
		if it.kind != entry {
			continue
		}
		s := slot{it.key.Section, it.key.Option}
		it.earlier = -1
		if j, ok := d.latest[s]; ok {
			it.earlier = j
		}
		d.latest[s] = i
	}
}

// indent counts the blanks an item starts with.
func (it *item) indent() int { return indentOf(it.raw) }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
