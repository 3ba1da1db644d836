package instance

import "github.com/holdfast-ops/holdfast/internal/linux/launch"

// ExecOptions are the flags and the arguments of `om exec`.
type ExecOptions = launch.Options

// Exec prepares the running process as told (control group, limits, directory,
// user...) and executes the command in its place. It returns only on failure.
func Exec(o ExecOptions, environ []string) error { return launch.Exec(o, environ) }
