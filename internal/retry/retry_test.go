package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

var errProbe = errors.New("probe failed")

func TestUntilAsksAtOnceThenAtEachInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration

		err := retry.Until(t.Context(), retry.Policy{Interval: 2 * time.Second}, func(context.Context) (bool, error) {
			at = append(at, time.Since(began))
			return len(at) == 3, nil
		})

		if diff := cmp.Diff([]time.Duration{0, 2 * time.Second, 4 * time.Second}, at); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

func TestPausesGrowUpToTheMaximum(t *testing.T) {
	t.Parallel()
	b := retry.NewBackoff(retry.Policy{Interval: 4 * time.Second, Max: 10 * time.Second})
	var pauses []time.Duration
	for range 4 {
		pauses = append(pauses, b.Next())
	}
	for range 10000 { // far beyond what a float holds
		b.Next()
	}
	pauses = append(pauses, b.Next())
	b.Reset()
	pauses = append(pauses, b.Next())

	want := []time.Duration{4 * time.Second, 6 * time.Second, 9 * time.Second, 10 * time.Second, 10 * time.Second, 4 * time.Second}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Error(diff)
	}
}

func TestJitterStaysWithinItsShare(t *testing.T) {
	t.Parallel()
	b := retry.NewBackoff(retry.Policy{Interval: time.Second, Jitter: 0.2})
	seen := map[time.Duration]bool{}

	for range 1000 {
		d := b.Next()
		seen[d] = true
		if d < 800*time.Millisecond || d > 1200*time.Millisecond {
			t.Fatalf("pause %v", d)
		}
	}

	if len(seen) < 100 {
		t.Errorf("only %d different pauses", len(seen))
	}
}

func TestTheZeroPolicyDoesNotSpin(t *testing.T) {
	t.Parallel()
	for _, p := range []retry.Policy{{}, {Interval: -1}, {Jitter: 5}} {
		if d := retry.NewBackoff(p).Next(); d < time.Millisecond {
			t.Errorf("%+v: pause %v", p, d)
		}
	}
}

func TestAnErrorOfTheProbeEndsTheLoop(t *testing.T) {
	t.Parallel()
	tries := 0

	err := retry.Until(t.Context(), retry.Policy{}, func(context.Context) (bool, error) {
		tries++
		return false, errProbe
	})

	if !errors.Is(err, errProbe) || tries != 1 {
		t.Errorf("got %v after %d tries", err, tries)
	}
}

func TestTheEndOfTheContextEndsTheLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errProbe)
		defer cancel()

		err := retry.Until(ctx, retry.Policy{Interval: time.Hour}, func(context.Context) (bool, error) { return false, nil })

		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errProbe) || time.Since(began) != 3*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

func TestNothingIsAskedOnceTheContextHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	err := retry.Until(ctx, retry.Policy{}, func(context.Context) (bool, error) {
		t.Error("asked")
		return true, nil
	})

	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWaitLastsThePauseOrTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := retry.NewBackoff(retry.Policy{Interval: 5 * time.Second})
		began := time.Now()

		if err := b.Wait(t.Context()); err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 6*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}
