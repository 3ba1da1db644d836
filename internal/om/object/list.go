package object

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// ReadList reads the selectors of a list, one a line. Blanks around a line are
// dropped; empty lines and those beginning with "#" or ";" are ignored.
func ReadList(r io.Reader) ([]string, error) {
	var out []string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		out = append(out, line)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the list of objects: %w", err)
	}
	return out, nil
}
