package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrGone tells that the process has ended.
var ErrGone = errors.New("process is gone")

// Handle is a hold on a process: what is done through it reaches that process
// or nobody.
type Handle struct {
	id Identity
	fd *os.File
}

// Open takes hold of the process, or returns [ErrGone].
func (id Identity) Open() (*Handle, error) {
	if id.IsZero() || !id.ThisBoot() {
		return nil, ErrGone
	}
	fd, err := unix.PidfdOpen(id.Pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", id.Pid, err)
	}
	h := &Handle{id: id, fd: os.NewFile(uintptr(fd), "pidfd")}
	// The descriptor holds whatever has the number now: it is the right one if
	// the identity still matches once it is held.
	if !id.Alive() {
		return nil, errors.Join(ErrGone, h.Close())
	}
	return h, nil
}

// Identity is that of the process held.
func (h *Handle) Identity() Identity { return h.id }

// Close lets the process go.
func (h *Handle) Close() error { return h.fd.Close() }

// Signal sends a signal, or returns [ErrGone].
func (h *Handle) Signal(sig syscall.Signal) error {
	err := unix.PidfdSendSignal(int(h.fd.Fd()), sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	if err != nil {
		return fmt.Errorf("send signal %s to process %d: %w", sig, h.id.Pid, err)
	}
	return nil
}

// WaitGone returns nil as soon as the process has ended, collected by its parent
// or not, else the error of ctx.
func (h *Handle) WaitGone(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	conn, err := h.fd.SyscallConn()
	if err != nil {
		return err
	}
	if err := h.fd.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		// An error can only mean that the handle was closed: the read has ended then.
		_ = h.fd.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	var pollErr error
	err = conn.Read(func(fd uintptr) bool {
		var ended bool
		ended, pollErr = readable(int(fd))
		return ended || pollErr != nil
	})
	switch {
	case pollErr != nil:
		return fmt.Errorf("wait for process %d: %w", h.id.Pid, pollErr)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("wait for process %d: %w", h.id.Pid, err)
	}
	return nil
}

func readable(fd int) (bool, error) {
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a descriptor fits
	n, err := unix.Poll(set, 0)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}
