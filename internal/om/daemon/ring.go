package daemon

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// part is a subsystem: it blocks until ctx ends, or fails.
type part func(ctx context.Context) error

// rings runs the inner parts, then the outer ones once ready is closed. When ctx
// ends the outer parts end, then the inner ones. A part that fails ends them all,
// in the same order.
func rings(ctx context.Context, inner []part, ready <-chan struct{}, outer []part) error {
	innerCtx, cancelInner := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelInner()
	in, innerCtx := errgroup.WithContext(innerCtx)
	for _, run := range inner {
		in.Go(func() error { return run(innerCtx) })
	}

	outerCtx, cancelOuter := context.WithCancel(ctx)
	defer cancelOuter()
	stop := context.AfterFunc(innerCtx, cancelOuter)
	defer stop()
	out, outerCtx := errgroup.WithContext(outerCtx)
	select {
	case <-ready:
		for _, run := range outer {
			out.Go(func() error { return run(outerCtx) })
		}
	case <-outerCtx.Done():
	}
	err := out.Wait()

	cancelInner()
	return errors.Join(ended(err), ended(in.Wait()))
}

// ended drops the error of a part that only says that it was told to end.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
