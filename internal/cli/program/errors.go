package program

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

// Said makes silent those of the joined errors that were printed already: they
// only set the exit code.
func Said(err error, printed func(error) bool) error {
	if all, ok := parts(err); ok {
		said := make([]error, len(all))
		for i, e := range all {
			said[i] = Said(e, printed)
		}
		return errors.Join(said...)
	}
	if err != nil && printed(err) {
		return Silent(ExitCode(err))
	}
	return err
}

// Unsaid is what an error has to say: of joined errors, what those that are not
// silent have.
func Unsaid(err error) string {
	if err == nil {
		return ""
	}
	if all, ok := parts(err); ok {
		var texts []string
		for _, e := range all {
			if text := Unsaid(e); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "\n")
	}
	if _, silent := errors.AsType[*silentError](err); silent {
		return ""
	}
	return err.Error()
}

// parts returns the errors that were joined into one which says nothing of its own.
func parts(err error) ([]error, bool) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil, false
	}
	all := joined.Unwrap()
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = e.Error()
	}
	return all, err.Error() == strings.Join(texts, "\n")
}

// ExitCode is the code of the first error of the tree that has one.
func ExitCode(err error) int {
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
