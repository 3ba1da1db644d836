// Package retry holds the only polling loops of the tree: [Until] asks a
// question until the answer is yes, [Backoff] says how long to leave between
// two attempts at something that failed.
package retry

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Policy says how often to try. The zero Policy tries every second.
type Policy struct {
	// Interval is the pause after the first try; 0 is one second.
	Interval time.Duration
	// Max, when above Interval, lets each pause grow by half until it is reached.
	Max time.Duration
	// Jitter moves each pause by up to this share of it, 0 to 1, either way, so
	// that many waiters do not ask in step.
	Jitter float64
}

// Until probes, at once and then after each pause, until the probe is done or
// fails, or ctx ends. The error of the probe is returned as is; that of ctx is
// wrapped, with its cause.
func Until(ctx context.Context, p Policy, probe func(ctx context.Context) (done bool, err error)) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for try := 0; ; try++ {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		done, err := probe(ctx)
		if done || err != nil {
			return err
		}
		timer.Reset(p.pause(try))
		select {
		case <-ctx.Done():
			return ended(ctx)
		case <-timer.C:
		}
	}
}

func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() { //nolint:errorlint // identity: is there a cause of its own
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// pause is how long to wait after the given try, the first being 0.
func (p Policy) pause(try int) time.Duration {
	pause := p.Interval
	if pause <= 0 {
		pause = time.Second
	}
	if p.Max > pause {
		grown := float64(pause) * math.Pow(1.5, float64(min(try, 100)))
		pause = p.Max
		if grown < float64(p.Max) {
			pause = time.Duration(grown)
		}
	}
	if jitter := min(max(p.Jitter, 0), 1); jitter > 0 {
		pause += time.Duration(float64(pause) * jitter * (2*rand.Float64() - 1)) //nolint:gosec // spreads load, hides nothing
	}
	return max(pause, time.Millisecond)
}

// Backoff is a sequence of pauses that follows a [Policy], for loops that own
// their timer: a client that reconnects, a subsystem that restarts.
type Backoff struct {
	policy Policy
	try    int
}

// NewBackoff starts a sequence.
func NewBackoff(p Policy) *Backoff { return &Backoff{policy: p} }

// Next is the pause before the next attempt.
func (b *Backoff) Next() time.Duration {
	d := b.policy.pause(b.try)
	b.try++
	return d
}

// Reset starts the sequence again, after a success.
func (b *Backoff) Reset() { b.try = 0 }

// Wait lasts the next pause, less when ctx ends, whose error it returns then.
func (b *Backoff) Wait(ctx context.Context) error {
	timer := time.NewTimer(b.Next())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ended(ctx)
	case <-timer.C:
		return nil
	}
}
