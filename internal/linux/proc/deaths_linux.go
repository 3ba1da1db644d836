package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Deaths tells of the ends of processes as they happen: one descriptor each, and
// one waiter for all of them.
type Deaths struct {
	queue *os.File // an epoll instance, that the runtime waits for

	mu   sync.Mutex
	byFD map[int32]int // the pid behind a descriptor
	fds  map[int]int32
}

// NewDeaths returns a watch over no process yet.
func NewDeaths() (*Deaths, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, fmt.Errorf("watch processes: %w", err)
	}
	return &Deaths{queue: os.NewFile(uintptr(fd), "deaths"), byFD: map[int32]int{}, fds: map[int]int32{}}, nil
}

// Close ends the watch.
func (d *Deaths) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for pid := range d.fds {
		d.drop(pid)
	}
	return d.queue.Close()
}

// Add watches the process that has pid now, or returns [ErrGone].
func (d *Deaths) Add(pid int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.fds[pid]; ok {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL):
		return ErrGone
	case err != nil:
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	held := int32(fd) //nolint:gosec // a descriptor fits
	err = d.control(func(queue int) error {
		return unix.EpollCtl(queue, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: held})
	})
	if err != nil {
		return errors.Join(fmt.Errorf("watch process %d: %w", pid, err), unix.Close(fd))
	}
	d.byFD[held], d.fds[pid] = pid, held
	return nil
}

// Remove ends the watch over a process.
func (d *Deaths) Remove(pid int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(pid)
}

// drop closes a descriptor, which takes it out of the queue.
func (d *Deaths) drop(pid int) {
	fd, ok := d.fds[pid]
	if !ok {
		return
	}
	_ = unix.Close(int(fd)) // nothing was written
	delete(d.fds, pid)
	delete(d.byFD, fd)
}

// Next waits for processes to end, and returns their pids: they are not watched
// any more. It returns the error of ctx when that ends.
func (d *Deaths) Next(ctx context.Context) ([]int, error) {
	conn, err := d.queue.SyscallConn()
	if err != nil {
		return nil, err
	}
	if err := d.queue.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		// An error can only mean that the watch was closed: the read has ended then.
		_ = d.queue.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	var pids []int
	var waitErr error
	err = conn.Read(func(queue uintptr) bool {
		pids, waitErr = d.ended(int(queue))
		return len(pids) > 0 || waitErr != nil
	})
	switch {
	case waitErr != nil:
		return nil, fmt.Errorf("watch processes: %w", waitErr)
	case ctx.Err() != nil:
		return pids, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("watch processes: %w", err)
	}
	return pids, nil
}

// ended returns the processes that have ended, without waiting.
func (d *Deaths) ended(queue int) ([]int, error) {
	var events [64]unix.EpollEvent
	n, err := unix.EpollWait(queue, events[:], 0)
	if errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var pids []int
	for _, e := range events[:n] {
		pid, ok := d.byFD[e.Fd]
		if !ok {
			continue
		}
		// The descriptor may be that of another process since the queue told.
		if over, err := readable(int(e.Fd)); err != nil || !over {
			continue
		}
		d.drop(pid)
		pids = append(pids, pid)
	}
	return pids, nil
}

func (d *Deaths) control(f func(queue int) error) error {
	conn, err := d.queue.SyscallConn()
	if err != nil {
		return err
	}
	var ctlErr error
	err = conn.Control(func(queue uintptr) { ctlErr = f(int(queue)) })
	return errors.Join(err, ctlErr)
}
