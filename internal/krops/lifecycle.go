package krops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
)

// Overrides is what a test or the lab replaces.
type Overrides struct {
	Site func(*site.Options)             // changes what the site works with
	Sink run.Sink                        // hears the events of a run, too
	Work func(*config.Settings) run.Site // stands in for the site as a whole
}

// cli is the program: the process, and what was replaced in it.
type cli struct {
	program.Process
	over Overrides
}

// patience is how long a question that fails is asked again.
const patience = 6 * time.Second

const profileHelp = "PROFILE is an [environments.*] section of bootstrap.toml; without one it is bootstrap.default-environment.\nKROPS_PROFILE wins over it."

// flags are those of a command that carries out a plan.
type flags struct {
	output   string
	recreate bool
}

func (f *flags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.output, "output", "text", "`format` of what happens: text, json for one event a line, github for the log of a workflow")
}

// bootstrapCommand makes the root command the bootstrap.
func (c cli) bootstrapCommand(root *cobra.Command) {
	var f flags
	root.Args = atMostOne("profile")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		return c.lifecycle(cmd.Context(), f, config.VerbBootstrap, plan.Bootstrap, args)
	}
	f.add(root)
	root.Flags().BoolVar(&f.recreate, "recreate", false, "replace a kind cluster that exists")
}

func (c cli) teardownCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "teardown [PROFILE]",
		Short: "Remove all that a bootstrap made",
		Long: "Remove the clusters of an environment, what they left in the cloud, and the host of their controllers.\n" +
			"A query that fails is never taken for an absence: the controllers are left running, and the next teardown goes on.\n\n" + profileHelp,
		Example: "  krops-bootstrap teardown local-host\n  AWS_ONLY=1 krops-bootstrap teardown aws",
		Args:    atMostOne("profile"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.lifecycle(cmd.Context(), f, config.VerbTeardown, plan.Teardown, args)
		},
	}
	f.add(cmd)
	return cmd
}

// planner makes the plan of a verb.
type planner func(*config.Settings, plan.World) plan.Plan

// lifecycle carries out a verb.
func (c cli) lifecycle(ctx context.Context, f flags, verb config.Verb, build planner, args []string) error {
	if !slices.Contains([]string{"text", "json", "github"}, f.output) {
		return app.Usage("--output %q: expected text, json or github", f.output)
	}
	s, root, err := c.settings(verb, args)
	if err != nil {
		return err
	}
	s.Recreate = f.recreate
	made := build(s, plan.World{})
	j := job{cli: c, flags: f, settings: s, root: root, verb: made.Verb, by: func(w plan.World) plan.Plan { return build(s, w) }}
	// Nothing is asked before a verb that cannot be done at all is refused.
	if made.Refusal != "" {
		return j.refuse(errors.New(made.Refusal))
	}
	return j.run(ctx)
}

// settings reads the configuration and the environment.
func (c cli) settings(verb config.Verb, args []string) (s *config.Settings, root string, err error) {
	env := lookup(c.Process)
	path := config.Path(env)
	file, err := load(path)
	if err != nil {
		return nil, "", err
	}
	profile := ""
	if len(args) > 0 {
		profile = args[0]
	}
	if s, err = file.Resolve(verb, profile, env); err != nil {
		return nil, "", mistyped(err, profile)
	}
	root, err = repository(path)
	return s, root, err
}

// mistyped adds the command that was meant to the error of an argument that is no
// profile.
func mistyped(err error, argument string) error {
	unknown, ok := errors.AsType[*config.UnsupportedProfileError](err)
	if !ok || unknown.Name != argument {
		return err
	}
	name, near := app.Nearest(argument, []string{"teardown", "orphans", "status", "doctor", "config", "plan"})
	if !near {
		return err
	}
	return &hintedError{err, "did you mean the command " + name + "?"}
}

// job is a verb that is carried out.
type job struct {
	cli
	flags

	settings *config.Settings
	root     string
	verb     string
	by       func(plan.World) plan.Plan
}

// work returns what a verb works on.
func (c cli) work(s *config.Settings, root string) (run.Site, error) {
	if c.over.Work != nil {
		return c.over.Work(s), nil
	}
	return c.site(s, root)
}

// site returns the real thing.
func (c cli) site(s *config.Settings, root string) (*site.Site, error) {
	kube.Quiet()
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	o := site.Options{
		Settings: s, Root: root, Dir: dir, Environ: c.Environ,
		Runner: host.NewRunner(), Now: time.Now, Version: c.Version,
	}
	if c.over.Site != nil {
		c.over.Site(&o)
	}
	return site.New(o), nil
}

// display returns the sink that shows the events, and what ends it.
func (j job) display() (sink run.Sink, stop func()) {
	switch j.output {
	case "json":
		return run.NewJSON(j.Streams.Out), func() {}
	case "github":
		return run.NewGitHub(j.Streams.Out, variable(j.Process, "GITHUB_STEP_SUMMARY")), func() {}
	}
	text := run.NewText(j.Streams)
	return text, text.Close
}

