// Package proc knows processes by what they are, not by a number that the
// kernel gives again: an [Identity] is a process id, the instant it started and
// the boot it belongs to. Signals and waits go through a pidfd, so that none can
// reach a later process of the same number.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Process is what one line of the process table says.
type Process struct {
	Pid     int
	Parent  int
	Session int
	// State is the letter of ps: 'Z' for a process that ended but was not waited for.
	State byte
	// StartTime is counted in clock ticks since the boot.
	StartTime uint64

	kernel bool // a thread of the kernel: no program was ever executed in it
	bare   bool // executed with an empty environment
}

// Ended reports whether the process only waits to be collected by its parent.
func (p Process) Ended() bool { return p.State == 'Z' || p.State == 'X' }

// Stat reads the process table entry of pid. A process that is gone gives an
// error that is [os.ErrNotExist].
func Stat(pid int) (Process, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			return Process{}, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
		}
		return Process{}, err
	}
	return parseStat(string(b))
}

// parseStat reads /proc/<pid>/stat. The command name is between parentheses and
// may hold any byte, parentheses and blanks included: fields count from the last one.
func parseStat(s string) (Process, error) {
	open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if open < 1 || end < open {
		return Process{}, fmt.Errorf("process table entry %q: no command name", s)
	}
	f := strings.Fields(s[end+1:])
	if len(f) < 20 {
		return Process{}, fmt.Errorf("process table entry %q: %d fields after the command name, need 20", s, len(f))
	}
	p := Process{State: f[0][0]}
	var err error
	number := func(text string, to *int) {
		n, e := strconv.Atoi(text)
		*to, err = n, errors.Join(err, e)
	}
	number(strings.TrimSpace(s[:open]), &p.Pid)
	number(f[1], &p.Parent)
	number(f[3], &p.Session)
	start, e := strconv.ParseUint(f[19], 10, 64)
	if err = errors.Join(err, e); err != nil {
		return Process{}, fmt.Errorf("process table entry %q: %w", s, err)
	}
	p.StartTime = start
	// An old or a cut line has no more, and then neither is known.
	if flags, err := strconv.ParseUint(f[6], 10, 64); err == nil {
		p.kernel = flags&kernelThread != 0
	}
	// Where the environment lies in memory, once the program is loaded: its code is
	// the last thing that is told.
	if len(f) > 48 {
		p.bare = f[47] == f[48] && f[48] != "0" && f[24] != "0"
	}
	return p, nil
}

// kernelThread is PF_KTHREAD of the kernel.
const kernelThread = 0x00200000

// List reads the whole process table. None that lives is missed because its parent
// ended meanwhile; those that end meanwhile are left out.
func List(ctx context.Context) ([]Process, error) {
	var table []Process
	err := scan(ctx, func(pid int) verdict {
		p, err := Stat(pid)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return gone
		case err != nil:
			return known
		}
		table = append(table, p)
		if p.Ended() {
			return ended
		}
		return known
	})
	return table, err
}

// ErrExecuting tells that the kernel is replacing the program of a process by
// another one: for a moment it shows neither its command line nor its environment.
var ErrExecuting = errors.New("process is being executed")

// Environ returns the environment pid was executed with, which may be empty. It is
// readable by its owner and by root only. A process that ended has none, which is
// [os.ErrNotExist]. The end of an execution is waited for, a second at most: then it
// is [ErrExecuting].
func Environ(ctx context.Context, pid int) (env []string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), executionWait)
	defer cancel()
	_ = retry.Until(ctx, settling(), func(context.Context) (bool, error) { // the error is that of environ
		env, err = environ(pid)
		return !errors.Is(err, ErrExecuting), nil
	})
	return env, err
}

func environ(pid int) ([]string, error) {
	size, b, err := read(pid, make([]byte, environRoom))
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("environment of process %d: %w", pid, err)
	case size > 0:
		return strings.Split(strings.TrimRight(string(b[:size]), "\x00"), "\x00"), nil
	}
	switch withoutEnviron(pid) {
	case known:
		return nil, nil
	case unknown:
		return nil, fmt.Errorf("process %d: %w", pid, ErrExecuting)
	case gone, ended:
	}
	return nil, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
}
