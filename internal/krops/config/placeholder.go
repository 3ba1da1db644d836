package config

import (
	"slices"
	"strings"
)

// Substitute fills in the placeholders of a manifest: ${NAME}, and
// ${NAME:=default} which always has a value. It returns the names it has no value
// for, each once, in their order; they stay as they are. An opening that is never
// closed is text.
func Substitute(text string, values map[string]string) (filled string, missing []string) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${")
		b.WriteString(before)
		if !ok {
			return b.String(), missing
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			b.WriteString("${" + rest)
			return b.String(), missing
		}
		name, preset, optional := strings.Cut(inner, ":=")
		value, known := values[name]
		switch {
		case known:
			b.WriteString(value)
		case optional:
			b.WriteString(preset)
		default:
			b.WriteString("${" + inner + "}")
			if !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
		text = after
	}
}
