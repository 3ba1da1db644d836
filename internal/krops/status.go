package krops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
)

func (c cli) statusCommand() *cobra.Command {
	var output, every string
	cmd := &cobra.Command{
		Use:   "status [PROFILE]",
		Short: "Show what there is and how far the last run got",
		Long: "Show how far the last run on the kind cluster got, where the controllers are, and what is on both clusters: their\n" +
			"Clusters, providers and Kustomizations, with what is wrong with those that are not ready. Nothing is changed. What\n" +
			"cannot be asked is shown as unknown, which is not the same as absent.\n\n" + profileHelp,
		Example: "  krops-bootstrap status local-host\n  krops-bootstrap status aws --watch=10s",
		Args:    atMostOne("profile"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return app.Usage("--output %q: expected text or json", output)
			}
			interval, err := watch.ParseInterval(every)
			if err != nil {
				return app.Usage("--watch: %v", err)
			}
			look, err := c.looking(args)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("watch") {
				return c.watchStatus(cmd.Context(), strings.Join(append([]string{cmd.CommandPath()}, args...), " "), interval, output, look)
			}
			text, err := look(cmd.Context()).render(output)
			if err == nil {
				_, err = c.Streams.Out.Write(text)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&output, "output", "text", "`format`: text or json")
	cmd.Flags().StringVar(&every, "watch", "", "look again and again, every `interval` (10s, or a number of seconds)")
	cmd.Flags().Lookup("watch").NoOptDefVal = "10s"
	return cmd
}

// overview is what status shows.
type overview struct {
	Environment string     `json:"environment"`
	Cluster     string     `json:"kind_cluster"`
	Last        *run.State `json:"last_run,omitempty"`
	Unreadable  string     `json:"last_run_unknown,omitempty"`
	Working     bool       `json:"running"`
	site.Status

	now time.Time
}

// looking returns what looks at an environment.
func (c cli) looking(args []string) (func(context.Context) overview, error) {
	s, root, err := c.settings(config.VerbTeardown, args)
	if err != nil {
		return nil, err
	}
	dir := run.StateDir(func(name string) string { return variable(c.Process, name) })
	return func(ctx context.Context) overview {
		o := overview{Environment: s.Environment.Name, Cluster: s.KindCluster, now: time.Now()}
		if dir != "" {
			last, ok, err := run.ReadState(dir, s.KindCluster)
			if ok {
				o.Last = &last
			}
			if err != nil {
				o.Unreadable = err.Error()
			}
			_, o.Working = run.Held(dir, s.KindCluster)
		}
		work, err := c.site(s, root)
		if err != nil {
			o.Controllers, o.Why = "unknown", err.Error()
			return o
		}
		o.Status = work.Status(ctx)
		return o
	}, nil
}

func (o overview) render(output string) ([]byte, error) {
	if output == "json" {
		text, err := json.MarshalIndent(o, "", "  ")
		return append(text, '\n'), err
	}
	var b strings.Builder
	o.text(&b)
	return []byte(b.String()), nil
}

func (o overview) text(b *strings.Builder) {
	fmt.Fprintf(b, ">>> Status of %s, kind cluster '%s'\n", o.Environment, o.Cluster)
	o.last(b)
	host := o.Controllers
	if o.Why != "" {
		host += ": " + oneLine(o.Why)
	}
	fmt.Fprintf(b, ">>>   controller host: %s\n", host)
	for _, s := range o.Servers {
		title := map[string]string{"kind": "kind cluster", "management": "management cluster"}[s.Name]
		state := s.State
		if s.Unknown != "" {
			state += ": " + oneLine(s.Unknown)
		}
		fmt.Fprintf(b, "\n>>> %s %s: %s\n", title, s.Where, state)
		if s.Run != nil {
			expires := s.Run.Expires
			if s.Run.Expired {
				expires += " (expired)"
			}
			fmt.Fprintf(b, ">>>   run %s, revision %s, %s, expires %s\n", s.Run.ID, s.Run.Revision, s.Run.Kind, expires)
		}
		for _, p := range s.Parts {
			part(b, p)
		}
	}
}

// part shows a listing: all Clusters and providers, of the Kustomizations those that
// are not ready.
func part(b *strings.Builder, p site.Part) {
	items, ready := p.Items, 0
	if p.Kind == "Kustomization" {
		items = nil
		for _, i := range p.Items {
			if i.Ready == "True" && i.Phase == "" {
				ready++
				continue
			}
			items = append(items, i)
		}
	}
	if p.Unknown != "" {
		fmt.Fprintf(b, ">>>   %s: unknown: %s\n", p.Kind, oneLine(p.Unknown))
	}
	if p.Kind == "Kustomization" && len(p.Items) > 0 {
		fmt.Fprintf(b, ">>>   %d of %d Kustomizations are ready\n", ready, len(p.Items))
	}
	if len(items) == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "%s\tREADY\tSTATE\tMESSAGE\n", strings.ToUpper(p.Kind))
	for _, i := range items {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", i.Name, i.Ready, i.Phase, oneLine(i.Message))
	}
	_ = w.Flush()
}

