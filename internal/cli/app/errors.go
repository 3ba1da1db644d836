package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// UsageError is a command line that cannot be understood. Its message tells the
// user what to type instead.
type UsageError struct{ Message string }

// Error implements error.
func (e *UsageError) Error() string { return e.Message }

// Usage returns a [UsageError].
func Usage(format string, a ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, a...)}
}

// WithCode gives an error an exit code; nil stays nil.
func WithCode(err error, code int) error {
	if err == nil {
		return nil
	}
	return &codeError{err: err, code: code}
}

type codeError struct {
	err  error
	code int
}

// Error implements error.
func (e *codeError) Error() string { return e.err.Error() }

// Unwrap returns the error that was given a code.
func (e *codeError) Unwrap() error { return e.err }

// ExitCode is the code it was given.
func (e *codeError) ExitCode() int { return e.code }

// Silent returns an error that only sets the exit code: whatever there is to
// say was already said.
func Silent(code int) error { return &silentError{code: code} }

type silentError struct{ code int }

// Error implements error.
func (e *silentError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// ExitCode is the exit code to end with.
func (e *silentError) ExitCode() int { return e.code }

// Ended is what a command that lasts until the user ends it returns when ctx
// does: nothing to say, the exit code of an interruption.
func Ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return Silent(Interrupted)
	}
	return ctx.Err()
}

// unsaid is what an error has to say: of joined errors, what those that are not
// silent have.
func unsaid(err error) string {
	if err == nil {
		return ""
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // this one, not what it wraps
		var parts, all []string
		for _, e := range joined.Unwrap() {
			all = append(all, e.Error())
			if text := unsaid(e); text != "" {
				parts = append(parts, text)
			}
		}
		if err.Error() == strings.Join(all, "\n") {
			return strings.Join(parts, "\n")
		}
	}
	if _, silent := errors.AsType[*silentError](err); silent {
		return ""
	}
	return err.Error()
}

// exitCode is the code of the first error of the tree that has one.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	var coded interface {
		error
		ExitCode() int
	}
	switch {
	case errors.As(err, &coded):
		return coded.ExitCode()
	case errors.Is(err, context.Canceled):
		return Interrupted
	default:
		return 1
	}
}
