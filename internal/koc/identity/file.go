package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// readJSON reads a file of JSON; its order is kept.
func readJSON(name string) (json.RawMessage, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if !json.Valid(text) {
		var v any
		return nil, fmt.Errorf("%s is no JSON: %w", name, json.Unmarshal(text, &v))
	}
	return text, nil
}

func toJSON(_ context.Context, c *command.Call, flag string) (any, error) {
	return readJSON(c.Text(flag))
}

// readLines reads the lines of a file, without the blanks around them.
func readLines(name string) ([]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	lines := []string{}
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines, nil
}

func readText(name string) (string, error) {
	text, err := os.ReadFile(name)
	return string(text), err
}
