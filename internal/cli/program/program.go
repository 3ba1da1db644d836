// Package program is a process that runs a command line program: [Main] owns the
// signals and the exit code. It knows no library of commands; package app builds
// on it for those that use one.
//
//	nil                        -> 0
//	*UsageError, any error     -> 1
//	error with ExitCode() int  -> that code
//	output that is lost        -> 1, for help and versions too
//	first SIGINT or SIGTERM    -> the context ends; 130 if the command fails then
//	second one                 -> 130 at once
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Interrupted is the exit code of a command ended by a signal.
const Interrupted = 130

// Process is what a command may know of the process it runs in. It is read
// once, by [Main], and passed down.
type Process struct {
	Name     string              // base name the program was called by
	Args     []string            // the arguments, without the program name
	Env      func(string) string // one variable, "" when unset
	Environ  []string            // all of them, KEY=value
	Streams  *iostreams.Streams
	Hostname string // short, lower case
	Self     string // path of the executable
	Version  string // set by the main packages
	UID      int    // effective user, 0 is root
}

// Main runs a program, which returns its exit code, and exits. signals begins to
// listen to signals and returns the context they end; a program that only prints
// its version does not pay for it.
func Main(name string, run func(p Process, signals func() context.Context) int) {
	p, err := current()
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: %s: %v\n", name, err)
		os.Exit(1)
	}
	code := run(p, sync.OnceValue(listen))
	if err := p.Streams.Lost(); err != nil && code == 0 {
		Report(p.Streams.Err, fmt.Errorf("the output is not complete: %w", err))
		code = 1
	}
	os.Exit(code)
}

func listen() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(Interrupted)
	}()
	return ctx
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
		Name:     filepath.Base(os.Args[0]),
		Args:     os.Args[1:],
		Env:      os.Getenv,
		Environ:  os.Environ(),
		Streams:  iostreams.System(os.Getenv),
		Hostname: strings.ToLower(short),
		Self:     self,
		UID:      os.Geteuid(),
	}, nil
}

// Report prints an error, the lines after the first aligned below it.
func Report(w io.Writer, err error) {
	msg := Unsaid(err)
	if msg == "" {
		return
	}
	if errors.Is(err, context.Canceled) {
		msg = strings.Replace(msg, context.Canceled.Error(), "interrupted", 1)
	}
	msg = strings.Map(harmless, msg)
	const prefix = "Error: "
	msg = strings.ReplaceAll(strings.TrimRight(msg, "\n"), "\n", "\n"+strings.Repeat(" ", len(prefix)))
	_, _ = fmt.Fprintln(w, prefix+msg)
}

// harmless replaces what could move the cursor or colour the terminal: an error
// may hold what some command, or a server, printed.
func harmless(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return unicode.ReplacementChar
	}
	return r
}
