package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

const (
	often     = 2 * time.Second // between two looks of a wait that does not say
	diagnosis = time.Minute     // what a diagnosis may take
)

// wait looks until a step is done by others. There is a look at the very end of
// its time, however long the one before took.
func (r *runner) wait(ctx context.Context, s plan.Step) error {
	if r.done[s.ID] >= rewaits {
		return r.fail(s, fmt.Errorf("step %s was waited for %d times, and something undoes it (%s)", s.ID, rewaits, r.missing(s)))
	}
	r.begin(s)
	began, every := r.began[s.ID], s.Every
	if every <= 0 {
		every = often
	}
	deadline := began.Add(s.Deadline)
	seen := r.asked == s.ID // just now
	stop := func() {}
	defer func() { stop() }()
	for looks := 0; ; looks++ {
		if !seen {
			if left, err := r.probe(ctx, s); err != nil || left {
				return err
			}
		}
		seen, r.asked = false, ""
		if !time.Now().Before(deadline) {
			return r.late(ctx, s)
		}
		if looks == 0 {
			stop = r.Site.Follow(ctx, s, r.voice(s))
		}
		why, hopeless := r.hold(ctx, s)
		if hopeless != nil && ctx.Err() == nil {
			return r.give(ctx, s, hopeless)
		}
		r.tell(s, Event{Name: Progress, Message: why, Elapsed: time.Since(began), Budget: s.Deadline})
		if err := pause(ctx, min(every, time.Until(deadline))); err != nil {
			return err
		}
	}
}

// hold tells what holds up a wait; when the site does not know, why it cannot be
// seen.
func (r *runner) hold(ctx context.Context, s plan.Step) (string, error) {
	why, hopeless := r.Site.Hold(ctx, s)
	if why != "" || hopeless != nil {
		return why, hopeless
	}
	for _, f := range s.Outcome() {
		if reason, failed := r.world.Of(f).Failed(); failed {
			return "cannot be asked: " + reason, nil
		}
	}
	return "", nil
}

// pause lasts some time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, time.Millisecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// probe looks whether a wait is over. It is also left when something else is to
// be done first; it goes on afterwards with the time that is left to it.
func (r *runner) probe(ctx context.Context, s plan.Step) (left bool, err error) {
	if err := r.observe(ctx, s, s.Outcome()); err != nil {
		return false, err
	}
	if len(s.Takes) > 0 {
		// What was asked to go may be gone, and another of its name there in its place.
		going := slices.DeleteFunc(r.world.Facts(), func(f plan.Fact) bool { return !goingAway(f) || !r.world.Of(f).There() })
		if err := r.observe(ctx, s, going); err != nil {
			return false, err
		}
	}
	p := r.Plan(r.world)
	if now, ok := p.Step(s.ID); !ok || now.Verdict == plan.Done {
		r.idle = 0
		r.finish(s)
		return true, nil
	}
	first, ok := p.First()
	return !ok || first.ID != s.ID || first.Verdict != plan.Ready || len(first.Asks) > 0, nil
}

// late is the end of a wait whose time is up.
func (r *runner) late(ctx context.Context, s plan.Step) error {
	text := s.Overdue
	if text == "" {
		text = fmt.Sprintf("gave up after %s waiting for %s", short(s.Deadline), s.Waits)
	}
	err := errors.New(text)
	if why, _ := r.hold(ctx, s); why != "" {
		err = fmt.Errorf("%s: %w", text, errors.New(why))
	}
	return r.give(ctx, s, err)
}

// give gives up a wait: the reason, what helps to understand it, what to do.
func (r *runner) give(ctx context.Context, s plan.Step, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	forgiven := s.Tolerated || s.BestEffort
	v := r.voice(s)
	if !forgiven {
		v.Trouble("%s", heading(s, err)+".")
	}
	r.idle = 0
	within, cancel := context.WithTimeout(ctx, diagnosis)
	defer cancel()
	if forgiven {
		e := r.waive(ctx, s, err)
		r.Site.Diagnose(within, s, v)
		return e
	}
	r.Site.Diagnose(within, s, v)
	if s.Help != "" {
		r.tell(s, Event{Name: Advice, Message: s.Help})
	}
	return r.fail(s, err)
}

func heading(s plan.Step, err error) string {
	if s.Overdue != "" && errors.Unwrap(err) != nil {
		return s.Overdue
	}
	return err.Error()
}
