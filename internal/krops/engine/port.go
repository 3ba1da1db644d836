package engine

import (
	"strconv"
	"strings"
)

// ParsePort reads a published port as engines print it: a number, or address:port;
// of several lines the first counts. 0 is none.
func ParsePort(text string) int {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(line)
	if i := strings.LastIndexByte(line, ':'); i >= 0 {
		line = line[i+1:]
	}
	if line == "" || strings.Trim(line, "0123456789") != "" {
		return 0
	}
	port, err := strconv.Atoi(line)
	if err != nil || port < 1 || port > 65535 {
		return 0
	}
	return port
}
