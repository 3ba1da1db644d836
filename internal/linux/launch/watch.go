package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ReportFD is the descriptor on which the launched process tells what becomes of
// it, when [Watch.File] is the first of the files it is given.
const ReportFD = 3

// Watch tells whoever launches a command whether it was executed. The exit status
// cannot: that of a command and that of a launch that went wrong look the same.
//
//	launched process: prepares itself, says "executing" on the pipe, executes
//	                                      \-> says why it cannot, ends
//	the pipe closes by itself on the execution and on the end
type Watch struct{ r, w *os.File }

// executing is what the launched process says once it is ready; a reason after
// it tells that the execution itself failed.
const executing = "\x00"

// maxReason bounds a reason: what a pipe takes at once.
const maxReason = unix.PathMax

// NewWatch opens a watch, to be closed.
func NewWatch() (*Watch, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("watch a command being launched: %w", err)
	}
	return &Watch{r: r, w: w}, nil
}

// File is the end of the launched process.
func (w *Watch) File() *os.File { return w.w }

// Close ends the watch.
func (w *Watch) Close() error {
	err := w.w.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, w.r.Close())
}

// Executed waits until the process that was started has become the command, or
// has ended without: then it is an [*Error].
func (w *Watch) Executed(ctx context.Context) error {
	if err := w.w.Close(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = w.r.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	said, err := io.ReadAll(io.LimitReader(w.r, maxReason))
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	}
	reason, ready := strings.CutPrefix(string(said), executing)
	switch {
	case reason != "":
		return &Error{Reason: reason}
	case !ready:
		return &Error{Reason: "the process that was to execute it ended before, without a word"}
	}
	return nil
}

// Executing says to a watch that the command is executed, for the doubles of the
// runner of commands: files are those the command is given, the watch first.
func Executing(files []*os.File) error {
	if len(files) == 0 {
		return nil
	}
	_, err := files[0].WriteString(executing)
	return err
}

// Error tells that a command was not executed.
type Error struct{ Reason string }

// Error gives the reason.
func (e *Error) Error() string { return e.Reason }

// report is the other end of a watch.
type report struct{ fd int }

// openReport makes sure that the command does not inherit the descriptor.
func openReport(fd int) (*report, error) {
	if fd == 0 {
		return nil, nil //nolint:nilnil // nobody watches
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("report on descriptor %d: %w", fd, err)
	}
	return &report{fd: fd}, nil
}

func (r *report) say(text string) error {
	if r == nil {
		return nil
	}
	_, err := unix.Write(r.fd, []byte(text[:min(len(text), maxReason-len(executing))]))
	if errors.Is(err, unix.EPIPE) {
		return nil // who watched was killed: the launch goes on
	}
	if err != nil {
		return fmt.Errorf("report on descriptor %d: %w", r.fd, err)
	}
	return nil
}

// failed tells why the command is not executed. What is told needs no message:
// who watches says it.
func (r *report) failed(cause error) error {
	if r == nil {
		return cause
	}
	if err := r.say(cause.Error()); err != nil {
		return errors.Join(cause, err)
	}
	return &ReportedError{Err: cause}
}

// ReportedError is a failure told to who watches.
type ReportedError struct{ Err error }

// Error gives the failure.
func (e *ReportedError) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *ReportedError) Unwrap() error { return e.Err }
