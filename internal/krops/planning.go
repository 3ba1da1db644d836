package krops

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// planning is what the flags of plan say.
type planning struct {
	output   string
	recreate bool
}

func planCommand(p program.Process) *cobra.Command {
	var o planning
	const where = "PROFILE is an [environments.*] section of bootstrap.toml; without one it is bootstrap.default-environment.\nKROPS_PROFILE wins over it."
	cmd := &cobra.Command{
		Use:   "plan [PROFILE]",
		Short: "Print the steps of a run without touching anything",
		Long: "Print what a bootstrap does, pivot included, in its order: each step with what it waits for and for how long.\n" +
			"Nothing is asked of the engine, the clusters or the cloud, so a step that is done already is listed too.\n\n" + where,
		Example: "  krops-bootstrap plan local-host\n  krops-bootstrap plan teardown aws --output json",
		Args:    atMostOne("profile"),
		RunE: func(_ *cobra.Command, args []string) error {
			return o.print(p, config.VerbBootstrap, plan.Bootstrap, args)
		},
	}
	cmd.PersistentFlags().StringVar(&o.output, "output", "text", "`format` of the plan: text, or json for one event a line")
	cmd.Flags().BoolVar(&o.recreate, "recreate", false, "replace a kind cluster that exists")
	for _, verb := range []struct {
		name, short string
		verb        config.Verb
		make        func(*config.Settings, plan.World) plan.Plan
	}{
		{"bootstrap", "Print the steps of a bootstrap, pivot included", config.VerbBootstrap, plan.Bootstrap},
		{"pivot", "Print the steps of the pivot alone", config.VerbPivot, plan.Pivot},
		{"teardown", "Print the steps of a teardown", config.VerbTeardown, plan.Teardown},
	} {
		sub := &cobra.Command{
			Use: verb.name + " [PROFILE]", Short: verb.short, Long: verb.short + ".\n\n" + where, Args: atMostOne("profile"),
			RunE: func(_ *cobra.Command, args []string) error { return o.print(p, verb.verb, verb.make, args) },
		}
		if verb.verb == config.VerbBootstrap {
			sub.Flags().BoolVar(&o.recreate, "recreate", false, "replace a kind cluster that exists")
		}
		cmd.AddCommand(sub)
	}
	return cmd
}

func (o planning) print(p program.Process, verb config.Verb, build func(*config.Settings, plan.World) plan.Plan, args []string) error {
	write := map[string]func(plan.Plan, io.Writer) error{"text": plan.Plan.WriteText, "json": plan.Plan.WriteJSON}[o.output]
	if write == nil {
		return app.Usage("--output %q: expected text or json", o.output)
	}
	env := lookup(p)
	f, err := load(config.Path(env))
	if err != nil {
		return err
	}
	profile := ""
	if len(args) > 0 {
		profile = args[0]
	}
	s, err := f.Resolve(verb, profile, env)
	if err != nil {
		return err
	}
	s.Recreate = o.recreate
	made := build(s, plan.World{})
	if made.Refusal != "" && o.output == "text" {
		return errors.New(made.Refusal)
	}
	if err := write(made, p.Streams.Out); err != nil {
		return fmt.Errorf("print the plan: %w", err)
	}
	if made.Refusal != "" {
		return program.Silent(1)
	}
	return nil
}