// refuse ends a verb that was not begun.
func (j job) refuse(err error) error {
	if j.output == "text" {
		return err
	}
	sink, stop := j.display()
	defer stop()
	sink.Event(run.Event{Name: run.Finished, Verb: j.verb, Environment: j.settings.Environment.Name, Message: err.Error(), Err: err, Code: 1})
	return program.Silent(1)
}

func (j job) run(ctx context.Context) (err error) {
	lock, book, err := j.claim()
	if err != nil {
		return j.refuse(err)
	}
	work, err := j.work(j.settings, j.root)
	if err != nil {
		return errors.Join(j.refuse(err), release(lock))
	}
	shown, stop := j.display()
	sinks := run.Sinks{shown}
	if book != nil {
		sinks = append(sinks, book)
	}
	if j.over.Sink != nil {
		sinks = append(sinks, j.over.Sink)
	}
	about := run.Event{Verb: j.verb, Environment: j.settings.Environment.Name}
	begun := about
	begun.Name = run.Begun
	sinks.Event(begun)
	closing := closing{j.settings}
	report, err := run.Run(ctx, run.Options{Plan: j.by, Site: work, Sink: sinks, Milestone: closing.milestone, Patience: patience})
	over := j.ending(report, err)
	over.Verb, over.Environment = about.Verb, about.Environment
	sinks.Event(over)
	stop()
	if failed := release(lock); err == nil {
		err = failed
	}
	if book != nil && book.Err() != nil && j.output == "text" {
		_, _ = fmt.Fprintf(j.Streams.Err, "WARNING: %v\n", book.Err())
	}
	switch {
	case over.Code == 0:
		return err
	case j.output != "text":
		return program.Silent(over.Code)
	}
	return program.WithCode(&hintedError{over.Err, over.Hint}, over.Code)
}

// homeless says why there is no run without a place for its lock.
const homeless = "neither HOME nor XDG_STATE_HOME is set, so nothing can keep two runs on one kind cluster apart: set HOME, or XDG_STATE_HOME and MGMT_KUBECONFIG"

// claim locks the kind cluster and begins the state of the run. Without a place
// for the lock nothing keeps two runs apart, and there is no run.
func (j job) claim() (*run.Lock, *run.Book, error) {
	dir := run.StateDir(func(name string) string { return variable(j.Process, name) })
	if dir == "" {
		return nil, nil, errors.New(homeless)
	}
	now := time.Now().UTC().Truncate(time.Second)
	holder := run.Holder{PID: os.Getpid(), Host: j.Hostname, Command: j.command(false), Since: now}
	lock, err := run.Acquire(dir, j.settings.KindCluster, holder)
	if err != nil {
		return nil, nil, err
	}
	versions := map[string]string{"krops-bootstrap": j.Version}
	for chart, version := range j.settings.File.Charts {
		versions["chart "+chart] = version
	}
	book := run.NewBook(dir, run.State{
		Verb: j.verb, Environment: j.settings.Environment.Name, Cluster: j.settings.KindCluster, Command: holder.Command,
		PID: holder.PID, Host: holder.Host, Started: now, Versions: versions, Kubeconfig: j.settings.MgmtKubeconfig,
	})
	return lock, book, nil
}

func release(l *run.Lock) error {
	if l == nil {
		return nil
	}
	return l.Release()
}

// command is the command line, as it is typed again to go on. A kind cluster that
// was replaced is not replaced once more.
func (j job) command(replaced bool) string {
	words := []string{"krops-bootstrap"}
	for _, word := range j.Args {
		if replaced && (word == "--recreate" || strings.HasPrefix(word, "--recreate=")) {
			continue
		}
		words = append(words, word)
	}
	return host.Quote(words)
}

// ending tells how a run ended, and how to go on.
func (j job) ending(report run.Report, err error) run.Event {
	e := run.Event{Name: run.Finished, Err: err}
	again := j.command(report.Fresh)
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		e.Code = program.Interrupted
		e.Err = &interruptedError{report, err}
		e.Hint = "Go on with: " + again
	default:
		e.Code = 1
		e.Hint = "Once the cause is removed, the same command goes on where this one stopped: " + again
	}
	if e.Err != nil {
		e.Message = e.Err.Error()
	}
	return e
}

// interruptedError tells where a run was interrupted.
type interruptedError struct {
	report run.Report
	cause  error
}

// Error implements error.
func (e *interruptedError) Error() string {
	text := "interrupted"
	if e.report.Last != "" {
		text += "\nlast done: " + strings.TrimRight(e.report.Last, ".")
	}
	if e.report.Next != "" {
		text += "\nnext: " + strings.TrimRight(e.report.Next, ".")
	}
	return text
}

// Unwrap returns what ended the run.
func (e *interruptedError) Unwrap() error { return e.cause }

// hintedError is an error with a line that says how to go on.
type hintedError struct {
	err  error
	hint string
}

// Error implements error.
func (e *hintedError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *hintedError) Unwrap() error { return e.err }