// last tells how far the last run got.
func (o overview) last(b *strings.Builder) {
	s := o.Last
	if o.Unreadable != "" {
		fmt.Fprintf(b, ">>>   last run: unknown: %s\n", o.Unreadable)
	}
	if s == nil {
		if o.Unreadable == "" {
			b.WriteString(">>>   last run: none on this host\n")
		}
		return
	}
	what := s.Verb + " of " + s.Environment
	if s.Attempt > 1 {
		what += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	at := ""
	if s.Title != "" {
		at = fmt.Sprintf(", in phase %s at '%s'", s.Phase, strings.TrimRight(s.Title, "."))
	}
	switch {
	case s.Outcome == run.Running && o.Working:
		fmt.Fprintf(b, ">>>   at work: %s for %s (process %d on %s)%s\n", what, ago(o.now, s.Started), s.PID, s.Host, at)
		return
	case s.Outcome == run.Running:
		fmt.Fprintf(b, ">>>   last run: %s was killed %s ago%s\n>>>   go on with: %s\n", what, ago(o.now, s.Updated), at, s.Command)
		return
	}
	fmt.Fprintf(b, ">>>   last run: %s: %s %s ago%s\n", what, s.Outcome, ago(o.now, s.Updated), at)
	if s.Error != "" {
		fmt.Fprintf(b, ">>>   error: %s\n", strings.ReplaceAll(s.Error, "\n", "\n>>>          "))
	}
	if s.Hint != "" {
		fmt.Fprintf(b, ">>>   %s\n", s.Hint)
	}
}

func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; ")
}

func ago(now, then time.Time) string {
	d := max(now.Sub(then), 0)
	switch {
	case d < time.Minute:
		return d.Truncate(time.Second).String()
	case d < time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// watchStatus shows the status again and again.
func (c cli) watchStatus(ctx context.Context, title string, interval time.Duration, output string, look func(context.Context) overview) error {
	o := watch.Options{Title: title, Program: "krops-bootstrap", Interval: interval, Diff: true, Plain: output == "json" || variable(c.Process, "TERM") == "dumb"}
	err := watch.Run(ctx, c.Streams, o, func(ctx context.Context, _ watch.Request) (watch.Frame, error) {
		text, err := look(ctx).render(output)
		if err != nil {
			return watch.Frame{}, err
		}
		f := watch.Frame{Raw: text, Count: -1}
		for line := range strings.Lines(string(text)) {
			f.Rows = append(f.Rows, watch.Row{Cells: []string{strings.TrimSuffix(line, "\n")}})
		}
		return f, nil
	})
	if errors.Is(err, watch.ErrInterrupted) {
		return program.Silent(program.Interrupted)
	}
	return err
}
