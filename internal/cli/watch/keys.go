package watch

import "strings"

// key is what somebody pressed.
type key int

const (
	keyNone key = iota
	keyQuit
	keyInterrupt
	keySuspend
	keyRefresh
	keyPause
	keySlower
	keyFaster
	keyDiff
	keyHelp
	keyRepaint
	keyDown
	keyUp
	keyPageDown
	keyPageUp
	keyTop
	keyBottom
)

// decoder makes keys of the bytes of a terminal. A sequence may be split over
// several reads.
type decoder struct{ sequence []byte }

// maxSequence bounds what is held of a sequence that never ends.
const maxSequence = 32

// feed returns the keys that are complete, without those that mean nothing.
func (d *decoder) feed(bytes []byte) []key {
	var keys []key
	for _, b := range bytes {
		if k := d.next(b); k != keyNone {
			keys = append(keys, k)
		}
	}
	return keys
}

func (d *decoder) next(b byte) key {
	switch {
	case b == 0x03 || b == 0x1a: // Ctrl-C and Ctrl-Z work inside anything
		d.sequence = nil
		return plainKey(b)
	case b == 0x1b:
		d.sequence = []byte{b}
		return keyNone
	case len(d.sequence) == 0:
		return plainKey(b)
	case len(d.sequence) == 1:
		if b == '[' || b == 'O' {
			d.sequence = append(d.sequence, b)
			return keyNone
		}
		d.sequence = nil // Escape, then another key
		return plainKey(b)
	case b >= 0x40 && b <= 0x7e:
		k := sequenceKey(string(d.sequence[2:]), b)
		d.sequence = nil
		return k
	case b < 0x20 || b > 0x7e || len(d.sequence) == maxSequence:
		d.sequence = nil // no sequence of a key
		return plainKey(b)
	default:
		d.sequence = append(d.sequence, b)
		return keyNone
	}
}

func plainKey(b byte) key {
	switch b {
	case 'q', 'Q':
		return keyQuit
	case 0x03:
		return keyInterrupt
	case 0x1a:
		return keySuspend
	case ' ', 'r':
		return keyRefresh
	case 'p':
		return keyPause
	case '+', '=':
		return keySlower
	case '-', '_':
		return keyFaster
	case 'd':
		return keyDiff
	case '?':
		return keyHelp
	case 0x0c: // Ctrl-L
		return keyRepaint
	case 'j':
		return keyDown
	case 'k':
		return keyUp
	case 0x06: // Ctrl-F
		return keyPageDown
	case 0x02: // Ctrl-B
		return keyPageUp
	case 'g':
		return keyTop
	case 'G':
		return keyBottom
	}
	return keyNone
}

// sequenceKey is the key of a sequence ESC [ parameters final, or ESC O final,
// whatever modifiers are among the parameters.
func sequenceKey(parameters string, final byte) key {
	switch final {
	case 'A':
		return keyUp
	case 'B':
		return keyDown
	case 'H':
		return keyTop
	case 'F':
		return keyBottom
	case '~':
		number, _, _ := strings.Cut(parameters, ";")
		switch number {
		case "1", "7":
			return keyTop
		case "4", "8":
			return keyBottom
		case "5":
			return keyPageUp
		case "6":
			return keyPageDown
		}
	}
	return keyNone
}
