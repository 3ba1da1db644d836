package config

import (
	"errors"
	"fmt"
	"maps"
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
	var err error
	if it, ok := d.latest[k]; !ok {
		err = d.insert(k, value)
	} else if it.value != value {
		err = d.rewrite(it, value)
	}
	if err != nil {
		return fmt.Errorf("set %s: %w", k, err)
	}
	return nil
}

// Unset removes a key and reports whether it was there.
func (d *Document) Unset(k Key) bool { return d.unset(map[Key]bool{k: true}) }

// UnsetAll is [Document.Unset] for many keys: it reports whether one was there.
func (d *Document) UnsetAll(keys []Key) bool {
	set := make(map[Key]bool, len(keys))
	for _, k := range keys {
		set[k] = true
	}
	return d.unset(set)
}

// unset removes keys and reports whether one was there.
func (d *Document) unset(keys map[Key]bool) bool {
	found := false
	for k := range keys {
		_, ok := d.latest[k]
		found = found || ok
	}
	if !found {
		return false
	}
	for i, it := range slices.Backward(d.items) { // what precedes i does not move
		if it.kind == entry && keys[it.key] {
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
	return d.deleteSections(map[string]bool{name: true})
}

// deleteSections removes sections and reports whether one was there.
func (d *Document) deleteSections(names map[string]bool) bool {
	found := false
	for name := range names {
		found = found || d.Has(name)
	}
	if !found {
		return false
	}
	for i := len(d.items) - 1; i >= 0; i-- {
		if d.items[i].kind == sectionHeader && names[d.items[i].key.Section] {
			i = d.deleteFrom(i)
		}
	}
	if names[DefaultSection] { // the keys above the first section
		d.items = slices.DeleteFunc(d.items, func(it *item) bool { return it.kind == entry && it.key.Section == DefaultSection })
	}
	d.reindex()
	return true
}

// blank returns those of the sections that hold no key and no comment of their
// own: the comments right above the next section are about that one.
func (d *Document) blank(names map[string]bool) map[string]bool {
	out := maps.Clone(names)
	for i, it := range d.items {
		switch {
		case !out[it.key.Section]:
		case it.kind == entry || it.kind == sectionHeader && strings.Trim(it.raw[strings.IndexByte(it.raw, ']')+1:], blanks+"\n") != "":
			delete(out, it.key.Section)
		case it.kind == sectionHeader && d.commentedFrom(i+1):
			delete(out, it.key.Section)
		}
	}
	return out
}

// commentedFrom tells whether a section holds a comment from its item at i.
func (d *Document) commentedFrom(i int) bool {
	end := i
	for end < len(d.items) && d.items[end].kind != sectionHeader {
		end++
	}
	if end < len(d.items) {
		for end > i && d.items[end-1].kind == commentLine {
			end--
		}
	}
	return slices.ContainsFunc(d.items[i:end], func(it *item) bool { return it.kind == commentLine })
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

// rewrite changes the value of an entry.
func (d *Document) rewrite(it *item, value string) error {
	before, after := it.raw[:it.start], it.raw[it.end:]
	if it.value == "" && strings.HasSuffix(before, "=") {
		before += " "
	}
	fresh, err := d.encode(it.key, before, value, after)
	if err != nil {
		return err
	}
	fresh.line = it.line
	if err := d.grow(len(fresh.raw)-len(it.raw), 0); err != nil {
		return err
	}
	*it = fresh
	d.separate(d.position(it))
	return nil
}

// insert adds an entry, and its section when it is missing.
func (d *Document) insert(k Key, value string) error {
	s, there := d.sections[k.Section]
	indent := ""
	if there && s.last.kind == entry {
		indent = s.last.raw[:s.last.indent()]
	}
	fresh, err := d.encode(k, indent+k.name()+" = ", value, d.eol)
	if err != nil {
		return err
	}
	header := item{kind: sectionHeader, raw: "[" + k.Section + "]" + d.eol, key: Key{Section: k.Section}}
	if there {
		if err := d.grow(len(fresh.raw), 1); err != nil {
			return err
		}
		at := d.position(s.last) + 1
		d.put(at, &fresh)
		d.index(&fresh)
		d.separate(at)
		return nil
	}
	if err := d.grow(len(header.raw)+len(fresh.raw), 2); err != nil {
		return err
	}
	if k.Section == DefaultSection {
		d.put(0, &header, &fresh)
		if len(d.items) > 2 && d.items[2].kind != blankLine {
			d.putBlank(2)
		}
	} else {
		if last := len(d.items) - 1; last >= 0 && d.items[last].kind != blankLine {
			d.putBlank(last + 1)
		}
		d.put(len(d.items), &header, &fresh)
	}
	d.index(&header)
	d.index(&fresh)
	if k.Section == DefaultSection { // it comes first
		last := len(d.names) - 1
		d.names = slices.Insert(d.names[:last], 0, k.Section)
	}
	return nil
}

// position returns the index of an item, looked for where most edits are.
func (d *Document) position(it *item) int {
	i := len(d.items) - 1
	for i >= 0 && d.items[i] != it {
		i--
	}
	return i
}

// grow accounts for bytes, and for keys and sections, that are to be added.
func (d *Document) grow(bytes, keys int) error {
	switch {
	case d.size+bytes > MaxSize:
		return fmt.Errorf("the configuration would exceed %d bytes", MaxSize)
	case d.keys+keys > MaxKeys:
		return fmt.Errorf("the configuration would exceed %d keys and sections", MaxKeys)
	}
	d.size += bytes
	return nil
}

// put inserts items, after a line that ends.
func (d *Document) put(at int, fresh ...*item) {
	if at > 0 && !strings.HasSuffix(d.items[at-1].raw, "\n") {
		d.items[at-1].raw += d.eol
		d.size += len(d.eol)
	}
	d.items = slices.Insert(d.items, at, fresh...)
}

func (d *Document) putBlank(at int) {
	d.put(at, &item{kind: blankLine, raw: d.eol})
	d.size += len(d.eol)
}

// separate adds an empty line after the entry at i, or above the comments at i, when
// the lines that follow would be read as its continuation.
func (d *Document) separate(i int) {
	for i >= 0 && d.items[i].kind == commentLine {
		i--
	}
	if i < 0 || d.items[i].kind != entry {
		return
	}
	for j := i + 1; j < len(d.items); j++ {
		it := d.items[j]
		if it.kind == blankLine || it.indent() <= d.items[i].indent() {
			return
		}
		if it.kind != commentLine {
			d.putBlank(i + 1)
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
