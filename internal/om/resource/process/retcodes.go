package process

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// RetCodes maps exit statuses to resource statuses.
type RetCodes map[int]cluster.Status

// ParseRetCodes reads code:status items separated by blanks, as "0:up 1:down 3:n/a".
func ParseRetCodes(text string) (RetCodes, error) {
	codes := RetCodes{}
	for item := range strings.FieldsSeq(text) {
		left, right, ok := strings.Cut(item, ":")
		code, err := strconv.Atoi(left)
		if !ok || err != nil || code < 0 || code > 255 {
			return nil, fmt.Errorf("retcodes: %q is not code:status, as 0:up", item)
		}
		status, err := cluster.ParseStatus(right)
		if err != nil {
			return nil, fmt.Errorf("retcodes: %q: %w", item, err)
		}
		codes[code] = status
	}
	return codes, nil
}

// CheckRetCodes tells what is wrong in a map. It is a rule for keyword.Check.
func CheckRetCodes(text string) error {
	_, err := ParseRetCodes(text)
	return err
}

// Status is that of an exit status, and a remark when the map does not have it.
func (c RetCodes) Status(code int) (cluster.Status, *cluster.ResourceLogEntry) {
	if s, ok := c[code]; ok {
		return s, nil
	}
	return cluster.Warn, &cluster.ResourceLogEntry{Level: "warn", Message: fmt.Sprintf("exit status %d is not in retcodes", code)}
}
