// Package app runs a program whose command tree is cobra's: [Main] prepares the
// tree and prints its errors, package program does the rest.
//
//	command returns nil        -> 0
//	*UsageError, any error     -> 1, printed as "Error: ..."
//	error with ExitCode() int  -> that code
//	output that is lost        -> 1, for help and versions too
//	first SIGINT or SIGTERM    -> the context ends; 130 if the command fails then
//	second one                 -> 130 at once
package app

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/program"
)

// Interrupted is the exit code of a command ended by a signal.
const Interrupted = program.Interrupted

// Process is what a command may know of the process it runs in. It is read
// once, by [Main], and passed down.
type Process = program.Process

// UsageError is a command line that cannot be understood. Its message tells the
// user what to type instead.
type UsageError = program.UsageError

// Usage returns a [UsageError].
func Usage(format string, a ...any) error { return program.Usage(format, a...) }

// WithCode gives an error an exit code; nil stays nil.
func WithCode(err error, code int) error { return program.WithCode(err, code) }

// Silent returns an error that only sets the exit code: whatever there is to
// say was already said.
func Silent(code int) error { return program.Silent(code) }

// Ended is what a command that lasts until the user ends it returns when ctx
// does: nothing to say, the exit code of an interruption.
func Ended(ctx context.Context) error { return program.Ended(ctx) }

// Said makes silent those of the joined errors that were printed already: they
// only set the exit code.
func Said(err error, printed func(error) bool) error { return program.Said(err, printed) }

// Main runs the program and exits. newRoot builds its command tree; when it
// rewrites the arguments it gives them to the root with SetArgs. See [Prepare]
// for what is changed in the tree.
func Main(name string, newRoot func(Process) *cobra.Command) {
	program.Main(name, func(p Process, signals func() context.Context) int { return Run(signals(), p, newRoot) })
}

// Run is Main without the process: it returns the exit code. The end of ctx is
// the first signal.
func Run(ctx context.Context, p Process, newRoot func(Process) *cobra.Command) int {
	root := newRoot(p)
	Prepare(root)
	root.SetIn(p.Streams.In)
	root.SetOut(p.Streams.Out)
	root.SetErr(p.Streams.Err)
	err := root.ExecuteContext(ctx)
	program.Report(p.Streams.Err, err)
	return program.ExitCode(err)
}
