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
	return part{name, func(ctx context.Context) error {
		s.add("+" + name)
		<-ctx.Done()
		s.add("-" + name)
		return ctx.Err()
	}}
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
	fails := part{"fails", func(context.Context) error { return failure }}
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

func TestAPartThatHangsDoesNotHoldTheDaemonBack(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ inner, outer bool }{"inner": {inner: true}, "outer": {outer: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s script
				free := make(chan struct{})
				hangs := func(is bool) part {
					return part{"hangs", func(ctx context.Context) error {
						<-ctx.Done()
						if is {
							<-free
						}
						return nil
					}}
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					done <- rings(ctx, []part{s.part("in"), hangs(at.inner)}, closed(), []part{s.part("out"), hangs(at.outer)})
				}()
				synctest.Wait()
				cancel()

				err := <-done
				close(free)

				hang, ok := errors.AsType[*HangError](err)
				if !ok || !slices.Equal(hang.Parts, []string{"hangs"}) {
					t.Errorf("got %v, want the part that hangs", err)
				}
				if diff := cmp.Diff([]string{"-out", "-in"}, s.events[2:]); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
