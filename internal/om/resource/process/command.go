// Package process is how the drivers run commands for a resource: the rule that
// turns the text of a keyword into a command, the environment, the user and the
// limits, through `om exec`, which puts the process in the control group of the
// resource.
package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// Parse turns the text of a keyword into a command. A text with a pipe, && or ;
// is a script for the shell. Any other is split in words as a shell does and
// executed directly: redirections, variables and globs mean nothing in it.
func Parse(text string) ([]string, error) {
	if strings.Contains(text, "|") || strings.Contains(text, "&&") || strings.Contains(text, ";") {
		return []string{"/bin/sh", "-c", text}, nil
	}
	argv, err := config.ParseShlex(text)
	if err != nil {
		return nil, fmt.Errorf("command %q: %w", text, err)
	}
	if len(argv) == 0 {
		return nil, fmt.Errorf("command %q: empty", text)
	}
	return argv, nil
}

// Check tells what is wrong in the text of a command. It is a rule for
// keyword.Check; no command is right.
func Check(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	_, err := Parse(text)
	return err
}

// In replaces a command that is no absolute file by the one of that name in dir,
// when there is one.
func In(dir string, argv []string) []string {
	if dir == "" || len(argv) == 0 || filepath.IsAbs(argv[0]) {
		return argv
	}
	file := filepath.Join(dir, argv[0])
	if info, err := os.Stat(file); err != nil || info.IsDir() {
		return argv
	}
	return append([]string{file}, argv[1:]...)
}

// Verb resolves the value of a start, stop, check or info keyword: true is the
// script called with the verb, false or nothing is no command, anything else is
// a command. ok tells whether there is a command.
func Verb(value, script, verb string) (command string, ok bool, err error) {
	value = strings.TrimSpace(value)
	if value == "" {
		return "", false, nil
	}
	yes, err := strconv.ParseBool(value)
	if err != nil {
		return value, true, nil //nolint:nilerr // not a boolean: a command
	}
	if !yes {
		return "", false, nil
	}
	if script == "" {
		return "", false, fmt.Errorf("%s = true needs a script: set the script keyword, or write the command", verb)
	}
	return script + " " + verb, true, nil
}
