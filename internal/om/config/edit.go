package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Set gives a key a value. Only the lines of the key change: the spacing around
// the equal sign and the comment at the end of the line stay. A new key goes
// after the last one of its section, a new section at the end of the file,
// DEFAULT at its beginning. The error says why the key or the value cannot be
// written; the document is then untouched.
func (d *Document) Set(k Key, value string) error {
	if err := k.check(); err != nil {
		return fmt.Errorf("set %s: %w", k, err)
	}
	i := d.find(k)
	if i >= 0 && d.items[i].value == value {
		return nil
	}
	var err error
	if i >= 0 {
		err = d.rewrite(i, value)
	} else {
		err = d.insert(k, value)
	}
	if err != nil {
		return fmt.Errorf("set %s: %w", k, err)
	}
	d.reindex()
	return nil
}

// Unset removes a key and reports whether it was there.
func (d *Document) Unset(k Key) bool {
	if d.find(k) < 0 {
		return false
	}
	for i := len(d.items) - 1; i >= 0; i-- {
		if d.items[i].kind == entry && d.items[i].key == k {
			d.items = slices.Delete(d.items, i, i+1)
			d.separate(i - 1)
		}
	}
	d.reindex()
	return true
}

// DeleteSection removes a section, every time it appears, and reports whether
// it was there. The comment right above the next section stays.
func (d *Document) DeleteSection(name string) bool {
	if !d.Has(name) {
		return false
	}
	for i := len(d.items) - 1; i >= 0; i-- {
		if d.items[i].kind == sectionHeader && d.items[i].key.Section == name {
			i = d.deleteFrom(i)
		}
	}
	if name == DefaultSection { // the keys above the first section
		d.items = slices.DeleteFunc(d.items, func(it item) bool { return it.kind == entry && it.key.Section == name })
	}
	d.reindex()
	return true
}

// deleteFrom removes the section whose header is at i, and returns where what
// followed is now.
func (d *Document) deleteFrom(i int) int {
	next := i + 1
	for next < len(d.items) && d.items[next].kind != sectionHeader {
		next++
	}
	end := next
	if next < len(d.items) {
		for d.items[end-1].kind == commentLine {
			end--
		}
	}
	if next == len(d.items) { // the blank lines that led to it have no more use
		for i > 0 && d.items[i-1].kind == blankLine {
			i--
		}
	}
	d.items = slices.Delete(d.items, i, end)
	d.separate(i - 1)
	return i
}

// rewrite changes the value of the entry at i.
func (d *Document) rewrite(i int, value string) error {
	it := d.items[i]
	before, after := it.raw[:it.start], it.raw[it.end:]
	if it.value == "" && strings.HasSuffix(before, "=") {
		before += " "
	}
	fresh, err := d.encode(it.key, before, value, after)
	if err != nil {
		return err
	}
	fresh.line = it.line
	return d.put(fresh, i, i+1)
}

// insert adds an entry, and its section when it is missing.
func (d *Document) insert(k Key, value string) error {
	at := -1
	for i := range d.items {
		if d.items[i].key.Section == k.Section {
			at = i
		}
	}
	indent := ""
	if at >= 0 && d.items[at].kind == entry {
		indent = d.items[at].raw[:d.items[at].indent()]
	}
	fresh, err := d.encode(k, indent+k.name()+" = ", value, d.eol)
	if err != nil {
		return err
	}
	header := item{kind: sectionHeader, raw: "[" + k.Section + "]" + d.eol, key: Key{Section: k.Section}}
	blank := item{kind: blankLine, raw: d.eol}
	switch {
	case at >= 0:
		return d.put(fresh, at+1, at+1)
	case k.Section == DefaultSection:
		if err := d.put(fresh, 0, 0); err != nil {
			return err
		}
		d.items = slices.Insert(d.items, 0, header)
		if len(d.items) > 2 && d.items[2].kind != blankLine {
			d.items = slices.Insert(d.items, 2, blank)
		}
		return nil
	}
	if err := d.put(fresh, len(d.items), len(d.items)); err != nil {
		return err
	}
	last := len(d.items) - 1
	d.items = slices.Insert(d.items, last, header)
	if last > 0 && d.items[last-1].kind != blankLine {
		d.items = slices.Insert(d.items, last, blank)
	}
	return nil
}

// put replaces the items from..to by one.
func (d *Document) put(fresh item, from, to int) error {
	size := len(fresh.raw)
	for i := range d.items {
		size += len(d.items[i].raw)
	}
	if size > MaxSize {
		return fmt.Errorf("the configuration would exceed %d bytes", MaxSize)
	}
	d.items = slices.Replace(d.items, from, to, fresh)
	if from > 0 && !strings.HasSuffix(d.items[from-1].raw, "\n") {
		d.items[from-1].raw += d.eol
	}
	d.separate(from)
	return nil
}

// separate adds an empty line after the entry at i when the lines that follow
// would be read as its continuation.
func (d *Document) separate(i int) {
	if i < 0 || d.items[i].kind != entry {
		return
	}
	for j := i + 1; j < len(d.items); j++ {
		it := &d.items[j]
		if it.kind == blankLine || it.indent() <= d.items[i].indent() {
			return
		}
		if it.kind != commentLine {
			d.items = slices.Insert(d.items, i+1, item{kind: blankLine, raw: d.eol})
			return
		}
	}
}

// encode writes an entry in the plainest way that reads back as value.
func (d *Document) encode(k Key, before, value, after string) (item, error) {
	written := strings.ReplaceAll(value, "\n", d.eol)
	forms := make([]string, 0, 3)
	if !strings.Contains(value, "\n") {
		forms = append(forms, value)
	}
	forms = append(forms, backQuote+written+backQuote, tripleQuote+written+tripleQuote)
	for _, form := range forms {
		start := before
		if form == "" && strings.Trim(after, blanks+"\n") == "" {
			start = strings.TrimRight(before, " \t")
		}
		raw := start + form + after
		p := parser{text: raw, line: 1, section: k.Section}
		if checkText(raw) != nil || p.item() != nil || p.pos != len(raw) {
			continue
		}
		if it := p.items[0]; it.kind == entry && it.key == k && it.value == value {
			return it, nil
		}
	}
	return item{}, unwritable(value)
}

// unwritable says why no form of a value reads back.
func unwritable(value string) error {
	switch {
	case checkText(value) != nil:
		return errors.New("the value is not UTF-8 text")
	case strings.Contains(value, "\r"):
		return errors.New("the value holds a carriage return: use plain line ends")
	default:
		return errors.New("the value holds backquotes and triple double quotes (or ends with a double quote) on several lines, so neither can enclose it")
	}
}
