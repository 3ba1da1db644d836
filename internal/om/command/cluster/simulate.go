package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/simulate"
)

// maxScenario is the largest scenario file that is read.
const maxScenario = 16 << 20

// simulation is the command that plays a scenario.
var simulation = verb.Verb{
	Path: "simulate", Group: "query", Short: "Play a scenario: what the nodes of a cluster would do",
	Long: "Play a scenario in virtual time, and print the transcript: what happens, what each node decides, and why. Nothing of this " +
		"cluster is read or changed. The nodes decide as the daemons do; drivers and networks are abstracted. FILE has a title, the parts " +
		"`-- cluster.conf --` and `-- <object>.conf --`, and a part `-- script --` with what happens, a line each; - reads the standard input. " +
		"The command fails when an expectation of the script is not met, or when a law is broken: two active instances where one is promised, " +
		"a start before a required fence, an action on what is frozen, a stop that is undone. --commands lists what a script may say.",
	Example: "om cluster simulate failover.txtar\nom cluster simulate --seed 7 --loss 0.1 failover.txtar\nom cluster simulate --commands",
	Args:    verb.Args{Use: "[FILE]", Max: 1},
	New:     func(verb.Backend) verb.Runner { return &simulator{} },
}

type simulator struct {
	options  simulate.Options
	commands bool
}

func (s *simulator) Flags(f *pflag.FlagSet) {
	f.Uint64Var(&s.options.Seed, "seed", 0, "what random delays and losses come from: the same seed gives the same run")
	f.Float64Var(&s.options.Loss, "loss", 0, "the part of the messages that are lost, as 0.1")
	f.DurationVar(&s.options.Jitter, "jitter", 0, "the longest time added at random to the delay of a message")
	f.BoolVar(&s.commands, "commands", false, "list the commands of a script")
}

func (s *simulator) Run(_ context.Context, c *verb.Call) error {
	if s.commands {
		return c.Print(help())
	}
	if len(c.Args) == 0 {
		return app.Usage("say which scenario: om cluster simulate FILE, or - for the standard input; --commands lists what a script may say")
	}
	if s.options.Loss < 0 || s.options.Loss > 1 {
		return app.Usage("--loss %g: a part is between 0 and 1", s.options.Loss)
	}
	data, err := readScenario(c, c.Args[0])
	if err != nil {
		return err
	}
	scenario, err := simulate.ParseScenario(data)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Args[0], err)
	}
	result, err := scenario.Run(s.options)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Args[0], err)
	}
	if err := c.Print(strings.TrimSuffix(result.Transcript, "\n")); err != nil {
		return err
	}
	var failures []error
	for _, unmet := range result.Unmet {
		failures = append(failures, errors.New(unmet))
	}
	for _, v := range result.Violations {
		failures = append(failures, errors.New(v.String()))
	}
	if len(failures) > 0 {
		return fmt.Errorf("%s: %w", c.Args[0], errors.Join(failures...))
	}
	return nil
}

func readScenario(c *verb.Call, name string) ([]byte, error) {
	in := c.Streams.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // nothing was written
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxScenario+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxScenario {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, maxScenario)
	}
	return data, nil
}

func help() string {
	var b bytes.Buffer
	for _, h := range simulate.Help() {
		fmt.Fprintf(&b, "%s\n    %s\n", h[0], h[1])
	}
	return strings.TrimSuffix(b.String(), "\n")
}
