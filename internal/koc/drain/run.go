package drain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/progress"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Cloud is what a runner asks of Nova.
type Cloud interface {
	// Servers are those on the host.
	Servers(ctx context.Context) ([]Server, error)
	// Move asks for the move of a server.
	Move(ctx context.Context, s Server) error
	// Look is the server as it is now. [ErrGone] is the error when there is none any more.
	Look(ctx context.Context, id string) (Server, error)
	// Confirm confirms a cold migration.
	Confirm(ctx context.Context, id string) error
	// Reason is why the last move of a server failed, "" when Nova does not tell.
	Reason(ctx context.Context, id string) string
}

// ErrGone says that a server was deleted.
var ErrGone = errors.New("the server was deleted")

// Outcome is what became of a server.
type Outcome string

// The outcomes. Accepted, Unconfirmed and Unknown are open: Nova goes on, or can.
const (
	WouldMove   Outcome = "would move"
	Moved       Outcome = "moved"
	Accepted    Outcome = "accepted"    // Nova moves it, and nobody waits
	Unconfirmed Outcome = "unconfirmed" // moved, and can be reverted
	Skipped     Outcome = "skipped"     // the verb cannot move it
	Left        Outcome = "left"        // others were enough
	Failed      Outcome = "failed"
	Unknown     Outcome = "unknown"     // interrupted while Nova moved it
	NotStarted  Outcome = "not started" // interrupted before
	Gone        Outcome = "gone"        // deleted meanwhile
	Arrived     Outcome = "arrived"     // came to the host meanwhile
)

// Result is a server with what became of it. Status and Host are the last ones
// that are known.
type Result struct {
	Server  Server
	Outcome Outcome
	Detail  string
}

// Runner moves servers.
type Runner struct {
	Cloud    Cloud
	Steps    *progress.Steps
	Host     string
	Verb     Verb
	Limit    int // of servers that move, 0 is none
	Parallel int
	Wait     bool
	Confirm  bool          // confirm cold migrations
	Timeout  time.Duration // of one server
	DryRun   bool
	Live     bool // the progress is a live line: repaint it at each look
}

// Run moves the servers of the host and returns what became of each. Its error is
// that nothing is known of the servers, or that ctx has ended: what was done until
// then is in the results all the same.
func (r *Runner) Run(ctx context.Context) ([]Result, error) {
	servers, err := r.Cloud.Servers(ctx)
	if err != nil {
		return nil, err
	}
	steps := Plan(servers, r.Verb, r.Limit)
	results := make([]Result, len(steps))
	total, known := 0, map[string]bool{}
	for i, s := range steps {
		known[s.Server.ID] = true
		results[i] = r.unmoved(s)
		if s.Moves() {
			total++
		}
	}
	if r.DryRun {
		return results, nil
	}
	r.moveAll(ctx, steps, results, total)
	if ctx.Err() != nil {
		return results, ctx.Err()
	}
	now, err := r.Cloud.Servers(ctx)
	if err != nil {
		return results, fmt.Errorf("the servers were moved, but the host cannot be looked at again: %w", err)
	}
	for _, s := range now {
		if !known[s.ID] {
			results = append(results, Result{s, Arrived, "it came to the host meanwhile: run this again"})
		}
	}
	return results, nil
}

// unmoved is the result of a step as long as nothing is done about it.
func (r *Runner) unmoved(s Step) Result {
	switch {
	case s.Skip != "":
		return Result{s.Server, Skipped, s.Skip}
	case s.Later:
		return Result{s.Server, Left, fmt.Sprintf("left for another run: --max-servers %d", r.Limit)}
	case r.DryRun:
		return Result{s.Server, WouldMove, ""}
	}
	return Result{s.Server, NotStarted, "interrupted"}
}

