package client

import (
	"errors"
	"net"
	"net/url"
	"os"
	"syscall"
)

// DownError says that no daemon answers.
type DownError struct {
	Target string // socket or address
	Err    error
}

// Error names where nobody answers.
func (e *DownError) Error() string {
	return "no daemon answers on " + e.Target + ": " + reason(e.Err)
}

// Unwrap returns the cause.
func (e *DownError) Unwrap() error { return e.Err }

// DeniedError says that the daemon, if there is one, is not for this user.
type DeniedError struct {
	Target string // socket
	Err    error
}

// Error names what this user may not open, and says what to do.
func (e *DeniedError) Error() string {
	return e.Target + ": " + reason(e.Err) + ": the socket of a daemon is for its owner; become that user, or go through the listener with ox"
}

// Unwrap returns the cause.
func (e *DeniedError) Unwrap() error { return e.Err }

// IsDown reports whether err says that no daemon answers.
func IsDown(err error) bool {
	var down *DownError
	return errors.As(err, &down)
}

// reason is the innermost cause: the layers above repeat the target.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// wrapTransport turns a failure to reach the daemon into a [DownError].
func (c *Client) wrapTransport(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, os.ErrPermission) {
		return &DeniedError{Target: c.target, Err: err}
	}
	var op *net.OpError
	dialed := errors.As(err, &op) && op.Op == "dial"
	if dialed || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return &DownError{Target: c.target, Err: err}
	}
	return err
}
