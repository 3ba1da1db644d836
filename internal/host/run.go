package host

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Cmd is a command to run. Argv is executed as is, without a shell.
type Cmd struct {
	Argv  []string
	Dir   string
	Env   []string // complete environment, KEY=value; nil: that of the agent
	Stdin []byte
	// OnLine receives each line of output as it comes; stderr tells which stream.
	// When nil the output is only collected.
	OnLine func(stderr bool, line string)
	// Keep is how many bytes of each stream are kept, the last ones; 0 is 1 MiB.
	Keep int
	// Files are open in the command, from descriptor 3 on.
	Files []*os.File
	// Cgroup is the directory of a control group of version 2 in which a command left
	// running is born where that is possible: it must join it by itself elsewhere.
	Cgroup string
	// Capture receives the whole output of a command left running, which goes to
	// /dev/null without it. The command keeps its own hold of the file.
	Capture *os.File
}

// Output is what a finished command printed.
type Output struct {
	Stdout, Stderr []byte
}

// Process is a command left running.
type Process interface {
	Pid() int
	// Wait returns when the process has ended: nil for status 0, else an *[ExitError].
	Wait() error
}

// Runner runs commands.
type Runner interface {
	// Run waits for the command. A command that does not exit with 0 is an
	// *[ExitError]. When ctx ends, the process group receives TERM, then KILL
	// after a grace of two seconds, and the error wraps ctx.Err().
	Run(ctx context.Context, c Cmd) (Output, error)
	// Start leaves the command running in a session of its own, its input and
	// output on /dev/null (see Capture), and returns once it was executed.
	Start(c Cmd) (Process, error)
}

// ExitError says how a command failed.
type ExitError struct {
	Argv   []string
	Code   int            // exit status, -1 when a signal ended it
	Signal syscall.Signal // 0 when it exited
	Stderr string         // the last lines
}

// Error prints the command, its end and its last words.
func (e *ExitError) Error() string {
	end := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != 0 {
		end = "killed by signal " + e.Signal.String()
	}
	msg := Quote(e.Argv) + ": " + end
	if s := strings.TrimSpace(e.Stderr); s != "" {
		msg += ": " + s
	}
	return msg
}
