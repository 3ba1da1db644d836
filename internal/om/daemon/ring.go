package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// endTimeout is how long the parts of a ring may take to end. Beyond, one hangs
// on something outside (a disk that does not answer), and holding the daemon
// back would not make it answer.
const endTimeout = 10 * time.Second

// part is a subsystem: its run blocks until ctx ends, or fails.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// HangError says that parts of the daemon did not end when they were told to.
type HangError struct {
	Parts []string
	Limit time.Duration
}

// Error names the parts.
func (e *HangError) Error() string {
	return fmt.Sprintf("the daemon ends without its parts %s, which do not end within %s", strings.Join(e.Parts, ", "), e.Limit)
}

// rings runs the inner parts, then the outer ones once ready is closed. When ctx
// ends the outer parts end, then the inner ones. A part that fails ends them all,
// in the same order. A part that hangs is left behind: the process ends with it.
func rings(ctx context.Context, inner []part, ready <-chan struct{}, outer []part) error {
	innerCtx, cancelInner := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelInner()
	in, innerCtx := newRing(innerCtx)
	in.start(innerCtx, inner)

	outerCtx, cancelOuter := context.WithCancel(ctx)
	defer cancelOuter()
	stop := context.AfterFunc(innerCtx, cancelOuter)
	defer stop()
	out, outerCtx := newRing(outerCtx)
	select {
	case <-ready:
		out.start(outerCtx, outer)
	case <-outerCtx.Done():
	}
	err := out.wait(outerCtx)

	cancelInner()
	return errors.Join(err, in.wait(innerCtx))
}

// ring is the parts that begin and end together.
type ring struct {
	group *errgroup.Group

	mu      sync.Mutex
	running []string
}

func newRing(ctx context.Context) (*ring, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	return &ring{group: group}, ctx
}

func (r *ring) start(ctx context.Context, parts []part) {
	for _, p := range parts {
		r.mu.Lock()
		r.running = append(r.running, p.name)
		r.mu.Unlock()
		r.group.Go(func() error {
			defer r.ended(p.name)
			return p.run(ctx)
		})
	}
}

func (r *ring) ended(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.running, name); i >= 0 {
		r.running = slices.Delete(r.running, i, i+1)
	}
}

// wait returns once the parts have ended, or had the time to since ctx ended.
func (r *ring) wait(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- r.group.Wait() }()
	select {
	case err := <-done:
		return ended(err)
	case <-ctx.Done():
	}
	limit := time.NewTimer(endTimeout)
	defer limit.Stop()
	select {
	case err := <-done:
		return ended(err)
	case <-limit.C:
		r.mu.Lock()
		defer r.mu.Unlock()
		return errors.Join(ended(context.Cause(ctx)), &HangError{Parts: slices.Clone(r.running), Limit: endTimeout})
	}
}

// ended drops the error of a part that only says that it was told to end.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
