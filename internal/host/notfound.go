package host

import (
	"errors"
	"os/exec"
)

// NotFound reports whether a command was not run because the host has none of
// its name.
func NotFound(err error) bool { return errors.Is(err, exec.ErrNotFound) }
