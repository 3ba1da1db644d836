package instance_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// TestMain makes the test binary act as `om exec`, which the app driver runs.
func TestMain(m *testing.M) {
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
	_, _ = os.Stderr.WriteString(err.Error())
	os.Exit(1) //nolint:forbidigo // as above
}

var web = object.Path{Namespace: "root", Kind: object.KindSvc, Name: "web"}

// fixture is an engine on a host of its own.
type fixture struct {
	*instance.Engine
	t    testing.TB
	out  *lines
	fake *world
}

// lines collects the console.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

var variable = regexp.MustCompile(`(?m)^[0-9:.]{12} |[0-9a-f]{8}-[0-9a-f-]{27}|(?:in )[0-9.]+[µm]?s|process [0-9]+`)

// text is what was logged, without what changes from a run to another.
func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return variable.ReplaceAllStringFunc(l.buf.String(), func(s string) string {
		switch {
		case strings.HasPrefix(s, "in "):
			return "in D"
		case strings.HasPrefix(s, "process "):
			return "process N"
		case strings.HasSuffix(s, " "):
			return ""
		}
		return "SID"
	})
}

func (l *lines) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Reset()
}

// native is an engine with the real drivers. Processes are not grouped, unless the
// configuration says otherwise.
func native(t *testing.T, conf string) *fixture {
	t.Helper()
	return newFixture(t, all.Registry(), "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\ncreate_pg = false\n"+conf)
}

func newBench(b *testing.B) *fixture {
	b.Helper()
	return newFixture(b, all.Registry(), "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\n")
}

func newFixture(tb testing.TB, registry *resource.Registry, conf string) *fixture {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	h := host.Host{Runner: host.NewRunner(), Paths: hosttest.Paths(tb), Hostname: "n1", Self: self}
	out := &lines{}
	f := &fixture{t: tb, out: out, Engine: &instance.Engine{
		Host: h, Store: store.New(h, registry.Sections), Registry: registry, Log: slog.New(logbook.Console(out, logbook.ConsoleOptions{})),
	}}
	f.write(web, conf)
	return f
}