// moveAll moves what is to be moved, some at a time, until ctx ends.
func (r *Runner) moveAll(ctx context.Context, steps []Step, results []Result, total int) {
	gate := make(chan struct{}, max(r.Parallel, 1))
	var group sync.WaitGroup
	number := 0
	for i, s := range steps {
		if !s.Moves() {
			continue
		}
		number++
		select {
		case gate <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		name := fmt.Sprintf("%d/%d %s", number, total, s.Server.Label())
		group.Go(func() {
			defer func() { <-gate }()
			results[i] = r.move(ctx, s.Server, name)
		})
	}
	group.Wait()
}

// move moves one server.
func (r *Runner) move(ctx context.Context, s Server, name string) Result {
	m := &mover{r: r, last: s, began: s, step: r.Steps.Start(name), since: time.Now()}
	err := r.Cloud.Move(ctx, s)
	result := Result{s, Accepted, ""}
	switch {
	case ctx.Err() != nil:
		result = Result{s, Unknown, "interrupted: nova may move it"}
	case err != nil:
		result = Result{s, Failed, err.Error()}
	case r.Wait:
		result = m.follow(ctx)
	}
	switch result.Outcome {
	case Failed:
		m.step.Fail(errors.New(result.Detail))
	case Unknown, Gone:
		m.step.Skip(result.Detail)
	case Accepted, Moved, Unconfirmed, WouldMove, Skipped, Left, NotStarted, Arrived:
		m.step.Done()
	}
	return result
}

// mover follows one server off the host.
type mover struct {
	r        *Runner
	began    Server
	last     Server
	step     *progress.Step
	since    time.Time
	shown    string
	failures int // to look, in a row
	still    int // looks in a row at which it was where it was, and nothing was done to it
	sent     bool
	detail   string
}

const (
	maxFailures = 5
	// maxStill is more than one, since Nova may not have begun at the first look.
	maxStill = 3
)

func (m *mover) follow(ctx context.Context) Result {
	limited, cancel := context.WithTimeout(ctx, m.r.Timeout)
	defer cancel()
	outcome := Moved
	err := retry.Until(limited, retry.Policy{Interval: time.Second, Max: 5 * time.Second, Jitter: 0.1}, func(ctx context.Context) (bool, error) {
		s, err := m.r.Cloud.Look(ctx, m.last.ID)
		if err != nil {
			if m.failures++; m.failures > maxFailures || errors.Is(err, ErrGone) || ctx.Err() != nil {
				return false, err
			}
			return false, nil
		}
		m.failures, m.last = 0, s
		m.show()
		done, end, err := m.judge(ctx)
		outcome = end
		return done, err
	})
	switch {
	case err == nil:
		return Result{m.last, outcome, m.detail}
	case errors.Is(err, ErrGone):
		return Result{m.last, Gone, err.Error()}
	case ctx.Err() != nil:
		return Result{m.last, Unknown, fmt.Sprintf("interrupted while it was %s: nova goes on", m.last.state())}
	case limited.Err() != nil:
		return Result{m.last, Failed, fmt.Sprintf("not moved after %s (last %s): nova goes on", m.r.Timeout, m.last.state())}
	}
	return Result{m.last, Failed, err.Error()}
}

// show tells of a new state, on a terminal also of the time that goes by.
func (m *mover) show() {
	state := m.last.state()
	switch {
	case m.r.Live:
		m.step.Update("%s, %s", state, time.Since(m.since).Round(time.Second))
	case state != m.shown:
		m.step.Update("%s", state)
	}
	m.shown = state
}

// judge says whether the last look was at the end of the move.
func (m *mover) judge(ctx context.Context) (done bool, end Outcome, err error) {
	s := m.last
	away := s.Host != m.r.Host
	switch {
	case s.Status == "ERROR" && (m.began.Status != "ERROR" || s.Task == "" && m.idle()):
		return false, "", errors.New(m.reason(ctx))
	case s.Task != "":
		m.still = 0
		return false, "", nil
	case s.Status == "VERIFY_RESIZE" && m.r.Verb == Cold:
		return m.verify(ctx)
	case away && (s.Status == "ACTIVE" || s.Status == "PAUSED" || s.Status == "SHUTOFF"):
		if m.r.Verb == Cold && m.r.Confirm && !m.sent {
			m.detail = autoConfirmed
		}
		return true, Moved, nil
	case !away && s.Status != "ERROR" && s.Status == m.began.Status && m.idle():
		return false, "", errors.New(m.reason(ctx))
	}
	return false, "", nil
}

const autoConfirmed = "auto-confirmed by nova"

// idle counts looks at which nothing happened, and reports whether they are too many.
func (m *mover) idle() bool {
	m.still++
	return m.still >= maxStill
}

// verify confirms a cold migration, once.
func (m *mover) verify(ctx context.Context) (bool, Outcome, error) {
	if !m.r.Confirm {
		m.detail = "'server resize confirm' or 'server resize revert' it"
		return true, Unconfirmed, nil
	}
	if m.sent {
		return false, "", nil
	}
	err := m.r.Cloud.Confirm(ctx, m.last.ID)
	if err == nil {
		m.sent = true
		return false, "", nil
	}
	now, lookErr := m.r.Cloud.Look(ctx, m.last.ID)
	if lookErr == nil && (now.Status != "VERIFY_RESIZE" || now.Task != "") {
		return false, "", nil // Nova was first: the next look tells
	}
	return false, "", fmt.Errorf("confirm the migration: %w", err)
}

// reason is why the move failed.
func (m *mover) reason(ctx context.Context) string {
	if m.last.Fault != "" && m.last.Status == "ERROR" {
		return m.last.Fault
	}
	if why := m.r.Cloud.Reason(ctx, m.last.ID); why != "" {
		return why
	}
	return fmt.Sprintf("nova gave up: it is %s on %s still", m.last.state(), m.last.Host)
}

// Failures counts results that failed.
func Failures(results []Result) (failed, tried int) {
	for _, r := range results {
		switch r.Outcome {
		case Failed:
			failed++
			tried++
		case Moved, Accepted, Unconfirmed, Unknown, Gone:
			tried++
		case WouldMove, Skipped, Left, NotStarted, Arrived:
		}
	}
	return failed, tried
}
