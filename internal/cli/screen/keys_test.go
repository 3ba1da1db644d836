package screen_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
)

func TestKeysAreRead(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[string][]screen.Key{
		"aé漢":                   {"a", "é", "漢"},
		"\r\n\t \x7f\x08":       {"enter", "enter", "tab", " ", "backspace", "backspace"},
		"\x1b":                  {"esc"},
		"\x1b\x1b":              {"esc", "esc"},
		"\x1b[A\x1bOB\x1b[1;5C": {"up", "down", "right"},
		"\x1b[5~\x1b[6~\x1b[3~": {"pgup", "pgdown", "delete"},
		"\x1b[H\x1b[4~\x1b[Z":   {"home", "end", "backtab"},
		"\x1bq":                 {"esc", "q"},
		"\x01\x03\x0c\x1a":      {"ctrl-a", "ctrl-c", "ctrl-l", "ctrl-z"},
		"\x1b[99":               nil, // never ends
		"\x1b[1\x03":            {"ctrl-c"},
		"\xff\xc3a":             {"a"},
		"\x1b[200~":             nil,
	} {
		if diff := cmp.Diff(want, screen.Decode([]byte(bytes))); diff != "" {
			t.Errorf("%q: %s", bytes, diff)
		}
	}
}

// However a slow line cuts what is typed, the keys are the same.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x1b[A漢\x1bq"), 2)
	f.Fuzz(func(t *testing.T, bytes []byte, at int) {
		keys := screen.Decode(bytes)
		for _, k := range keys {
			if !utf8.ValidString(string(k)) || k == "" {
				t.Errorf("key %q", k)
			}
		}
		if at < 0 || at > len(bytes) {
			return
		}
		if split := screen.Decode(bytes[:at], bytes[at:]); !slices.Equal(keys, split) {
			t.Errorf("%q, cut at %d: %q, not %q", bytes, at, split, keys)
		}
	})
}
