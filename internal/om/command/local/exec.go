package local

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

// Exec declares the command through which the agent runs the commands of
// resources: it prepares the process, then the command takes its place.
func Exec() verb.Verb {
	return verb.Verb{
		Path: "exec", Hidden: true, Args: verb.Args{Use: "-- COMMAND [ARGUMENT]...", Min: 1, Max: -1},
		Short: "Run a command in a control group, with limits, as a user",
		New: verb.Needs(func(b *Backend) verb.Runner {
			return &exec{environ: b.o.Process.Environ}
		}),
	}
}

type exec struct {
	environ []string
	options instance.ExecOptions
}

func (e *exec) Flags(f *pflag.FlagSet) {
	f.SetInterspersed(false)
	e.options.Bind(f)
}

func (e *exec) Run(_ context.Context, c *verb.Call) error {
	e.options.Argv = c.Args
	err := instance.Exec(e.options, e.environ) //nolint:contextcheck // the command takes the place of this process
	if _, told := errors.AsType[*launch.ReportedError](err); told {
		return app.Silent(1)
	}
	return err
}
