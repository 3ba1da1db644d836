// Package hook runs the commands of the hook sections when something happens.
//
//	[hook#1]
//	events = InstanceStatusUpdated NodeFrozen
//	command = /usr/local/bin/on-event
//
// A command reads the event, as JSON, on its standard input. Those of a hook run
// one after the other, in the order of the events; a hook that is too slow loses
// events, and says how many, so that it holds nobody up.
package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

const (
	// limit bounds how long a command may run.
	limit = time.Minute
	// waiting is how many events may wait for the command of a hook.
	waiting = 100
)

// Options are what the hooks work with.
type Options struct {
	Store  *store.Store
	Bus    *bus.Bus
	Runner host.Runner
	Env    []string // environment of the commands
	Log    *slog.Logger
}

// Hooks runs the commands.
type Hooks struct {
	o       Options
	changes *bus.Latest
	known   atomic.Pointer[[]*hook]
	feed    *bus.Subscription
}

// hook is a section.
type hook struct {
	name  string
	kinds []string // none: all
	argv  []string
	queue chan *event.Envelope
	lost  atomic.Int64
	stop  context.CancelFunc
}

// New returns the hooks, which follow events from here on.
func New(o Options) *Hooks {
	h := &Hooks{o: o}
	h.known.Store(&[]*hook{})
	h.load(func(*hook) {}) // what happens until they run waits
	h.changes = o.Bus.Latest("hook", func(e *event.Envelope) (string, bool) {
		changed, ok := e.Event.(event.ConfigFileUpdated)
		return "", ok && (changed.Path.IsZero() || changed.Path == object.Cluster())
	})
	h.feed = o.Bus.Subscribe("hooks", func(e *event.Envelope) bool {
		return slices.ContainsFunc(*h.known.Load(), func(k *hook) bool { return k.wants(e.Kind) })
	})
	return h
}

func (k *hook) wants(kind string) bool { return len(k.kinds) == 0 || slices.Contains(k.kinds, kind) }

// Run runs the commands until ctx ends. Those that run then are ended.
func (h *Hooks) Run(ctx context.Context) error {
	defer h.changes.Close()
	defer h.feed.Close()
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := func(k *hook) {
		own, stop := context.WithCancel(ctx)
		k.stop = stop
		running.Go(func() { h.serve(own, k) })
	}
	for _, k := range *h.known.Load() {
		begin(k)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.changes.C():
			h.changes.Take()
			h.load(begin)
		case e := <-h.feed.C():
			h.give(e)
		}
	}
}

// give queues an event for the hooks that want it.
func (h *Hooks) give(e *event.Envelope) {
	for _, k := range *h.known.Load() {
		if !k.wants(e.Kind) {
			continue
		}
		select {
		case k.queue <- e:
		default:
			k.lost.Add(1)
		}
	}
}

// load reads the sections, begins the new hooks and stops those that are gone.
func (h *Hooks) load(begin func(*hook)) {
	fresh, err := Sections(h.o.Store)
	if err != nil {
		h.o.Log.Warn("hooks not run", slog.Any("err", err))
	}
	old := *h.known.Load()
	hooks := make([]*hook, 0, len(fresh))
	for _, s := range fresh {
		if i := slices.IndexFunc(old, func(k *hook) bool {
			return k.name == s.Name && slices.Equal(k.kinds, s.Kinds) && slices.Equal(k.argv, s.Command)
		}); i >= 0 {
			hooks = append(hooks, old[i])
			continue
		}
		k := &hook{name: s.Name, kinds: s.Kinds, argv: s.Command, queue: make(chan *event.Envelope, waiting)}
		hooks = append(hooks, k)
		begin(k)
	}
	h.known.Store(&hooks)
	for _, k := range old {
		if !slices.Contains(hooks, k) {
			k.stop()
		}
	}
}

// serve runs the command of a hook for each event in its queue.
func (h *Hooks) serve(ctx context.Context, k *hook) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-k.queue:
			if err := h.run(ctx, k, e); err != nil && ctx.Err() == nil {
				h.o.Log.Warn("hook failed", slog.String("hook", k.name), slog.String("event", e.Kind), slog.Any("err", err))
			}
			if n := k.lost.Swap(0); n > 0 {
				h.o.Log.Warn("events lost by a hook that is too slow", slog.String("hook", k.name), slog.Int64("lost", n))
			}
		}
	}
}

// told is an event as a command reads it.
type told struct {
	Kind string          `json:"kind"`
	ID   uint64          `json:"id"`
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

func (h *Hooks) run(ctx context.Context, k *hook, e *event.Envelope) error {
	input, err := json.Marshal(told{Kind: e.Kind, ID: e.Seq, At: e.At, Data: e.Data()})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("still running after %s", limit))
	defer cancel()
	env := append(slices.Clip(h.o.Env), "OPENSVC_EVENT="+e.Kind)
	_, err = h.o.Runner.Run(limited, host.Cmd{Argv: k.argv, Dir: "/", Env: env, Stdin: append(input, '\n')})
	return err
}

// Section is a hook section, read.
type Section struct {
	Name    string
	Kinds   []string // none: every event
	Command []string
}

// Sections reads the hook sections of the node and of the cluster. Those that
// cannot be read are in the error, the others are returned.
func Sections(s *store.Store) ([]Section, error) {
	doc, err := s.Merged()
	if err != nil {
		return nil, err
	}
	ev, err := s.Evaluator(object.Path{}, doc, "")
	if err != nil {
		return nil, err
	}
	var list []Section
	var errs []error
	for _, name := range doc.Sections() {
		if !strings.HasPrefix(name, "hook#") {
			continue
		}
		one, err := section(ev, name)
		errs = append(errs, err)
		if len(one.Command) > 0 {
			list = append(list, one)
		}
	}
	return list, errors.Join(errs...)
}

func section(ev *config.Evaluator, name string) (Section, error) {
	s := Section{Name: name}
	value := func(option string) (string, error) {
		v, _, err := ev.Value(name, config.Option{Name: option, Scopable: true, Inherit: config.LeafOnly})
		if err != nil {
			return "", fmt.Errorf("%s.%s: %w", name, option, err)
		}
		return v, nil
	}
	events, err := value("events")
	if err != nil {
		return s, err
	}
	command, err := value("command")
	if err != nil {
		return s, err
	}
	all := false
	for word := range strings.FieldsSeq(events) {
		kind, ok := event.KindNamed(word)
		if !ok {
			return s, fmt.Errorf("%s.events: %q is no event: use all, or kinds such as NodeFrozen", name, word)
		}
		all = all || kind == ""
		s.Kinds = append(s.Kinds, kind)
	}
	if len(s.Kinds) == 0 {
		return s, fmt.Errorf("%s.events: no event: use all, or kinds such as NodeFrozen", name)
	}
	if all {
		s.Kinds = nil
	}
	if s.Command, err = config.ParseShlex(command); err != nil {
		return Section{Name: name}, fmt.Errorf("%s.command: %w", name, err)
	}
	if len(s.Command) == 0 {
		return s, fmt.Errorf("%s.command is not set", name)
	}
	return s, nil
}
