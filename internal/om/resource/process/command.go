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
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

// Parse turns the text of a keyword into a command, see [config.ParseCommand].
func Parse(text string) ([]string, error) { return config.ParseCommand(text) }

// Check tells what is wrong in the text of a command. It is a rule for
// keyword.Check; no command is right.
func Check(text string) error { return keyword.Command(text) }

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
