package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Variables by which the program under test is told what it is.
const (
	ProgramEnv = "HOLDFAST_LAB_PROGRAM" // set: this process is krops-bootstrap
	KindEnv    = "HOLDFAST_LAB_KIND"    // socket of a KindHost
	AWSEnv     = "HOLDFAST_LAB_AWS"     // address of a double of AWS
	EventsEnv  = "HOLDFAST_LAB_EVENTS"  // file to which each event is added, "name step"
	// DieEnv says where the program kills itself: at the n-th event of a name, done:3,
	// or at that of a step, started:move.
	DieEnv = "HOLDFAST_LAB_DIE"
)

// A Run is what came of a command line.
type Run struct {
	Args     []string
	Code     int  // -1 when it was killed
	Killed   bool // by itself, see DieEnv
	Out, Err string
	Events   []string // "name step"
	Took     time.Duration
	CPU      time.Duration
	Memory   int64 // bytes, at most
}

// Done lists the steps that were carried out, in order.
func (r Run) Done() []string {
	var steps []string
	for _, e := range r.Events {
		if step, ok := strings.CutPrefix(e, "done "); ok {
			steps = append(steps, step)
		}
	}
	return steps
}

// String shows what a person would have seen.
func (r Run) String() string {
	return fmt.Sprintf("krops-bootstrap %s: code %d after %s\n--- out\n%s--- err\n%s", strings.Join(r.Args, " "), r.Code, r.Took.Round(time.Millisecond), r.Out, r.Err)
}

// Env is the environment of the program in this world; more replaces or adds.
func (w *World) Env(more map[string]string) []string {
	values := map[string]string{
		"PATH": "/usr/bin:/bin", "HOME": w.Home, "XDG_STATE_HOME": filepath.Join(w.Home, ".state"), "XDG_CACHE_HOME": filepath.Join(w.Home, ".cache"),
		"DOCKER_HOST": w.Engine.Host(), "REGISTRY_PORT": strconv.Itoa(w.Port), "MGMT_POLL_INTERVAL": "1", "LOCAL_RECONCILE_TIMEOUT": "3m",
		ProgramEnv: "1", KindEnv: w.Kinds.Socket,
	}
	maps.Copy(values, more)
	var env []string
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// Saw tells whether a run of this world, the last that began, had an event.
func (w *World) Saw(event string) bool {
	w.mu.Lock()
	file := w.events
	w.mu.Unlock()
	text, err := os.ReadFile(file)
	return err == nil && slices.Contains(strings.Split(string(text), "\n"), event)
}

// Krops runs the program in the repository of the world.
func (w *World) Krops(tb testing.TB, env map[string]string, args ...string) Run {
	tb.Helper()
	_, wait := w.Begin(tb, env, args...)
	return wait()
}

// Begin starts the program; the function that it returns waits until it has ended.
func (w *World) Begin(tb testing.TB, env map[string]string, args ...string) (*os.Process, func() Run) {
	tb.Helper()
	process, wait, err := w.Execute(tb.Context(), env, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return process, func() Run {
		tb.Helper()
		r, err := wait()
		if err != nil {
			tb.Fatal(err)
		}
		return r
	}
}

// runTime is how long a run may take at most.
const runTime = 5 * time.Minute

// Execute is [World.Begin] outside of a test.
func (w *World) Execute(ctx context.Context, env map[string]string, args ...string) (*os.Process, func() (Run, error), error) {
	self := w.Program
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return nil, nil, err
		}
	}
	events, err := os.CreateTemp(w.Dir, "events-")
	if err != nil {
		return nil, nil, err
	}
	w.mu.Lock()
	w.events = events.Name()
	w.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, runTime)
	cmd := exec.CommandContext(limited, self, args...)
	cmd.Dir, cmd.Env = w.Repository, append(w.Env(env), EventsEnv+"="+events.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	began := time.Now()
	started := make(chan error)
	spawn() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		cancel()
		return nil, nil, errors.Join(err, events.Close())
	}
	return cmd.Process, func() (Run, error) {
		defer cancel()
		err := cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return Run{}, err
		}
		r := Run{Args: args, Code: cmd.ProcessState.ExitCode(), Out: out.String(), Err: stderr.String(), Took: time.Since(began)}
		r.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
			r.Killed = s.Signaled() && s.Signal() == syscall.SIGKILL && env[DieEnv] != ""
		}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			r.Memory = usage.Maxrss << 10
		}
		if limited.Err() != nil && ctx.Err() == nil {
			return r, fmt.Errorf("it does not end: %s", r)
		}
		text, err := os.ReadFile(events.Name())
		r.Events = strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' })
		return r, errors.Join(err, events.Close())
	}, nil
}
