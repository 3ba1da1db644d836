package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/resource/process"
)

const (
	// defaultStop is how long processes have to end when no keyword says it.
	defaultStop = time.Minute
	// killWait is how long processes have to vanish once killed.
	killWait = 5 * time.Second
)

// Stop implements [resource.Stopper]: the stop command, then TERM, a wait on the
// processes themselves, then KILL for those that remain.
func (a *simple) Stop(ctx context.Context) error {
	patience := a.patience(ctx)
	busy, err := a.launching(ctx)
	if err != nil {
		return err
	}
	if err := a.verb(ctx, a.stop, "stop", patience); err != nil {
		if ctx.Err() != nil {
			return err
		}
		a.env.Warnf("stop command: %s", err)
	}
	if err := a.terminate(ctx, patience, a.everyone); err != nil {
		return err
	}
	if busy {
		// What was being launched has ended now, unless somebody launches still.
		if err := a.settled(ctx, statusWait); err != nil {
			return err
		}
		if err := a.terminate(ctx, patience, a.everyone); err != nil {
			return err
		}
	}
	if err := os.Remove(a.record()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// launching waits for the launch in progress. It tells whether one is stuck.
func (a *simple) launching(ctx context.Context) (stuck bool, err error) {
	err = a.settled(ctx, settleWait)
	if _, busy := errors.AsType[*launch.BusyError](err); busy {
		a.env.Warnf("%s", err)
		return true, nil
	}
	return false, err
}

// patience is how long the processes have to end, less than what the action has
// left, so that there is time to kill and to say so.
func (a *simple) patience(ctx context.Context) time.Duration {
	patience := process.FirstOf(a.StopTimeout, a.Timeout, defaultStop)
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)*9/10)
	}
	return patience
}

// terminate ends the processes that find finds, those they fork meanwhile included.
func (a *simple) terminate(ctx context.Context, patience time.Duration, find func(ctx context.Context) ([]proc.Identity, error)) error {
	m, err := find(ctx)
	// The time it takes to find them is not theirs.
	soft, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for ; ; m, err = find(ctx) {
		if err != nil || len(m) == 0 {
			return err
		}
		held, err := hold(m)
		if err != nil {
			return err
		}
		left, err := a.round(soft, held)
		if err == nil && len(left) > 0 {
			err = a.kill(ctx, left, patience)
		}
		if err = errors.Join(err, release(held)); err != nil {
			return err
		}
	}
}

// round sends TERM, whatever time is left, and waits. It returns those that did not
// end in time; an error when the action itself is interrupted.
func (a *simple) round(soft context.Context, held []*proc.Handle) (left []*proc.Handle, err error) {
	for _, h := range held {
		if errors.Is(soft.Err(), context.Canceled) {
			break
		}
		a.env.Infof("send termination signal to process %d", h.Identity().Pid)
		if err := h.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, proc.ErrGone) {
			return nil, err
		}
	}
	for _, h := range held {
		err := h.WaitGone(soft)
		switch {
		case err == nil:
			a.env.Infof("process %d is now terminated", h.Identity().Pid)
		case errors.Is(err, context.DeadlineExceeded):
			left = append(left, h)
		default:
			return nil, err
		}
	}
	return left, nil
}

// kill ends for good the processes that did not end by themselves.
func (a *simple) kill(ctx context.Context, left []*proc.Handle, patience time.Duration) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	for _, h := range left {
		a.env.Warnf("process %d did not end in %s: killed", h.Identity().Pid, patience.Round(10*time.Millisecond))
		if err := h.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, proc.ErrGone) {
			return err
		}
	}
	if a.env.Cgroup != "" {
		if tree, err := cgroup.Open(); err == nil {
			if _, err := tree.Kill(a.env.Cgroup); err != nil {
				return err
			}
		}
	}
	hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), killWait)
	defer cancel()
	for _, h := range left {
		if err := h.WaitGone(hard); err != nil {
			return fmt.Errorf("process %d is still there %s after KILL: it waits for a device, or the kernel holds it", h.Identity().Pid, killWait)
		}
		a.env.Infof("process %d is now terminated", h.Identity().Pid)
	}
	return nil
}

// hold takes a hold of each process, leaving out those that ended meanwhile.
func hold(ids []proc.Identity) (held []*proc.Handle, err error) {
	for _, id := range ids {
		h, err := id.Open()
		if errors.Is(err, proc.ErrGone) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, release(held))
		}
		held = append(held, h)
	}
	return held, nil
}

func release(held []*proc.Handle) (err error) {
	for _, h := range held {
		err = errors.Join(err, h.Close())
	}
	return err
}
