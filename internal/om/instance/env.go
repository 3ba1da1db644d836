package instance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// EnvVariable carries [Request.Env] from the daemon to the process that acts: a
// command line is seen by every user of the node and kept in records, and what
// is given this way is often a password.
const EnvVariable = "OSVC_ACTION_ENV"

var envPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// EncodeEnv is the value of [EnvVariable] that gives env.
func EncodeEnv(env []string) string {
	data, err := json.Marshal(env)
	if err != nil {
		return "" // a list of texts always encodes
	}
	return string(data)
}

// DecodeEnv is the inverse of [EncodeEnv]. An empty text is no environment.
func DecodeEnv(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var env []string
	if err := json.Unmarshal([]byte(text), &env); err != nil {
		return nil, fmt.Errorf("%s: %w", EnvVariable, err)
	}
	return env, nil
}

// MaskEnv is env as it may be shown: the names.
func MaskEnv(env []string) []string {
	masked := make([]string, len(env))
	for i, e := range env {
		name, _, _ := strings.Cut(e, "=")
		masked[i] = name + "=***"
	}
	return masked
}

// MaskCommand is a command line as it may be shown: what it gives the commands of
// the resources is named only.
func MaskCommand(argv []string) []string {
	masked := make([]string, len(argv))
	for i, word := range argv {
		switch name, value, joined := strings.Cut(word, "="); {
		case name == "--env" && joined:
			word = "--env=" + MaskEnv([]string{value})[0]
		case i > 0 && argv[i-1] == "--env":
			word = MaskEnv([]string{word})[0]
		}
		masked[i] = word
	}
	return masked
}

// checkEnv refuses what is no environment. The values are not repeated.
func checkEnv(env []string) error {
	for _, e := range env {
		name, value, ok := strings.Cut(e, "=")
		switch {
		case !ok || !envPattern.MatchString(name):
			return fmt.Errorf("env: %q is not NAME=value: a name is made of letters, digits and underscores", name)
		case strings.ContainsRune(value, 0):
			return fmt.Errorf("env: the value of %s holds a zero byte", name)
		}
	}
	return nil
}
