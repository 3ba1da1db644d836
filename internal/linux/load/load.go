// Package load measures how busy a host is: its load average and the memory it
// has left, as /proc tells.
package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Load is one measure.
type Load struct {
	Average15 float64 // processes running or waiting, over 15 minutes
	Mem, Swap Memory
}

// Memory is a kind of memory, in bytes.
type Memory struct{ Total, Available uint64 }

// Percent is how much is available. A memory that does not exist is all there:
// a host without swap lacks none.
func (m Memory) Percent() uint64 {
	if m.Total == 0 {
		return 100
	}
	return m.Available * 100 / m.Total
}

// Proc is where the kernel tells.
const Proc = "/proc"

// Read measures the host whose /proc is at root.
func Read(root string) (Load, error) {
	average, err := readAverage(filepath.Join(root, "loadavg"))
	if err != nil {
		return Load{}, err
	}
	l := Load{Average15: average}
	if l.Mem, l.Swap, err = readMemory(filepath.Join(root, "meminfo")); err != nil {
		return Load{}, err
	}
	return l, nil
}

func readAverage(file string) (float64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("load average: %w", err)
	}
	fields := strings.Fields(string(data))
	if len(fields) < 3 {
		return 0, fmt.Errorf("load average: %s reads %q", file, data)
	}
	average, err := strconv.ParseFloat(fields[2], 64)
	if err != nil {
		return 0, fmt.Errorf("load average: %s: %w", file, err)
	}
	return average, nil
}

func readMemory(file string) (mem, swap Memory, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return mem, swap, fmt.Errorf("memory: %w", err)
	}
	fields := map[string]*uint64{
		"MemTotal": &mem.Total, "MemAvailable": &mem.Available, "SwapTotal": &swap.Total, "SwapFree": &swap.Available,
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		field := fields[name]
		if field == nil {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		if *field, err = strconv.ParseUint(number, 10, 54); err != nil {
			return mem, swap, fmt.Errorf("memory: %s: %s: %w", file, name, err)
		}
		if unit == "kB" {
			*field *= 1024
		}
	}
	if err := lines.Err(); err != nil {
		return mem, swap, fmt.Errorf("memory: %s: %w", file, err)
	}
	if mem.Total == 0 {
		return mem, swap, errors.New("memory: " + file + " gives no total")
	}
	return mem, swap, nil
}
