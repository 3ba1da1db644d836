// Package drivertest is the conformance suite of the resource drivers: the laws
// every driver obeys, checked through the instance engine on a host of its own.
package drivertest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Case is a resource to put under the laws.
type Case struct {
	Spec resource.Spec
	// Config are the keywords of the resource, one key = value a line. {dir} is
	// a private directory of the test.
	Config string
	// Script is the transcript of the commands the driver may run, as of
	// [hosttest.NewScript], {dir} replaced; the program itself is "om". Real runs
	// real commands instead.
	Script string
	Real   bool
	// Double makes a double of what the driver runs, instead of the transcript.
	Double func() host.Runner
	// Down and Up are the statuses before and after a start, when they are not
	// down and up.
	Down, Up cluster.Status
	// Stopped is the status after a stop, when it is not Down.
	Stopped cluster.Status
	// Alone runs the laws one after another: what they act upon is of the host.
	Alone bool
	// Grouped keeps the processes in control groups: it takes a host that allows it.
	Grouped bool
}

// Main runs the tests of a package whose drivers execute commands: the test
// binary must act as `om exec` for them.
func Main(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "exec" {
		os.Exit(m.Run()) //nolint:forbidigo // how a test binary ends
	}
	var o instance.ExecOptions
	flags := pflag.NewFlagSet("exec", pflag.ContinueOnError)
	o.Bind(flags)
	err := flags.Parse(os.Args[2:])
	if err == nil {
		o.Argv = flags.Args()
		err = instance.Exec(o, os.Environ())
	}
	_, _ = os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1) //nolint:forbidigo // as above
}

// Path is the object of the fixtures.
func Path() object.Path {
	return object.Path{Namespace: "test", Kind: object.KindSvc, Name: "svc"}
}

// Fixture is an instance of one resource, with the engine that acts on it.
type Fixture struct {
	*instance.Engine

	Dir string // what {dir} stands for
	RID string
	tb  testing.TB
}

// New prepares the resource of a case; log receives what is logged, nil for nobody.
func New(tb testing.TB, c Case, log *strings.Builder) *Fixture {
	tb.Helper()
	f := &Fixture{Dir: tb.TempDir(), RID: c.Spec.Group + "#1", tb: tb}
	registry := resource.NewRegistry(c.Spec)
	h := host.Host{Paths: hosttest.Paths(tb), Hostname: "n1", Self: "om"}
	switch {
	case c.Double != nil:
		h.Runner = c.Double()
	case c.Real:
		self, err := os.Executable()
		if err != nil {
			tb.Fatal(err)
		}
		h.Runner, h.Self = host.NewRunner(), self
	default:
		h.Runner = launched{hosttest.NewScript(tb, c.Script, "{dir}", f.Dir)}
	}
	f.Engine = &instance.Engine{
		Host: h, Store: store.New(h, registry.Sections), Registry: registry,
		Renew: func(ctx context.Context, _ resource.Renewal) (string, error) { return "nothing is due", ctx.Err() },
	}
	if log != nil {
		f.Log = slog.New(logbook.Console(log, logbook.ConsoleOptions{}))
	}
	f.Configure(c)
	ctx := context.WithoutCancel(tb.Context())
	tb.Cleanup(func() {
		if c.Real { // nothing outlives the test
			_ = f.Run(ctx, Path(), instance.Request{Action: instance.Stop, Force: true})
		}
	})
	return f
}

// Configure writes the configuration of a case in place of the present one.
func (f *Fixture) Configure(c Case) {
	f.tb.Helper()
	conf := "[DEFAULT]\nid = 0e745444-6724-48f9-8167-e865b4f9ec94\ncreate_pg = false\n"
	if c.Grouped {
		conf = "[DEFAULT]\nid = 0e745444-6724-48f9-8167-e865b4f9ec94\n"
	}
	conf += "\n[" + f.RID + "]\ntype = " + c.Spec.Name + "\n" + strings.ReplaceAll(c.Config, "{dir}", f.Dir)
	name := filepath.Join(f.Host.Paths.Etc(), Path().ConfigFile())
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(conf+"\n"), 0o600)); err != nil {
		f.tb.Fatal(err)
	}
}

