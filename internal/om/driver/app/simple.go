package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/process"
)

// Simple is the driver of applications that stay in the foreground.
var Simple = resource.Spec{
	Group:     "app",
	Name:      "simple",
	Doc:       "A process that stays in the foreground. The agent leaves it running in the background, in a session and a control group of its own, and knows it by its number and the instant it started.",
	Kinds:     []object.Kind{object.KindSvc},
	Processes: true,
	New:       func(e resource.Env) resource.Driver { return &simple{commands: commands{env: e}} },
}

type simple struct {
	commands
	startGrace time.Duration
}

// Keywords implements [resource.Driver].
func (a *simple) Keywords(k *keyword.Table) {
	a.declare(k,
		"The command of the process; true calls the script. It must stay in the foreground: its process is the application.",
		"A command run before the termination signals, to end the application its own way; true calls the script. Its failure is logged, then the signals are sent.",
		"A command that decides the status instead of the presence of the process, by retcodes; true calls the script.")
	k.Duration(&a.startGrace, "start_grace", "How long the process must live for its start to be a success. A process that ends sooner is a failed start, whatever its exit status.").Default("100ms").Scopable().Eg("2s")
}

// record is where the identity of the process is kept.
func (a *simple) record() string { return filepath.Join(a.env.StateDir, "process") }

// Status implements [resource.Driver].
func (a *simple) Status(ctx context.Context) resource.State {
	if state, ok := a.checked(ctx); ok {
		return state
	}
	found, err := a.find()
	switch {
	case err != nil:
		return resource.State{Status: cluster.Warn, Log: []cluster.ResourceLogEntry{{Level: "error", Message: err.Error()}}}
	case found.mainAlive:
		return resource.State{Status: cluster.Up, Info: map[string]any{"pid": found.main.Pid}}
	case len(found.others) > 0:
		return resource.State{Status: cluster.Warn, Log: []cluster.ResourceLogEntry{{
			Level:   "warn",
			Message: a.left(found),
		}}}
	}
	return resource.State{Status: cluster.Down}
}

// left tells of the processes without the one that led them.
func (*simple) left(m members) string {
	if m.main.IsZero() {
		return pids(m.others) + " of a former run still there"
	}
	return fmt.Sprintf("process %d has ended but left %s running", m.main.Pid, pids(m.others))
}

// Start implements [resource.Starter].
func (a *simple) Start(ctx context.Context) error {
	command, ok, err := process.Verb(a.start, a.script, "start")
	if err != nil {
		return err
	}
	if !ok {
		return a.nothing()
	}
	argv, err := process.Parse(command)
	if err != nil {
		return err
	}
	o := a.Options(a.env, argv)
	o.Record = a.record()
	c, shown, err := a.Command(a.env, o)
	if err != nil {
		return err
	}
	a.env.Infof("run: %s", shown)
	ended, err := a.launch(ctx, c)
	if err != nil {
		return err
	}
	grace := time.NewTimer(a.startGrace)
	defer grace.Stop()
	select {
	case err := <-ended:
		return a.tooShort(argv, err)
	case <-ctx.Done():
		return fmt.Errorf("start %s: %w", argv[0], context.Cause(ctx))
	case <-grace.C:
		return nil
	}
}

// nothing is the start of a resource that has no command: what is up by itself may
// have a check alone.
func (a *simple) nothing() error {
	if _, ok, err := process.Verb(a.check, a.script, "check"); ok || err != nil {
		a.env.Infof("start is not set: nothing to run")
		return err
	}
	return errors.New("start is not set: set it to the command of the process, or use type = task.host for a command that ends")
}

// launch starts the process, and returns once it has become the command. What is
// returned tells its end.
func (a *simple) launch(ctx context.Context, c host.Cmd) (ended <-chan error, err error) {
	watch, err := launch.NewWatch()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, watch.Close()) }()
	c.Files = []*os.File{watch.File()}
	p, err := a.env.Host.Runner.Start(c)
	if err != nil {
		return nil, err
	}
	end := make(chan error, 1)
	go func() { end <- p.Wait() }() // ends with the process, or with this program
	// Not cut short by an interrupt: until the process has recorded who it is,
	// nobody could end it.
	limited, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), launchWait, fmt.Errorf("not executed %s later", launchWait))
	defer cancel()
	if err := watch.Executed(limited); err != nil {
		return nil, err
	}
	return end, nil
}

// launchWait is how long a process may take to become the command: to join its
// group, its user and its directory.
const launchWait = 10 * time.Second

// tooShort says how a process ended that should still run.
func (a *simple) tooShort(argv []string, err error) error {
	name := host.Quote(argv)
	var exit *host.ExitError
	switch {
	case err == nil:
		return fmt.Errorf("%s: ended within %s of its start, with exit status 0: a simple app stays in the foreground, use type = forking for a command that leaves", name, a.startGrace)
	case errors.As(err, &exit):
		exit.Argv = argv
		return fmt.Errorf("ended within %s of its start: %w", a.startGrace, exit)
	}
	return fmt.Errorf("%s: %w", name, err)
}

var (
	_ resource.Starter  = (*simple)(nil)
	_ resource.Stopper  = (*simple)(nil)
	_ resource.Informer = (*simple)(nil)
	_ resource.Remainer = (*simple)(nil)
)
