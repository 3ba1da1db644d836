package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

const (
	// killGrace is what a command has between TERM and KILL.
	killGrace = 2 * time.Second
	// drainGrace is how long output is awaited once the command has ended:
	// whoever still holds it open then is a process the command left behind.
	drainGrace = 100 * time.Millisecond
)

// NewRunner returns the runner of real commands.
//
// A command is a process group of its own, so that what it forked ends with it.
// Once the command has ended, a process it left behind with its output still
// open does not hold the caller; what that process writes later is lost.
func NewRunner() Runner { return runner{grace: killGrace} }

type runner struct{ grace time.Duration }

var _ Runner = runner{}

// Run implements [Runner].
func (r runner) Run(ctx context.Context, c Cmd) (Output, error) {
	if err := check(c); err != nil {
		return Output{}, err
	}
	if err := ctx.Err(); err != nil {
		return Output{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	cmd := command(ctx, c)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	var lines sync.Mutex // OnLine sees one line at a time
	stdout, err := newPipe(c, false, &lines)
	if err != nil {
		return Output{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	defer stdout.close()
	stderr, err := newPipe(c, true, &lines)
	if err != nil {
		return Output{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	defer stderr.close()
	cmd.Stdout, cmd.Stderr = stdout.w, stderr.w

	feed, err := feeder(cmd, c.Stdin)
	if err != nil {
		return Output{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	if err := cmd.Start(); err != nil {
		return Output{}, startError(c, err)
	}
	stdout.started()
	stderr.started()

	group := newGroup(cmd.Process.Pid, r.grace)
	release := context.AfterFunc(ctx, group.terminate)
	fed := make(chan struct{})
	go func() { defer close(fed); feed() }()

	err = cmd.Wait() // closes the input, which ends the feeder
	stdout.ended()
	stderr.ended()
	<-fed
	if !release() {
		group.finish() //nolint:contextcheck // ctx has ended, which is why
	}
	out := Output{Stdout: stdout.output(), Stderr: stderr.output()}
	return out, outcome(ctx, c, err, out.Stderr)
}

// Start implements [Runner].
func (runner) Start(c Cmd) (Process, error) {
	if err := check(c); err != nil {
		return nil, err
	}
	if c.Stdin != nil || c.OnLine != nil {
		return nil, fmt.Errorf("start %s: a command left running has neither input nor output", c.Argv[0])
	}
	cmd, err := born(c.Cgroup, func() *exec.Cmd {
		cmd := command(context.Background(), c)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if c.Capture != nil {
			cmd.Stdout, cmd.Stderr = c.Capture, c.Capture
		}
		return cmd
	})
	if err != nil {
		return nil, startError(c, err)
	}
	p := &process{pid: cmd.Process.Pid, ended: make(chan struct{})}
	go func() { // reaps it, whether or not somebody waits
		defer close(p.ended)
		p.err = outcome(context.Background(), c, cmd.Wait(), nil)
	}()
	return p, nil
}

// process is a command left running.
type process struct {
	pid   int
	ended chan struct{} // closed once err is set
	err   error
}

var _ Process = (*process)(nil)

// Pid implements [Process].
func (p *process) Pid() int { return p.pid }

// Wait implements [Process].
func (p *process) Wait() error {
	<-p.ended
	return p.err
}

func check(c Cmd) error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return errors.New("run a command: no command given")
	}
	return nil
}

// command prepares what Run and Start share. The context ends commands through
// their group, never through exec, which knows only the first process.
func command(ctx context.Context, c Cmd) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.Argv[0], c.Argv[1:]...) //nolint:gosec // running commands is the job
	cmd.Dir, cmd.Env, cmd.ExtraFiles = c.Dir, c.Env, c.Files
	return cmd
}

// feeder returns what writes the input of the command, to be run once it is started.
func feeder(cmd *exec.Cmd, input []byte) (feed func(), err error) {
	if len(input) == 0 {
		return func() {}, nil // exec opens /dev/null
	}
	w, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return func() {
		// A command may end, or close its input, without having read all of it.
		_, _ = w.Write(input)
		_ = w.Close()
	}, nil
}

func startError(c Cmd, err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err // it repeats the name
	}
	if _, dirErr := os.Stat(c.Dir); c.Dir != "" && dirErr != nil {
		err = dirErr // the kernel blames the command
	}
	return fmt.Errorf("run %s: %w", c.Argv[0], err)
}

// outcome turns the end of a command into the error of its caller.
func outcome(ctx context.Context, c Cmd, err error, stderr []byte) error {
	if err == nil {
		if ctx.Err() == nil {
			return nil
		}
		return fmt.Errorf("%s: %w", c.Argv[0], ctx.Err())
	}
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	exit := &ExitError{Argv: c.Argv, Code: e.ExitCode(), Stderr: lastLines(stderr)}
	if s, ok := e.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		exit.Signal = s.Signal()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", exit, ctx.Err())
	}
	return exit
}

// group is the process group of a command.
type group struct {
	id    int
	grace time.Duration
	ended chan struct{} // closed once terminate has sent TERM
	mu    sync.Mutex
	kill  *time.Timer
	due   time.Time
}

func newGroup(leader int, grace time.Duration) *group {
	return &group{id: leader, grace: grace, ended: make(chan struct{})}
}

// terminate asks the group to end, and forces it to after the grace.
func (g *group) terminate() {
	defer close(g.ended)
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = syscall.Kill(-g.id, syscall.SIGTERM)
	g.due = time.Now().Add(g.grace)
	g.kill = time.AfterFunc(g.grace, g.force)
}

func (g *group) force() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// finish returns once no process of the terminated group runs. The id of a group
// is not given again while the group has a member.
func (g *group) finish() {
	<-g.ended
	g.mu.Lock()
	defer g.mu.Unlock()
	ctx, cancel := context.WithDeadline(context.Background(), g.due.Add(g.grace))
	defer cancel()
	_ = retry.Until(ctx, retry.Policy{Interval: 5 * time.Millisecond, Max: 100 * time.Millisecond}, func(context.Context) (bool, error) {
		return !groupRuns(g.id), nil
	})
	g.kill.Stop()
}
