package host

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// groupRuns tells whether a process group has a member that still runs. A
// zombie, which pid 1 may be slow to reap, does not.
func groupRuns(id int) bool {
	if errors.Is(syscall.Kill(-id, 0), syscall.ESRCH) {
		return false
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return true // cannot tell
	}
	want := []byte(strconv.Itoa(id))
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (comm) state ppid pgrp; comm may hold anything
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 2 && bytes.Equal(fields[2], want) && string(fields[0]) != "Z" && string(fields[0]) != "X" {
			return true
		}
	}
	return false
}
