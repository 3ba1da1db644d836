// Package krops is the program krops-bootstrap: its commands, its exit codes and
// how it says what went wrong.
//
//	done                        -> 0, warnings or not
//	any error                   -> 1, with what caused it; a run that does not know
//	                               whether something is left is one, too
//	a command line that is none -> 2
//	SIGINT or SIGTERM           -> 130, at the next point where it is safe
package krops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
)

// usageCode is the exit code of a command line that cannot be understood.
const usageCode = 2

// Main runs the program and exits.
func Main(version string) {
	program.Main("krops-bootstrap", func(p program.Process, signals func() context.Context) int {
		p.Version = version
		return Run(signals(), p)
	})
}

// Run is Main without the process: it returns the exit code.
func Run(ctx context.Context, p program.Process) int { return RunWith(ctx, p, Overrides{}) }

// RunWith is Run with some of what it works with replaced.
func RunWith(ctx context.Context, p program.Process, o Overrides) int {
	root := tree(cli{p, o}) //nolint:contextcheck // commands get theirs below
	app.Prepare(root)
	root.SetIn(p.Streams.In)
	root.SetOut(p.Streams.Out)
	root.SetErr(p.Streams.Err)
	err := root.ExecuteContext(ctx)
	report(p.Streams.Err, err)
	if _, usage := errors.AsType[*program.UsageError](err); usage {
		return usageCode
	}
	return program.ExitCode(err)
}

// New returns the command tree.
func New(p program.Process) *cobra.Command { return tree(cli{Process: p}) }

func tree(c cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "krops-bootstrap [PROFILE]",
		Short: "Make and remove Cluster API management clusters",
		Long: "krops-bootstrap makes a management cluster that manages itself, from one file, and removes it again.\n\n" +
			"Without a command it bootstraps: a kind cluster with Flux, in which Cluster API makes the management cluster,\n" +
			"which then takes over all that is in the kind cluster. Nothing but a container engine is needed on this host.\n" +
			"Whatever interrupts it, the same command goes on where it stopped.\n\n" + profileHelp,
		Example: "  krops-bootstrap local-host\n  krops-bootstrap plan aws --observe\n  krops-bootstrap --recreate local-host\n" +
			"  krops-bootstrap teardown local-host",
		Version:           c.Version,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.Flags().BoolP("version", "V", false, "print the version")
	c.bootstrapCommand(root)
	root.AddCommand(c.teardownCommand(), c.orphansCommand(), c.statusCommand(), c.doctorCommand(), configCommand(c.Process), c.planCommand())
	root.SetArgs(c.Args)
	return root
}

// atMostOne is the argument check of a command that takes one argument or none.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return app.Usage("%s takes one %s, not %d arguments; see %s --help", cmd.CommandPath(), what, len(args), cmd.CommandPath())
		}
		if len(args) == 1 && args[0] == "" {
			return app.Usage("%s: the argument %s is empty (an empty variable of the shell?); leave it out for the default; see %s --help", cmd.CommandPath(), strings.ToUpper(what), cmd.CommandPath())
		}
		return nil
	}
}

// report prints an error, then what caused it.
func report(w io.Writer, err error) {
	if program.Unsaid(err) == "" {
		return
	}
	defer func() {
		if hinted, ok := errors.AsType[*hintedError](err); ok && hinted.hint != "" {
			_, _ = fmt.Fprintf(w, "\n%s\n", hinted.hint)
		}
	}()
	causes := chain(err)
	if len(causes) == 1 || errors.Is(err, context.Canceled) {
		program.Report(w, err)
		return
	}
	_, _ = fmt.Fprintf(w, "Error: %s\n\nCaused by:\n", causes[0])
	for i, cause := range causes[1:] {
		number := ""
		if len(causes) > 2 {
			number = strconv.Itoa(i) + ": "
		}
		_, _ = fmt.Fprintln(w, "    "+number+strings.ReplaceAll(cause, "\n", "\n    "))
	}
}

// chain splits an error into what was attempted and what went wrong.
func chain(err error) []string {
	var texts []string
	for err != nil {
		inner := errors.Unwrap(err)
		text := err.Error()
		if _, ok := err.(*fs.PathError); ok { //nolint:errorlint // the file belongs to what went wrong
			inner = nil
		}
		if inner != nil && text == inner.Error() {
			err = inner // it only adds something that is not said
			continue
		}
		if inner != nil {
			outer, ok := strings.CutSuffix(text, ": "+inner.Error())
			if !ok {
				// It says something else than both: it speaks for its cause.
				return append(texts, text)
			}
			text = outer
		}
		texts = append(texts, text)
		err = inner
	}
	return texts
}
