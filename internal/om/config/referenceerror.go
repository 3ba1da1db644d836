package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ReferenceError says why a reference cannot be replaced.
type ReferenceError struct {
	Chain []string // references inside one another, the outermost first
	Err   error    // of the last one
}

// maxChain is how many references an error names.
const maxChain = 3

// Error names the reference as it is written, then the way to the one that is
// wrong, unless it is long.
func (e *ReferenceError) Error() string {
	named := e.Chain
	if skipped := len(named) - maxChain; skipped > 0 {
		last := fmt.Sprintf("%s, %d references further", named[len(named)-1], len(named)-1)
		named = []string{named[0], last}
	}
	return "reference " + strings.Join(named, ": reference ") + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *ReferenceError) Unwrap() error { return e.Err }

// through adds a reference to the way to what is wrong.
func through(reference string, err error) error {
	chain := []string{reference}
	if inner, ok := errors.AsType[*ReferenceError](err); ok && inner.Error() == err.Error() {
		return &ReferenceError{Chain: slices.Concat(chain, inner.Chain), Err: inner.Err}
	}
	return &ReferenceError{Chain: chain, Err: err}
}
