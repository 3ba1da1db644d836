package noun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/progress"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Wait is how long and for what a command waits.
type Wait struct {
	What    string        // `server "web1" to become ACTIVE`
	Timeout time.Duration // the default of --wait-timeout
	// Probe asks once: the state for the progress line, and whether it is the end.
	// An error ends the waiting, unless it is one of the network or of an
	// overloaded service: five of those in a row are ridden out.
	Probe func(ctx context.Context) (state string, done bool, err error)
}

// WaitFlags are --wait and --wait-timeout.
func WaitFlags(what string, timeout time.Duration) []command.Flag {
	return []command.Flag{
		{Name: "wait", Help: "Wait until " + what},
		{Name: "wait-timeout", Value: "<duration>", Koc: true, Help: "Give up waiting after this time, such as 90s or 10m (default " + short(timeout) + ")"},
	}
}

func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Until waits. Polls are a second apart at first and five at last.
func (w Wait) Until(ctx context.Context, c *command.Call) error {
	timeout := w.Timeout
	if c.Declares("wait-timeout") && c.Given("wait-timeout") {
		d, err := ParseDuration(c.Text("wait-timeout"))
		if err != nil {
			return fmt.Errorf("--wait-timeout: %w", err)
		}
		if d > 0 {
			timeout = d
		}
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var step *progress.Step
	if !c.Compat() {
		step = progress.New(c.Streams).Start("wait for " + w.What)
	}
	state, failures := "", 0
	err := retry.Until(limited, retry.Policy{Interval: time.Second, Max: 5 * time.Second, Jitter: 0.1}, func(ctx context.Context) (bool, error) {
		next, done, err := w.Probe(ctx)
		if err != nil {
			if failures++; failures > 5 || !passing(err) || ctx.Err() != nil {
				return false, err
			}
			return false, nil
		}
		if failures = 0; step != nil && next != state && !done {
			step.Update("%s", next)
		}
		state = next
		return done, nil
	})
	if step != nil {
		if err == nil {
			step.Done()
		} else {
			step.Fail(err)
		}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w while waiting for %s (last %q): it goes on in the cloud", ctx.Err(), w.What, state)
	case limited.Err() != nil:
		return fmt.Errorf("gave up waiting for %s after %s (last %q): it goes on in the cloud", w.What, short(timeout), state)
	default:
		return err
	}
}

// passing reports whether an error is likely to pass by itself.
func passing(err error) bool {
	if fault, refused := errors.AsType[*cloud.Fault](err); refused {
		return fault.Status == http.StatusTooManyRequests || fault.Status >= 500
	}
	var missing *NotFound
	var failed *Failed
	return !errors.As(err, &missing) && !errors.As(err, &failed)
}

// ParseDuration reads 90s, 10m or a bare number of seconds.
func ParseDuration(text string) (time.Duration, error) {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration: give a number with a unit, such as 90s or 10m", text)
	}
	return d, nil
}

// Settled makes a probe of the status of a thing: the end is one of want,
// failure one of bad. Statuses are compared without regard to case.
func (n Noun) Settled(c *command.Call, id, attr string, want, bad []string) func(ctx context.Context) (string, bool, error) {
	return func(ctx context.Context) (string, bool, error) {
		o, err := n.Get(ctx, c, id)
		if err != nil {
			return "", false, err
		}
		state := o.Text(attr)
		switch {
		case contains(want, state):
			return state, true, nil
		case contains(bad, state):
			return state, false, &Failed{Noun: n.Name, Ref: id, State: state, Reason: c.Cloud.Mask(o.Text("fault.message"))}
		default:
			return state, false, nil
		}
	}
}

// Gone makes a probe that ends when the thing does not exist any more.
func (n Noun) Gone(c *command.Call, id, attr string, bad []string) func(ctx context.Context) (string, bool, error) {
	return func(ctx context.Context) (string, bool, error) {
		o, err := n.Get(ctx, c, id)
		if IsNotFound(err) {
			return "gone", true, nil
		}
		if err != nil {
			return "", false, err
		}
		state := o.Text(attr)
		if contains(bad, state) {
			return state, false, &Failed{Noun: n.Name, Ref: id, State: state}
		}
		return state, strings.EqualFold(state, "deleted"), nil
	}
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if strings.EqualFold(item, s) {
			return true
		}
	}
	return false
}

// Failed says that a thing went into a state of failure while it was waited for.
// Text is what to say instead, where it is not the state that tells.
type Failed struct{ Noun, Ref, State, Reason, Text string } //nolint:errname // as NotFound

func (e *Failed) Error() string {
	if e.Text != "" {
		return e.Text
	}
	text := fmt.Sprintf("%s %q went into the state %s", e.Noun, e.Ref, e.State)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}
