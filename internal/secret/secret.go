// Package secret keeps secrets out of logs, listings and error messages, and
// seals what has to be stored or sent.
package secret

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

// Hidden is what a secret prints as.
const Hidden = "***"

// String is a text that no printing verb, encoder or logger shows: only
// [String.Reveal] does. The zero String is an empty secret.
type String struct {
	// A pointer, since fmt follows the unexported fields of other structs
	// without calling methods; it stops at a pointer.
	text *string
}

var (
	_ fmt.Formatter  = String{}
	_ slog.LogValuer = String{}
)

// New returns the secret holding text.
func New(text string) String {
	if text == "" {
		return String{}
	}
	return String{text: &text}
}

// Reveal returns the secret itself.
func (s String) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero tells whether the secret is empty.
func (s String) IsZero() bool { return s.text == nil }

// Equal compares without telling, by the time it takes, where they differ.
func (s String) Equal(other String) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String returns [Hidden].
func (s String) String() string { return Hidden }

// GoString returns [Hidden].
func (s String) GoString() string { return Hidden }

// Format writes [Hidden], whatever the verb.
func (s String) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Hidden)) }

// LogValue returns [Hidden].
func (s String) LogValue() slog.Value { return slog.StringValue(Hidden) }

// MarshalJSON writes [Hidden].
func (s String) MarshalJSON() ([]byte, error) { return []byte(`"` + Hidden + `"`), nil }

// MarshalText writes [Hidden].
func (s String) MarshalText() ([]byte, error) { return []byte(Hidden), nil }

// MarshalYAML writes [Hidden].
func (s String) MarshalYAML() (any, error) { return Hidden, nil }

// UnmarshalText reads a secret, of a configuration or a json document.
func (s *String) UnmarshalText(text []byte) error {
	*s = New(string(text))
	return nil
}
