package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

const (
	// patience is how long a daemon of this host may take to answer before it is
	// asked whether it is there. Some calls wait for long, on purpose.
	patience = 2 * time.Second
	// pulse is how long it may then take to say so.
	pulse = 3 * time.Second
)

// HungError says that a daemon is there and answers nothing.
type HungError struct {
	Target string // socket
	Limit  time.Duration
}

// Error names where nothing is answered, and what may be the reason.
func (e *HungError) Error() string {
	return fmt.Sprintf("the daemon does not answer on %s within %s: its process is stopped, or the host is overloaded", e.Target, e.Limit)
}

// IsHung reports whether err says that a daemon is there and answers nothing.
func IsHung(err error) bool {
	_, hung := errors.AsType[*HungError](err)
	return hung
}

// Alive returns nil when the daemon answers. One of this host that is there and
// does not answer at once is a *[HungError].
func (c *Client) Alive(ctx context.Context) error {
	if c.pulse > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, c.pulse, &HungError{Target: c.target, Limit: c.pulse})
		defer cancel()
		ctx = limited
	}
	response, err := c.send(ctx, api.GetHealth.Describe(), api.None{}, "application/json")
	if err != nil {
		return hung(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		return problem(response, nil)
	}
	return nil
}

// watch watches over a call until stop: its context, which cancel ends, ends with
// a *[HungError] when the daemon of this host answers neither it nor [Client.Alive].
func (c *Client) watch(ctx context.Context) (watched context.Context, stop, cancel func()) {
	watched, cancelCause := context.WithCancelCause(ctx)
	cancel = func() { cancelCause(nil) }
	if c.patience == 0 {
		return watched, func() {}, cancel
	}
	watching, stopWatching := context.WithCancel(watched)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(c.patience)
		defer tick.Stop()
		for {
			select {
			case <-watching.Done():
				return
			case <-tick.C:
				if err := c.Alive(watching); IsHung(err) {
					cancelCause(err)
					return
				}
			}
		}
	})
	return watched, func() { stopWatching(); running.Wait() }, cancel
}

// hung gives an error its cause, when it is that the daemon does not answer.
func hung(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && IsHung(cause) {
		return cause
	}
	return err
}
