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
	remark := func(status cluster.Status, level, message string) resource.State {
		return resource.State{Status: status, Log: []cluster.ResourceLogEntry{{Level: level, Message: message}}}
	}
	if err := a.settled(ctx, statusWait); err != nil {
		return remark(cluster.Warn, "warn", err.Error())
	}
	found, err := a.find(ctx)
	told := found.told(a.stopCommand())
	switch {
	case err != nil:
		return remark(cluster.Warn, "error", err.Error())
	case found.mainAlive:
		return resource.State{Status: cluster.Up, Info: map[string]any{"pid": found.main.Pid}}
	case len(found.others) == 0 && found.broken == nil:
		return resource.State{Status: cluster.Down}
	case len(found.others) == 0:
		return remark(cluster.Down, "warn", told+"; nothing of it runs")
	case found.main.IsZero() || len(found.foreign()) > 0:
		// The main process may be one of them.
		return remark(cluster.Warn, "warn", told)
	}
	// The application is its main process: that is down, and a start ends the rest first.
	return remark(cluster.Down, "warn", told)
}

// stopCommand is what to type to end what is left.
func (a *simple) stopCommand() string {
	return fmt.Sprintf("om %s instance stop --rid %s", a.env.Path, a.env.RID)
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
	o.Record, o.Lock = a.record(), launch.LockFD
	c, shown, err := a.Command(a.env, o)
	if err != nil {
		return err
	}
	c.Env = a.trace().Mark(c.Env, a.env.ObjectID, a.env.Session)
	lock, err := a.alone(ctx)
	if err != nil {
		return err
	}
	a.env.Infof("run: %s", shown)
	ended, err := a.launch(ctx, c, lock)
	if err != nil {
		return errors.Join(err, a.sweep(ctx))
	}
	grace := time.NewTimer(a.startGrace)
	defer grace.Stop()
	select {
	case err := <-ended:
		return errors.Join(a.tooShort(argv, err), a.sweep(ctx))
	case <-ctx.Done():
		return fmt.Errorf("start %s: %w", argv[0], context.Cause(ctx))
	case <-grace.C:
		return nil
	}
}

// alone makes sure that nothing of the application runs, and keeps it so until the
// lock it returns is closed. What a former run left is ended first.
func (a *simple) alone(ctx context.Context) (_ *launch.Lock, err error) {
	refuse := func(err error) (*launch.Lock, error) { return nil, &resource.UntouchedError{Err: err} }
	if err := a.settled(ctx, settleWait); err != nil {
		return refuse(err)
	}
	m, err := a.look(ctx)
	if err != nil {
		return refuse(err)
	}
	if err := a.obstacle(m); err != nil {
		return nil, err
	}
	left, err := a.left(ctx)
	if err != nil {
		return refuse(err)
	}
	if len(left) > 0 {
		a.env.Warnf("%s of a former run still there: ended before the start", pids(left))
		if err := a.terminate(ctx, a.patience(ctx), a.left); err != nil {
			return refuse(fmt.Errorf("end what a former run left: %w", err))
		}
	}
	limited, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	taken, err := launch.TakeLock(limited, a.record())
	if err != nil {
		return refuse(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, taken.Close())
		}
	}()
	// Once more, now that nobody else can launch.
	if m, err = a.look(ctx); err != nil {
		return refuse(err)
	}
	if err := a.obstacle(m); err != nil {
		return nil, err
	}
	if m.broken != nil {
		a.env.Warnf("%s: nothing of it runs, a new one takes its place", m.broken)
		if err := os.Remove(a.record()); err != nil {
			return refuse(err)
		}
	}
	return taken, nil
}

// obstacle is what a start may not do anything about.
func (a *simple) obstacle(m members) error {
	switch {
	case m.mainAlive:
		return &resource.AlreadyUpError{What: fmt.Sprintf("process %d", m.main.Pid)}
	case len(m.foreign()) > 0, m.broken != nil && len(m.others) > 0:
		return &resource.UntouchedError{Err: errors.New(m.told(a.stopCommand()))}
	}
	return nil
}

// sweep ends what a failed start left, for a second copy would be put beside it.
func (a *simple) sweep(ctx context.Context) error {
	after := context.WithoutCancel(ctx)
	if err := a.settled(after, settleWait); err != nil {
		a.env.Warnf("%s", err) // what is being launched is ended below
	}
	ids, err := a.own(after)
	if err != nil || len(ids) == 0 {
		return err
	}
	a.env.Warnf("%s left by the failed start: ended", pids(ids))
	return a.terminate(after, min(a.patience(ctx), sweepWait), a.own)
}

// sweepWait is how long what a failed start left has to end by itself.
const sweepWait = 10 * time.Second

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
func (a *simple) launch(ctx context.Context, c host.Cmd, lock *launch.Lock) (ended <-chan error, err error) {
	defer func() { err = errors.Join(err, lock.Close()) }()
	watch, err := launch.NewWatch()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, watch.Close()) }()
	c.Files = []*os.File{watch.File(), lock.File()}
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
