package instance

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/resource/process"
)

// triggered does something to a resource between its triggers.
func (x *execution) triggered(ctx context.Context, m *member, action string, do func() error) error {
	if err := x.triggers(ctx, m, "pre", action); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return x.triggers(ctx, m, "post", action)
}

// triggers runs the two triggers of a phase. The failure of the blocking one is
// that of the action, the failure of the other one is logged.
func (x *execution) triggers(ctx context.Context, m *member, phase, action string) error {
	name := phase + "_" + action
	if err := x.trigger(ctx, m, "blocking_"+name, m.Common.Triggers.Command(phase, action, true)); err != nil {
		return err
	}
	if err := x.trigger(ctx, m, name, m.Common.Triggers.Command(phase, action, false)); err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return err
		}
		m.env.Warnf("%s", err)
		x.warnings.Store(true)
	}
	return nil
}

func (x *execution) trigger(ctx context.Context, m *member, name, text string) error {
	if text == "" {
		return nil
	}
	argv, err := process.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	argv = process.In(m.env.CommandDir, argv)
	m.env.Infof("%s: run: %s", name, commandLine(argv))
	_, err = x.engine.Host.Runner.Run(ctx, host.Cmd{Argv: argv, Dir: "/", Env: m.env.Vars, OnLine: func(stderr bool, line string) {
		if stderr {
			m.env.Errorf("%s: %s", name, line)
		} else {
			m.env.Infof("%s: %s", name, line)
		}
	}})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
