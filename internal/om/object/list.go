package object

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The bounds of a list.
const (
	maxListLine = 64 << 10 // bytes of a selector
	maxList     = 16 << 20 // bytes in all
)

// ReadList reads the selectors of a list, one a line. Blanks around a line are
// dropped; empty lines and those beginning with "#" or ";" are ignored.
func ReadList(r io.Reader) ([]string, error) {
	var out []string
	limited := &io.LimitedReader{R: r, N: maxList + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxListLine)
	number := 1
	for ; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		out = append(out, line)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d of the list of objects is longer than %d bytes: write one selector a line", number, maxListLine)
	case err != nil:
		return nil, fmt.Errorf("read the list of objects: %w", err)
	case limited.N == 0:
		return nil, fmt.Errorf("the list of objects is longer than %d bytes: use patterns, as in ns1/svc/*", maxList)
	}
	return out, nil
}
