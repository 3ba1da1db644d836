package socket

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseControlGroups reads a cgroup file of /proc: the control group of a process
// in each hierarchy, in the order of the file, without repetition. A line that is
// none is an error: what it hides could be what matters.
func ParseControlGroups(text string) ([]string, error) {
	var groups []string
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 || !strings.HasSuffix(line, "\n") || !strings.HasPrefix(parts[2], "/") {
			return nil, fmt.Errorf("line %q is no control group", line)
		}
		if _, err := strconv.ParseUint(parts[0], 10, 32); err != nil {
			return nil, fmt.Errorf("line %q is of no hierarchy", line)
		}
		if !slices.Contains(groups, parts[2]) {
			groups = append(groups, parts[2])
		}
	}
	if len(groups) == 0 {
		return nil, errors.New("no control group is told")
	}
	return groups, nil
}
