package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Run executes the command written in a keyword and waits for its end, at most
// timeout when it is not zero. Output lines are logged.
func (s *Settings) Run(ctx context.Context, e resource.Env, text string, timeout time.Duration) error {
	argv, err := Parse(text)
	if err != nil {
		return err
	}
	c, shown, err := s.Command(e, s.Options(e, argv))
	if err != nil {
		return err
	}
	e.Infof("run: %s", shown)
	c.OnLine = func(stderr bool, line string) {
		if stderr {
			e.Errorf("%s", line)
		} else {
			e.Infof("%s", line)
		}
	}
	_, err = run(ctx, e, c, argv, timeout)
	return err
}

// Ask executes the command written in a keyword, without a word in the logs, and
// returns its output and its exit status. The error tells that it was not
// executed, or did not run to its end.
func (s *Settings) Ask(ctx context.Context, e resource.Env, text string, timeout time.Duration) (out host.Output, code int, err error) {
	argv, err := Parse(text)
	if err != nil {
		return out, 0, err
	}
	c, _, err := s.Command(e, s.Options(e, argv))
	if err != nil {
		return out, 0, err
	}
	out, err = run(ctx, e, c, argv, timeout)
	var exit *host.ExitError
	if errors.As(err, &exit) && exit.Signal == 0 {
		return out, exit.Code, nil
	}
	return out, 0, err
}

func run(ctx context.Context, e resource.Env, c host.Cmd, argv []string, timeout time.Duration) (host.Output, error) {
	if timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, timeout, &TimeoutError{After: timeout})
		defer cancel()
		ctx = limited
	}
	watch, err := launch.NewWatch()
	if err != nil {
		return host.Output{}, err
	}
	c.Files = []*os.File{watch.File()}
	out, err := e.Host.Runner.Run(ctx, c)
	launched := watch.Executed(context.WithoutCancel(ctx)) // it has ended: nothing to wait for
	if cerr := watch.Close(); cerr != nil {
		return out, errors.Join(err, cerr)
	}
	var exit *host.ExitError
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return out, fmt.Errorf("%s: %w", host.Quote(argv), context.Cause(ctx))
	case launched != nil:
		return out, launched // whatever the exit status, it is not that of the command
	case errors.As(err, &exit):
		exit.Argv = argv // what was configured, not how it is launched
	}
	return out, err
}

// TimeoutError tells that a command was ended because it took too long.
type TimeoutError struct{ After time.Duration }

// Error says how long it had.
func (e *TimeoutError) Error() string { return fmt.Sprintf("still running after %s", e.After) }

// Unwrap makes it a deadline exceeded.
func (*TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// FirstOf is the first duration that is set.
func FirstOf(durations ...time.Duration) time.Duration {
	for _, d := range durations {
		if d > 0 {
			return d
		}
	}
	return 0
}
