// Package app runs a command line program: [Main] owns the signals, the exit
// code and the printing of errors, so nothing else in the tree does.
//
//	command returns nil        -> 0
//	*UsageError, any error     -> 1, printed as "Error: ..."
//	error with ExitCode() int  -> that code
//	first SIGINT or SIGTERM    -> the context ends; 130 if the command fails then
//	second one                 -> 130 at once
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Interrupted is the exit code of a command ended by a signal.
const Interrupted = 130

// Process is what a command may know of the process it runs in. It is read
// once, by [Main], and passed down.
type Process struct {
	Args     []string            // the arguments, without the program name
	Env      func(string) string // one variable, "" when unset
	Environ  []string            // all of them, KEY=value
	Streams  *iostreams.Streams
	Hostname string // short, lower case
	Self     string // path of the executable
	Version  string // set by the main packages
	UID      int    // effective user, 0 is root
}

// Main runs the program and exits. newRoot builds its command tree; when it
// rewrites the arguments it gives them to the root with SetArgs. See [Prepare]
// for what is changed in the tree.
func Main(name string, newRoot func(Process) *cobra.Command) {
	p, err := current()
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: %s: %v\n", name, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(Interrupted)
	}()
	os.Exit(Run(ctx, p, newRoot))
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
	report(p.Streams.Err, err)
	return exitCode(err)
}

func current() (Process, error) {
	host, err := os.Hostname()
	if err != nil {
		return Process{}, fmt.Errorf("read the hostname: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return Process{}, fmt.Errorf("find this executable: %w", err)
	}
	short, _, _ := strings.Cut(host, ".")
	return Process{
		Args:     os.Args[1:],
		Env:      os.Getenv,
		Environ:  os.Environ(),
		Streams:  iostreams.System(os.Getenv),
		Hostname: strings.ToLower(short),
		Self:     self,
		UID:      os.Geteuid(),
	}, nil
}

// report prints an error, the lines after the first aligned below it.
func report(w io.Writer, err error) {
	msg := unsaid(err)
	if msg == "" {
		return
	}
	if errors.Is(err, context.Canceled) {
		msg = strings.Replace(msg, context.Canceled.Error(), "interrupted", 1)
	}
	const prefix = "Error: "
	msg = strings.ReplaceAll(strings.TrimRight(msg, "\n"), "\n", "\n"+strings.Repeat(" ", len(prefix)))
	_, _ = fmt.Fprintln(w, prefix+msg)
}
