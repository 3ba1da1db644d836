package krops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// planning is what the flags of plan say.
type planning struct {
	output   string
	recreate bool
	observe  bool
}

func (c cli) planCommand() *cobra.Command {
	var o planning
	cmd := &cobra.Command{
		Use:   "plan [PROFILE]",
		Short: "Print the steps of a run without touching anything",
		Long: "Print what a bootstrap does, pivot included, in its order: each step with what it waits for and for how long.\n" +
			"Nothing is asked of the engine, the clusters or the cloud, so a step that is done already is listed too. With --observe\n" +
			"they are asked, by questions that change nothing, and the plan is that of the world as it is.\n\n" + profileHelp,
		Example: "  krops-bootstrap plan local-host\n  krops-bootstrap plan teardown aws --output json",
		Args:    atMostOne("profile"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.print(cmd.Context(), c, config.VerbBootstrap, plan.Bootstrap, args)
		},
	}
	cmd.PersistentFlags().StringVar(&o.output, "output", "text", "`format` of the plan: text, json for one event a line, github for the log of a workflow")
	cmd.PersistentFlags().BoolVar(&o.observe, "observe", false, "ask the engine, the clusters and the cloud first")
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
			Use: verb.name + " [PROFILE]", Short: verb.short, Long: verb.short + ".\n\n" + profileHelp, Args: atMostOne("profile"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return o.print(cmd.Context(), c, verb.verb, verb.make, args)
			},
		}
		if verb.verb == config.VerbBootstrap {
			sub.Flags().BoolVar(&o.recreate, "recreate", false, "replace a kind cluster that exists")
		}
		cmd.AddCommand(sub)
	}
	return cmd
}

func (o planning) print(ctx context.Context, c cli, verb config.Verb, build planner, args []string) error {
	write := map[string]func(plan.Plan, io.Writer) error{"text": plan.Plan.WriteText, "json": plan.Plan.WriteJSON, "github": annotate}[o.output]
	if write == nil {
		return app.Usage("--output %q: expected text, json or github", o.output)
	}
	s, root, err := c.settings(verb, args)
	if err != nil {
		return err
	}
	s.Recreate = o.recreate
	made := build(s, plan.World{})
	if o.observe && made.Refusal == "" {
		if made, err = c.observed(ctx, s, root, build); err != nil {
			return err
		}
	}
	if made.Refusal != "" && o.output == "text" {
		return errors.New(made.Refusal)
	}
	if err := write(made, c.Streams.Out); err != nil {
		return fmt.Errorf("print the plan: %w", err)
	}
	if made.Refusal != "" {
		return program.Silent(1)
	}
	return nil
}

// observed is the plan of the world as it is.
func (c cli) observed(ctx context.Context, s *config.Settings, root string, build planner) (plan.Plan, error) {
	work, err := c.work(s, root)
	if err != nil {
		return plan.Plan{}, err
	}
	by := func(w plan.World) plan.Plan { return build(s, w) }
	w, err := run.Observe(ctx, by, work)
	return by(w), err
}

// annotate prints a plan for the log of a workflow: in a group, and what stops it
// as annotations.
func annotate(p plan.Plan, w io.Writer) error {
	if p.Refusal != "" {
		_, err := fmt.Fprintf(w, "::error::%s\n", run.Escape(p.Refusal))
		return err
	}
	if _, err := fmt.Fprintf(w, "::group::Plan of the %s of %s: %d steps\n", p.Verb, p.Environment, len(p.Left())); err != nil {
		return err
	}
	if err := p.WriteText(w); err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("::endgroup::\n")
	for _, s := range p.Steps {
		if s.Verdict == plan.Refused {
			text.WriteString("::warning title=" + s.ID + "::" + run.Escape(s.Why) + "\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