func (f *fixture) write(p object.Path, conf string) {
	f.t.Helper()
	name := filepath.Join(f.Host.Paths.Etc(), p.ConfigFile())
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(conf), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// run runs an action which must succeed.
func (f *fixture) run(a instance.Action, change ...func(*instance.Request)) {
	f.t.Helper()
	if err := f.try(a, change...); err != nil {
		f.t.Fatalf("%s: %v\n%s", a, err, f.out.text())
	}
}

func (f *fixture) try(a instance.Action, change ...func(*instance.Request)) error {
	return f.tryWith(f.t.Context(), a, change...)
}

func (f *fixture) tryWith(ctx context.Context, a instance.Action, change ...func(*instance.Request)) error {
	r := instance.Request{Action: a}
	for _, c := range change {
		c(&r)
	}
	return f.Run(ctx, web, r)
}

// stopAfter leaves nothing running after the test.
func (f *fixture) stopAfter() {
	ctx := context.WithoutCancel(f.t.Context())
	f.t.Cleanup(func() { _ = f.tryWith(ctx, instance.Stop, force) })
}

// fails runs an action which must fail with words in its error.
func (f *fixture) fails(a instance.Action, words string, change ...func(*instance.Request)) {
	f.t.Helper()
	if err := f.try(a, change...); err == nil || !strings.Contains(err.Error(), words) {
		f.t.Fatalf("%s: %v, want an error with %q\n%s", a, err, words, f.out.text())
	}
}

func (f *fixture) status() cluster.InstanceStatus {
	f.t.Helper()
	s, err := f.Status(f.t.Context(), web, instance.StatusOptions{Refresh: true})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func rid(ids ...string) func(*instance.Request) { return func(r *instance.Request) { r.RID = ids } }
func force(r *instance.Request)                 { r.Force = true }
func leader(r *instance.Request)                { r.Leader = true }

// world is where fake resources live: what they are, and what was done to them.
type world struct {
	mu    sync.Mutex
	up    map[string]bool
	made  map[string]bool
	did   []string
	gates map[string]chan struct{} // a verb on a resource waits for its gate
	begun map[string]chan struct{} // closed when a gated verb has begun
}

func (w *world) do(ctx context.Context, f *fake, verb string, change func()) error {
	key := verb + " " + f.env.RID
	w.mu.Lock()
	gate, begun := w.gates[key], w.begun[key]
	w.mu.Unlock()
	if gate != nil {
		close(begun)
		select {
		case <-gate:
		case <-ctx.Done():
			w.mu.Lock()
			w.did = append(w.did, key+" cut")
			w.mu.Unlock()
			return context.Cause(ctx)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did = append(w.did, key)
	if slices.Contains(f.failing, verb) {
		return errors.New("no luck")
	}
	change()
	return nil
}

// set puts a resource up or down behind the back of the engine.
func (w *world) set(rid string, up bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up[rid] = up
}

// gate makes a verb on a resource wait; the returned channels tell that it
// began, and let it go on when closed.
func (w *world) gate(key string) (begun, open chan struct{}) {
	begun, open = make(chan struct{}), make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gates[key], w.begun[key] = open, begun
	return begun, open
}

// history is what was done, in order; it starts again.
func (w *world) history() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	did := w.did
	w.did = nil
	return did
}

// fake is a resource in memory.
type fake struct {
	env     resource.Env
	w       *world
	failing []string
	state   string
}

func (f *fake) Keywords(k *keyword.Table) {
	k.List(&f.failing, "fail", "The verbs that fail.").Scopable()
	k.String(&f.state, "state", "The status shown whatever is done.").Scopable()
}

func (f *fake) Status(context.Context) resource.State {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if s, err := cluster.ParseStatus(f.state); err == nil {
		return resource.State{Status: s}
	}
	if f.w.up[f.env.RID] {
		return resource.State{Status: cluster.Up}
	}
	return resource.State{Status: cluster.Down}
}

func (f *fake) Start(ctx context.Context) error {
	return f.w.do(ctx, f, "start", func() { f.w.up[f.env.RID] = true })
}

func (f *fake) Stop(ctx context.Context) error {
	return f.w.do(ctx, f, "stop", func() { f.w.up[f.env.RID] = false })
}

func (f *fake) Provision(ctx context.Context) error {
	return f.w.do(ctx, f, "provision", func() { f.w.made[f.env.RID] = true })
}

func (f *fake) Unprovision(ctx context.Context) error {
	return f.w.do(ctx, f, "unprovision", func() { f.w.made[f.env.RID] = false })
}

type runOnly struct{ f *fake }

func (r runOnly) Keywords(k *keyword.Table) { r.f.Keywords(k) }
func (r runOnly) Status(ctx context.Context) resource.State {
	return resource.State{Status: cluster.NotApplicable}
}
func (r runOnly) Run(ctx context.Context) error { return r.f.w.do(ctx, r.f, "run", func() {}) }

// faked is an engine whose resources are all fake, of type fake, in any group.
func faked(t *testing.T, conf string) *fixture {
	t.Helper()
	w := &world{up: map[string]bool{}, made: map[string]bool{}, gates: map[string]chan struct{}{}, begun: map[string]chan struct{}{}}
	var specs []resource.Spec
	for _, g := range resource.Groups() {
		specs = append(specs, resource.Spec{Group: g.Name, Name: "fake", Doc: "A fake.", Kinds: []object.Kind{object.KindSvc}, New: func(e resource.Env) resource.Driver {
			if g.Name == "task" {
				return runOnly{&fake{env: e, w: w}}
			}
			return &fake{env: e, w: w}
		}})
	}
	f := newFixture(t, resource.NewRegistry(specs...), "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\ncreate_pg = false\n"+fakes(conf))
	f.fake = w
	return f
}

// fakes gives the type fake to the sections of resources.
func fakes(conf string) string {
	return regexp.MustCompile(`(?m)^\[(\w+#[\w.]+)\]$`).ReplaceAllStringFunc(conf, func(s string) string {
		if strings.HasPrefix(s, "[subset#") {
			return s
		}
		return s + "\ntype = fake"
	})
}

func itoa(n int) string { return strconv.Itoa(n) }
