package om_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

type scriptCommand = func(ts *testscript.TestScript, neg bool, args []string)

// commands are what the scripts have beside the standard commands:
//
//	code N COMMAND...        the command ends with that exit code
//	waitfor 30s COMMAND...    the command succeeds within that time
//	port NAME...             each variable is set to a free port
//	keep NAME                the variable is set to the standard output, trimmed
//	field NAME HEADER [ROW]  ... to a cell of the table on the standard output
//	signal SIGNAL PIDFILE    signals the process named by a file, and waits until it is stopped by STOP
//	touchfuture FILE         the file was modified in an hour
//	replace FILE OLD NEW     replaces a text of a file
func commands() map[string]scriptCommand {
	return map[string]scriptCommand{
		"code": code, "waitfor": waitfor, "port": port, "keep": keep, "field": field,
		"signal": signal, "touchfuture": touchFuture, "replace": replace,
	}
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND [ARGUMENT]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := run(ts, args[1:]); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// run executes a command and returns its exit code.
func run(ts *testscript.TestScript, argv []string) int {
	err := ts.Exec(argv[0], argv[1:]...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	ts.Fatalf("%s: %v", argv[0], err)
	return -1
}

func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] waitfor DURATION COMMAND [ARGUMENT]...")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 4*limit) // on a busy machine
	defer cancel()
	err = retry.Until(ctx, retry.Policy{Interval: 20 * time.Millisecond, Max: 100 * time.Millisecond}, func(context.Context) (bool, error) {
		return (run(ts, args[1:]) == 0) != neg, nil
	})
	if err != nil {
		ts.Fatalf("%s: not within %s", strings.Join(args[1:], " "), limit)
	}
}

func port(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		p, err := ports.take()
		ts.Check(err)
		ts.Setenv(name, strconv.Itoa(p))
	}
}

func keep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

func field(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: field NAME HEADER [ROW]")
	}
	row := 1
	if len(args) > 2 {
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		row = n
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	if row >= len(lines) {
		ts.Fatalf("the standard output has no row %d", row)
	}
	for i, header := range strings.Fields(lines[0]) {
		if cells := strings.Fields(lines[row]); header == args[1] && i < len(cells) {
			ts.Setenv(args[0], cells[i])
			return
		}
	}
	ts.Fatalf("the standard output has no column %s", args[1])
}

func signal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "INT": syscall.SIGINT}
	pid, err := strconv.Atoi(strings.Fields(ts.ReadFile(args[1]))[0])
	ts.Check(err)
	ts.Check(syscall.Kill(pid, signals[args[0]]))
	if args[0] == "STOP" {
		ts.Check(stopped(pid))
	}
}

// stopped waits until every thread of a process is stopped: a busy one answers meanwhile.
func stopped(pid int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return retry.Until(ctx, retry.Policy{Interval: time.Millisecond}, func(context.Context) (bool, error) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, name := range threads {
			// A thread that has ended meanwhile reads as nothing, and is not there the next time.
			if stat, _ := os.ReadFile(name); !bytes.Contains(stat, []byte(") T ")) {
				return false, nil
			}
		}
		return len(threads) > 0, err
	})
}

func touchFuture(ts *testscript.TestScript, _ bool, args []string) {
	at := time.Now().Add(time.Hour)
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), at, at))
}

func replace(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(filepath.Clean(name))
	ts.Check(err)
	if !bytes.Contains(data, []byte(args[1])) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(name, bytes.ReplaceAll(data, []byte(args[1]), []byte(args[2])), 0o600))
}
