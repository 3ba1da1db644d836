package config

import "strings"

// isBlank tells whether a section holds no key and no comment of its own: the
// comments right above the next section are about that one.
func (d *Document) isBlank(name string) bool {
	for i := range d.items {
		if d.items[i].key.Section != name {
			continue
		}
		switch d.items[i].kind {
		case entry:
			return false
		case sectionHeader:
			raw := d.items[i].raw
			if strings.Trim(raw[strings.IndexByte(raw, ']')+1:], blanks+"\n") != "" || d.isCommented(i+1) {
				return false
			}
		case blankLine, commentLine:
		}
	}
	return true
}

// isCommented tells whether a section holds a comment, from its item at i.
func (d *Document) isCommented(i int) bool {
	end := i
	for end < len(d.items) && d.items[end].kind != sectionHeader {
		end++
	}
	if end < len(d.items) {
		for end > i && d.items[end-1].kind == commentLine {
			end--
		}
	}
	for ; i < end; i++ {
		if d.items[i].kind == commentLine {
			return true
		}
	}
	return false
}
