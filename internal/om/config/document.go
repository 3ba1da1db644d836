package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a configuration file.
const (
	MaxSize = 16 << 20 // bytes
	MaxKeys = 20_000   // keys and sections, those written twice counted twice

	maxItems = 3 * MaxKeys // comments and blank lines included
)

// Document is a configuration file in memory. It is lossless: what no edit
// touches is printed back byte for byte. Documents are not safe for concurrent
// edits; concurrent reads are fine.
type Document struct {
	bom   string
	eol   string
	items []*item
	size  int // of the items, in bytes

	// What follows is derived from items by reindex, and kept up by the edits
	// that add or rewrite an entry: those come by the thousand.
	latest    map[Key]*item // the entry read for a key
	mentioned map[slot]bool // options with an entry, whatever the scope
	sections  map[string]*section
	names     []string // of the sections, in file order
	keys      int      // entries and headers
}

// A section is what is written under its headers, however many.
type section struct {
	keys []Key // in file order, each once
	last *item // its last entry or header
}

// An item is a run of whole lines that only make sense together.
type item struct {
	kind itemKind
	raw  string // the lines, their line ends included
	line int    // number of the first line, in the file as parsed
	key  Key    // of entries; a header only has Section

	value      string
	start, end int // raw[start:end] is the value as written
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
	out := append(make([]byte, 0, len(d.bom)+d.size), d.bom...)
	for _, it := range d.items {
		out = append(out, it.raw...)
	}
	return out
}

// Clone returns a copy that shares nothing with d.
func (d *Document) Clone() *Document {
	c := &Document{bom: d.bom, eol: d.eol}
	copies := make([]item, len(d.items))
	for i, it := range d.items {
		copies[i] = *it
	}
	c.hold(copies)
	return c
}

// hold makes items those of the document.
func (d *Document) hold(items []item) {
	d.items = make([]*item, len(items))
	for i := range items {
		d.items[i] = &items[i]
	}
	d.reindex()
}

// Sections lists the section names, in file order, each once.
func (d *Document) Sections() []string { return append(make([]string, 0, len(d.names)), d.names...) }

// Has tells whether the section exists.
func (d *Document) Has(section string) bool {
	_, ok := d.sections[section]
	return ok
}

// Keys lists the keys of a section, in file order, each once.
func (d *Document) Keys(section string) []Key {
	if s, ok := d.sections[section]; ok {
		return slices.Clone(s.keys)
	}
	return nil
}

// Mentions tells whether a section has a line for an option, whatever its scope.
func (d *Document) Mentions(section, option string) bool { return d.mentioned[slot{section, option}] }

// Get returns the raw value of exactly that key. When the key is written
// several times, the last one is read.
func (d *Document) Get(k Key) (string, bool) {
	if it, ok := d.latest[k]; ok {
		return it.value, true
	}
	return "", false
}

// Duplicate is a key written more than once: the last one is read. Without
// option, it is a section which is: its parts are read as one.
type Duplicate struct {
	Key   Key
	Lines []int
}

// String says what is written more than once, and where.
func (d Duplicate) String() string {
	lines := make([]string, 0, len(d.Lines))
	for _, n := range d.Lines {
		lines = append(lines, strconv.Itoa(n))
	}
	what := d.Key.String()
	if d.Key.Option == "" {
		what = "section " + d.Key.Section
	}
	return fmt.Sprintf("%s: written %d times, on lines %s", what, len(d.Lines), strings.Join(lines, ", "))
}

// Duplicates lists what is written more than once, in file order.
func (d *Document) Duplicates() []Duplicate {
	lines := map[Key][]int{}
	var order []Key
	for _, it := range d.items {
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

func (d *Document) reindex() {
	d.latest = make(map[Key]*item, len(d.items))
	d.mentioned = make(map[slot]bool, len(d.items))
	d.sections = map[string]*section{}
	d.names, d.keys, d.size = nil, 0, 0
	for _, it := range d.items {
		d.size += len(it.raw)
		d.index(it)
	}
}

// index takes note of an item which comes after those of its section.
func (d *Document) index(it *item) {
	if it.kind != entry && it.kind != sectionHeader {
		return
	}
	d.keys++
	s, ok := d.sections[it.key.Section]
	if !ok {
		s = &section{}
		d.sections[it.key.Section] = s
		d.names = append(d.names, it.key.Section)
	}
	s.last = it
	if it.kind != entry {
		return
	}
	if _, ok := d.latest[it.key]; !ok {
		s.keys = append(s.keys, it.key)
	}
	d.latest[it.key] = it
	d.mentioned[slot{it.key.Section, it.key.Option}] = true
}

// indent counts the blanks an item starts with.
func (it *item) indent() int { return indentOf(it.raw) }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
