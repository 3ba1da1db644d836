package config

import (
	"errors"
	"strings"
)

// Repository reads the address of a repository on GitHub.
func Repository(address string) (owner, name string, err error) {
	wrong := errors.New("GIT_REPO_URL must be an HTTPS GitHub repository URL")
	rest, ok := strings.CutPrefix(address, "https://github.com/")
	if !ok {
		return "", "", wrong
	}
	for before := ""; before != rest; {
		before = rest
		rest = strings.TrimSuffix(strings.TrimRight(rest, "/"), ".git")
	}
	owner, name, ok = strings.Cut(rest, "/")
	if !ok || owner == "" || name == "" || strings.ContainsAny(rest, " ?#@:") || strings.Contains(name, "/") {
		return "", "", wrong
	}
	return owner, name, nil
}
