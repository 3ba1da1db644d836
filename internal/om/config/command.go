package config

import (
	"fmt"
	"strings"
)

// ParseCommand turns the text of a keyword into a command. A text with a pipe,
// && or ; is a script for the shell, quoted or not. Any other is split in words
// as a shell does and executed directly: redirections, variables and globs mean
// nothing in it.
func ParseCommand(text string) ([]string, error) {
	if strings.Contains(text, "|") || strings.Contains(text, "&&") || strings.Contains(text, ";") {
		return []string{"/bin/sh", "-c", text}, nil
	}
	argv, err := ParseShlex(text)
	if err != nil {
		return nil, fmt.Errorf("command %q: %w", text, err)
	}
	if len(argv) == 0 {
		return nil, fmt.Errorf("command %q: empty", text)
	}
	return argv, nil
}