// Do runs an action on the instance.
func (f *Fixture) Do(a instance.Action) error {
	return f.Run(f.tb.Context(), Path(), instance.Request{Action: a, Leader: a == instance.Provision || a == instance.Unprovision})
}

// Must runs an action that must succeed.
func (f *Fixture) Must(a instance.Action) {
	f.tb.Helper()
	if err := f.Do(a); err != nil {
		f.tb.Fatal(err)
	}
}

// Resource is the present status of the resource.
func (f *Fixture) Resource() cluster.ResourceStatus {
	f.tb.Helper()
	s, err := f.Status(f.tb.Context(), Path(), instance.StatusOptions{Refresh: true})
	if err != nil {
		f.tb.Fatal(err)
	}
	return s.Resources[f.RID]
}

// Run checks every law that makes sense for what the driver can do.
func Run(t *testing.T, c Case) {
	t.Helper()
	if c.Down == cluster.Undef {
		c.Down = cluster.Down
	}
	if c.Up == cluster.Undef {
		c.Up = cluster.Up
	}
	if c.Stopped == cluster.Undef {
		c.Stopped = c.Down
	}
	parallel := func(t *testing.T) {
		t.Helper()
		if !c.Alone {
			t.Parallel()
		}
	}
	driver := c.Spec.New(resource.Env{})
	t.Run("every keyword is documented", func(t *testing.T) {
		t.Parallel()
		Documented(t, c.Spec)
	})
	if _, ok := driver.(resource.Starter); ok {
		t.Run("a start brings it up, a stop brings it down, twice changes nothing", func(t *testing.T) {
			parallel(t)
			startStop(t, c)
		})
		t.Run("an action cut short ends at once", func(t *testing.T) {
			parallel(t)
			cut(t, c, instance.Start)
		})
	}
	if _, ok := driver.(resource.Provisioner); ok {
		t.Run("an unprovision is the inverse of a provision", func(t *testing.T) {
			parallel(t)
			provision(t, c)
		})
	}
	if _, ok := driver.(resource.Runner); ok {
		t.Run("a run cut short ends at once", func(t *testing.T) {
			parallel(t)
			cut(t, c, instance.Run)
		})
	}
}

func startStop(t *testing.T, c Case) {
	t.Helper()
	f := New(t, c, nil)
	expect := func(when string, want cluster.Status) {
		t.Helper()
		if got := f.Resource(); got.Status != want {
			t.Fatalf("%s: status %s, want %s: %v", when, got.Status, want, got.Log)
		}
	}
	expect("at first", c.Down)
	f.Must(instance.Start)
	expect("started", c.Up)
	f.Must(instance.Start)
	expect("started twice", c.Up)
	f.Must(instance.Stop)
	expect("stopped", c.Stopped)
	f.Must(instance.Stop)
	expect("stopped twice", c.Stopped)
	f.Must(instance.Start)
	expect("started again", c.Up)
	f.Must(instance.Restart)
	expect("restarted", c.Up)
	f.Must(instance.Stop)
	expect("stopped in the end", c.Stopped)
}

func provision(t *testing.T, c Case) {
	t.Helper()
	f := New(t, c, nil)
	expect := func(when string, want cluster.Provisioned) {
		t.Helper()
		if got := f.Resource().Provisioned.State; got != want {
			t.Fatalf("%s: provisioned %s, want %s", when, got, want)
		}
	}
	for range 2 {
		expect("at first", cluster.ProvisionedFalse)
		f.Must(instance.Provision)
		expect("provisioned", cluster.ProvisionedTrue)
		f.Must(instance.Provision)
		expect("provisioned twice", cluster.ProvisionedTrue)
		f.Must(instance.Unprovision)
		expect("unprovisioned", cluster.ProvisionedFalse)
		if got := f.Resource().Status; got != c.Down {
			t.Fatalf("unprovisioned: status %s, want %s", got, c.Down)
		}
	}
}

