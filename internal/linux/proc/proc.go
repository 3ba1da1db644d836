// Package proc knows processes by what they are, not by a number that the
// kernel gives again: an [Identity] is a process id, the instant it started and
// the boot it belongs to. Signals and waits go through a pidfd, so that none can
// reach a later process of the same number.
package proc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
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
	return p, nil
}

// List reads the whole process table, in one scan. Processes that end meanwhile
// are left out.
func List() ([]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	table := make([]Process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, err := Stat(pid)
		if err != nil {
			continue
		}
		table = append(table, p)
	}
	return table, nil
}

// Environ returns the environment pid was executed with. It is readable by its
// owner and by root only.
func Environ(pid int) ([]string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"), nil
}
