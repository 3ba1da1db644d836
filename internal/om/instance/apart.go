package instance

import (
	"context"
	"fmt"
	"time"
)

// apart runs what may hang: what does is waited for no longer than the limit, and is
// not begun anew while it hangs, so that a device that does not answer costs one
// goroutine, however often it is looked at.
func (e *Engine) apart(ctx context.Context, what string, limit time.Duration, f func() error) error {
	began := time.Now()
	if since, going := e.hanging.LoadOrStore(what, began); going {
		if t, ok := since.(time.Time); ok && time.Since(t) > limit {
			return fmt.Errorf("nothing since %s", t.Format(time.RFC3339))
		}
	}
	done := make(chan error, 1)
	go func() {
		err := f()
		e.hanging.CompareAndDelete(what, began)
		done <- err
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("nothing after %s", limit)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
