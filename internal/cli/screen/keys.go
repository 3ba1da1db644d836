package screen

import (
	"strings"
	"unicode/utf8"
)

// decoder makes keys of the bytes of a terminal. A sequence, or a character, may be
// split over several reads.
type decoder struct {
	held []byte // of a sequence or a character that is not complete
}

// maxSequence bounds what is held of a sequence that never ends.
const maxSequence = 32

// feed returns the keys that are complete.
func (d *decoder) feed(bytes []byte) []Key {
	var keys []Key
	for _, b := range bytes {
		keys = append(keys, d.next(b)...)
	}
	return keys
}

// pending tells whether an escape may be one, or the begin of a sequence.
func (d *decoder) pending() bool { return len(d.held) > 0 && d.held[0] == escape }

// flush gives up waiting for the rest of a sequence.
func (d *decoder) flush() []Key {
	held := d.held
	d.held = nil
	if len(held) == 1 && held[0] == escape {
		return []Key{"esc"}
	}
	return nil
}

const escape = 0x1b

func (d *decoder) next(b byte) []Key {
	switch {
	case b == 0x03 || b == 0x1a: // Ctrl-C and Ctrl-Z work inside anything
		d.held = nil
		return control(b)
	case len(d.held) == 0 && b == escape, len(d.held) == 0 && b >= utf8.RuneSelf:
		d.held = []byte{b}
		if b != escape && !utf8.RuneStart(b) {
			d.held = nil // the middle of a character
		}
		return nil
	case len(d.held) == 0:
		return control(b)
	case d.held[0] != escape:
		return d.character(b)
	case b == escape:
		keys := d.flush()
		d.held = []byte{b}
		return keys
	case len(d.held) == 1 && (b == '[' || b == 'O'):
		d.held = append(d.held, b)
		return nil
	case len(d.held) == 1: // Escape, then another key
		d.held = nil
		return append([]Key{"esc"}, d.next(b)...)
	case b >= 0x40 && b <= 0x7e:
		k := sequence(string(d.held[2:]), b)
		d.held = nil
		return k
	case b < 0x20 || b > 0x7e || len(d.held) == maxSequence:
		d.held = nil // no sequence of a key
		return d.next(b)
	default:
		d.held = append(d.held, b)
		return nil
	}
}

// character takes a byte of a character of several.
func (d *decoder) character(b byte) []Key {
	if utf8.RuneStart(b) {
		d.held = nil // the former one never ended
		return d.next(b)
	}
	d.held = append(d.held, b)
	if !utf8.FullRune(d.held) {
		return nil
	}
	r, size := utf8.DecodeRune(d.held)
	d.held = nil
	if r == utf8.RuneError && size <= 1 {
		return nil
	}
	return []Key{Key(string(r))}
}

// control is the key of a byte.
func control(b byte) []Key {
	switch b {
	case '\r', '\n':
		return []Key{"enter"}
	case '\t':
		return []Key{"tab"}
	case 0x08, 0x7f:
		return []Key{"backspace"}
	case 0:
		return nil
	}
	if b < 0x20 {
		if b < 0x1b {
			return []Key{"ctrl-" + Key('a'+b-1)}
		}
		return nil
	}
	return []Key{Key(b)}
}

// sequence is the key of a sequence ESC [ parameters final, or ESC O final,
// whatever modifiers are among the parameters.
func sequence(parameters string, final byte) []Key {
	number, _, _ := strings.Cut(parameters, ";")
	names := map[byte]Key{'A': "up", 'B': "down", 'C': "right", 'D': "left", 'H': "home", 'F': "end", 'Z': "backtab", 'M': "enter"}
	if final == '~' {
		numbers := map[string]Key{"1": "home", "7": "home", "4": "end", "8": "end", "3": "delete", "5": "pgup", "6": "pgdown"}
		if k, ok := numbers[number]; ok {
			return []Key{k}
		}
		return nil
	}
	if k, ok := names[final]; ok {
		return []Key{k}
	}
	return nil
}
