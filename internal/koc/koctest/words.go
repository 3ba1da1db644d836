package koctest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// find returns the command that begins a line, the one of most words, and the rest.
func find(entries []command.Entry, words []string) (command.Entry, []string, error) {
	for n := len(words); n > 0; n-- {
		name := strings.Join(words[:n], " ")
		for _, e := range entries {
			if e.Name == name {
				return e, words[n:], nil
			}
		}
	}
	return command.Entry{}, nil, fmt.Errorf("no command in %q", strings.Join(words, " "))
}

// split splits a line at blanks, except between quotes.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, begun := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is open")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// dedent removes the blanks that all lines begin with, and those at the ends.
func dedent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	common := -1
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		n := len(line) - len(strings.TrimLeft(line, " \t"))
		if common < 0 || n < common {
			common = n
		}
	}
	for i, line := range lines {
		lines[i] = line[min(max(common, 0), len(line)-len(strings.TrimLeft(line, " \t"))):]
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
