package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// script records who begins and ends, in order.
type script struct {
	mu     sync.Mutex
	events []string
}

func (s *script) add(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
}

func (s *script) part(name string) part {
	return func(ctx context.Context) error {
		s.add("+" + name)
		<-ctx.Done()
		s.add("-" + name)
		return ctx.Err()
	}
}

func TestTheOuterRingBeginsLastAndEndsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s script
		ctx, cancel := context.WithCancel(t.Context())
		ready, done := make(chan struct{}), make(chan error, 1)
		go func() { done <- rings(ctx, []part{s.part("in")}, ready, []part{s.part("out")}) }()
		synctest.Wait()
		s.add("ready")
		close(ready)
		synctest.Wait()
		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"+in", "ready", "+out", "-out", "-in"}, s.events); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAPartThatFailsEndsThemAll(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk on fire")
	fails := func(context.Context) error { return failure }
	for name, run := range map[string]func(s *script) error{
		"inner": func(s *script) error {
			return rings(context.Background(), []part{s.part("in"), fails}, closed(), []part{s.part("out")})
		},
		"inner, before it is ready": func(s *script) error {
			return rings(context.Background(), []part{s.part("in"), fails}, nil, []part{s.part("out")})
		},
		"outer": func(s *script) error {
			return rings(context.Background(), []part{s.part("in")}, closed(), []part{s.part("out"), fails})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s script
			if err := run(&s); !errors.Is(err, failure) {
				t.Errorf("got %v", err)
			}
			for _, part := range []string{"in", "out"} {
				if slices.Contains(s.events, "+"+part) != slices.Contains(s.events, "-"+part) {
					t.Errorf("%s is left running: %v", part, s.events)
				}
			}
		})
	}
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