// stuck is a runner whose commands never end by themselves.
type stuck struct{ began chan struct{} }

func (s stuck) Run(ctx context.Context, _ host.Cmd) (host.Output, error) {
	select {
	case s.began <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return host.Output{}, ctx.Err()
}

func (s stuck) Start(host.Cmd) (host.Process, error) {
	select {
	case s.began <- struct{}{}:
	default:
	}
	return forever{}, nil
}

// launched is a runner whose commands are always executed.
type launched struct{ host.Runner }

func (l launched) Run(ctx context.Context, c host.Cmd) (host.Output, error) {
	if err := launch.Executing(c.Files); err != nil {
		return host.Output{}, err
	}
	return l.Runner.Run(ctx, c)
}

func (l launched) Start(c host.Cmd) (host.Process, error) {
	if err := launch.Executing(c.Files); err != nil {
		return nil, err
	}
	return l.Runner.Start(c)
}

// forever is a process that never ends: the one of the test.
type forever struct{}

func (forever) Pid() int    { return os.Getpid() }
func (forever) Wait() error { select {} }

// cut interrupts an action while its first command runs. An action that runs no
// command must end with an interrupt that came before it.
func cut(t *testing.T, c Case, a instance.Action) {
	t.Helper()
	c.Real = c.Double == nil // no transcript: nothing of it would be used
	f := New(t, c, nil)
	s := stuck{began: make(chan struct{}, 1)}
	f.Host.Runner = launched{s}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	done := make(chan error, 1)
	go func() {
		done <- f.Run(ctx, Path(), instance.Request{Action: a, Confirm: true, DisableRollback: true})
	}()
	var err error
	select {
	case <-s.began:
		interrupt()
		select {
		case err = <-done:
		case <-time.After(30 * time.Second): //nolint:forbidigo // for ever, on any machine
			t.Fatal("still running 30s after the interrupt")
		}
		if err == nil {
			t.Error("no error")
		}
	case err := <-done: // no command was run
		if err != nil {
			t.Error(err)
		}
	}
	f.Host.Runner = host.NewRunner()
}

var sentence = regexp.MustCompile(`^[A-Z][^\n]*[.]$`)

// Documented checks that the documentation of a driver and of its keywords is
// made of sentences.
func Documented(tb testing.TB, spec resource.Spec) {
	tb.Helper()
	if !sentence.MatchString(spec.Doc) {
		tb.Errorf("driver %s: doc %q is not made of sentences", spec.ID(), spec.Doc)
	}
	t := resource.Table(&resource.Common{}, spec.New(resource.Env{}))
	for _, k := range t.Keywords() {
		if !sentence.MatchString(k.Help) {
			tb.Errorf("%s.%s: help %q is not made of sentences", spec.ID(), k.Name, k.Help)
		}
		example(tb, spec, k)
	}
}

// example checks that a keyword shows a value, and that it is one.
func example(tb testing.TB, spec resource.Spec, k *keyword.Keyword) {
	tb.Helper()
	shown := k.Example != "" || k.Option.Default != "" || len(k.Candidates) > 0 ||
		k.Type == keyword.TypeBool || strings.HasPrefix(k.Help, "Accepted ")
	if !shown {
		tb.Errorf("%s.%s: no example", spec.ID(), k.Name)
	}
	if k.Example == "" || strings.Contains(k.Example, "{") {
		return
	}
	if err := k.Convert(k.Example, keyword.Context{}); err != nil {
		tb.Errorf("%s.%s: example %q: %v", spec.ID(), k.Name, k.Example, err)
	}
}
