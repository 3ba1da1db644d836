package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Plan tells what [Engine.Run] would do, by what the resources are now.
func (e *Engine) Plan(ctx context.Context, p object.Path, r Request) (Plan, error) {
	plan := Plan{Path: p, Action: r.Action, Sets: []Set{}}
	l, err := e.admit(p, r)
	if err != nil {
		return plan, err
	}
	sets, err := l.plan(ctx, r)
	if err != nil {
		return plan, fmt.Errorf("%s: %s: %w", p, r.Action, err)
	}
	plan.Sets = append(plan.Sets, sets...)
	return plan, nil
}

// plan builds the plan out of the present state of the resources.
func (l *loaded) plan(ctx context.Context, r Request) ([]Set, error) {
	all := make([]facts, len(l.resources))
	for i, m := range l.resources {
		s := l.state(ctx, m)
		all[i] = m.facts()
		all[i].status, all[i].provisioned = s.Status, s.Provisioned.State
		if descends(r.Action) && isDown(s.Status) {
			left, err := remains(ctx, m)
			all[i].remains = left != "" || err != nil
		}
	}
	return build(all, l.parallel, r)
}

// unreadable is the object as far as a deletion needs it, which must be possible
// whatever is written in the configuration.
func (e *Engine) unreadable(p object.Path, cause error) (*loaded, error) {
	if !e.Store.Exists(p) {
		return nil, cause
	}
	return &loaded{
		engine: e, path: p, settings: &schema.ObjectSettings{}, flags: e.flags(p),
		groups: e.grouping(p, &schema.ObjectSettings{CreatePG: true}),
	}, nil
}

// descends reports whether the action brings resources down.
func descends(a Action) bool {
	t, _ := a.traits()
	return t.descending || a == Restart
}

// remains names what runs of a resource whatever its status; empty for nothing.
func remains(ctx context.Context, m *member) (string, error) {
	if r, ok := m.Driver.(resource.Remainer); ok && m.err == nil && !m.Common.Disable {
		return r.Remains(ctx)
	}
	return "", nil
}

// admit loads the object, unless the action is one it may not be asked.
func (e *Engine) admit(p object.Path, r Request) (*loaded, error) {
	t, ok := r.Action.traits()
	if !ok {
		_, err := ParseAction(string(r.Action))
		return nil, err
	}
	if !p.Kind.Runs() && r.Action != Delete && r.Action != Purge {
		return nil, &UnsupportedError{Path: p, Action: r.Action}
	}
	if (r.Action == Delete || r.Action == Purge) && !r.Force {
		if err := store.Protected(p); err != nil {
			return nil, err
		}
	}
	l, err := e.load(p, r)
	if r.Action == Delete && err != nil {
		return e.unreadable(p, err)
	}
	if err != nil {
		return nil, err
	}
	if r.Action == Install && r.DryRun {
		return nil, fmt.Errorf("%s: an install has no dry run: it leaves alone what is up to date", p)
	}
	if !t.walks {
		return l, nil
	}
	if l.settings.Disable {
		return nil, fmt.Errorf("%s: %s is refused: the object is disabled: set DEFAULT.disable to false first", p, r.Action)
	}
	// A wrong filter is a refusal: nothing is looked at, nothing is logged.
	all := make([]facts, len(l.resources))
	for i, m := range l.resources {
		all[i] = m.facts()
	}
	if _, err := build(all, l.parallel, r); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p, r.Action, err)
	}
	return l, l.production(r.Action)
}

// production keeps the nodes of production for the objects of production.
func (l *loaded) production(a Action) error {
	switch a {
	case Start, StartStandby, Restart, Provision, Run, Boot:
	case Stop, Shutdown, Unprovision, Purge, Freeze, Unfreeze, Clear, Delete, Info, Install:
		return nil
	}
	node, err := l.engine.Store.Node()
	if err != nil {
		return err
	}
	if node.Env == "PRD" && l.settings.Env != "PRD" {
		return fmt.Errorf("%s: %s is refused: the environment of the object is %s and that of node %s is PRD", l.path, a, l.settings.Env, l.engine.Host.Hostname)
	}
	return nil
}

// execution is one run of an action.
type execution struct {
	*loaded
	request  Request
	traits   traits
	undo     undoing
	warnings atomic.Bool
	grouped  groupOnce
}

// Run executes an action, and waits for its end. An action that failed is an
// [*ActionError]: it is in the logs already. The others are refusals: nothing
// was done.
func (e *Engine) Run(ctx context.Context, p object.Path, r Request) (err error) {
	r = r.complete(p)
	admitted, err := e.admit(p, r)
	if err != nil {
		return err
	}
	if err := admitted.company(ctx, r); err != nil {
		return err
	}
	log := e.log().With(logAttrs(p, r)...)
	if r.DryRun {
		plan, err := e.Plan(ctx, p, r)
		if err == nil {
			log.Info("dry run: " + plan.String()) //nolint:sloglint // the plan is the message
		}
		return err
	}
	t, _ := r.Action.traits()
	var held *lock
	if t.locks && !r.NoLock {
		if held, err = e.lock(ctx, p, r); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, held.release()) }()
	}
	l, err := e.admit(p, r) // as it is now that nobody else acts
	if err != nil {
		return err
	}
	x := &execution{loaded: l, request: r, traits: t}
	if err := x.abandons(ctx); err != nil {
		return err
	}
	return x.framed(ctx, log, held)
}

// framed runs the action between its two log lines.
func (x *execution) framed(ctx context.Context, log *slog.Logger, held *lock) error {
	r, e := x.request, x.engine
	began := time.Now()
	argv := commandLine(r.Command)
	say := func(level slog.Level, format string, a ...any) {
		log.Log(ctx, level, fmt.Sprintf(format, a...)) //nolint:sloglint // sentences for people
	}
	say(slog.LevelInfo, ">>> do %s [%s] (origin %s, sid %s)", r.Action, argv, r.Origin, r.Session)
	e.progress(ctx, x.path, r, x.traits.progress)

	err := x.act(ctx, held)

	took := time.Since(began).Round(time.Microsecond)
	after := context.WithoutCancel(ctx)
	if r.Action == Delete || r.Action == Purge && err == nil {
		if err != nil {
			return x.failed(after, log, took, argv, "", err)
		}
		say(slog.LevelInfo, "<<< done %s [%s] in %s", r.Action, argv, took)
		return nil
	}
	status, serr := x.lastLook(ctx)
	if err == nil {
		err = errors.Join(serr, x.verdict(status))
	}
	took = time.Since(began).Round(time.Microsecond)
	if err != nil {
		return x.failed(after, log, took, argv, status.Avail.String(), err)
	}
	if r.Action != Install { // which goes on beside whatever the monitor is at
		e.progress(after, x.path, r, idle)
	}
	remark := ""
	if x.warnings.Load() || status.Overall == cluster.Warn {
		remark = ", with warnings"
	}
	say(slog.LevelInfo, "<<< done %s [%s] in %s, instance status is now %s%s", r.Action, argv, took, status.Avail, remark)
	return nil
}

// lastLook evaluates the instance after the action. Who interrupts does not want
// to wait for it much longer.
func (x *execution) lastLook(ctx context.Context) (cluster.InstanceStatus, error) {
	after := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		limited, cancel := context.WithTimeout(after, interruptedLook)
		defer cancel()
		after = limited
	}
	return x.evaluate(after, nil)
}

// interruptedLook bounds the evaluation that follows an interrupted action.
const interruptedLook = 2 * time.Second

// failed logs the end of an action that did not do what it should.
func (x *execution) failed(ctx context.Context, log *slog.Logger, took time.Duration, argv, avail string, err error) error {
	now := ""
	if avail != "" {
		now = ", instance status is now " + avail
	}
	line := fmt.Sprintf("<<< failed %s [%s] in %s%s", x.request.Action, argv, took, now)
	log.LogAttrs(ctx, slog.LevelError, line, slog.Any("err", err)) //nolint:sloglint // sentences for people
	x.engine.progress(ctx, x.path, x.request, x.traits.failed)
	return &ActionError{Path: x.path, Action: x.request.Action, Err: err}
}

// act does the work of the action.
func (x *execution) act(ctx context.Context, held *lock) error {
	switch x.request.Action {
	case Freeze, Unfreeze:
		return x.engine.SetFrozen(x.path, x.request.Action == Freeze)
	case Clear:
		return nil // what it clears is told to the daemon, by progress
	case Delete:
		return x.remove(ctx)
	case Info:
		_, err := x.engine.Info(ctx, x.path, x.request, true)
		return err
	case Install:
		limited, cancel := x.deadline(ctx)
		defer cancel()
		return x.install(limited)
	case Boot, Start, StartStandby, Stop, Shutdown, Restart, Provision, Unprovision, Purge, Run:
	}
	if err := x.flagInstance(); err != nil {
		return err
	}
	limited, cancel := x.deadline(ctx)
	defer cancel()
	sets, err := x.plan(limited, x.request)
	if err != nil {
		return err
	}
	if x.request.Action == Run {
		// A task may be long and must not prevent a stop: from here its own run
		// file tells that it goes on.
		if err := held.release(); err != nil {
			return err
		}
	}
	if err := x.walk(limited, sets); err != nil {
		return x.interrupted(ctx, x.rollback(ctx, err))
	}
	switch x.request.Action {
	case Purge:
		return x.remove(ctx)
	case Start, Restart:
		if !x.request.Partial() {
			if err := touch(x.flags.lastStart()); err != nil {
				x.warnf("the time of the start is not kept: %s", err)
			}
		}
	case Boot, StartStandby, Stop, Shutdown, Provision, Unprovision, Run, Freeze, Unfreeze, Clear, Delete, Info, Install:
	}
	return nil
}

// flagInstance keeps the stopped flag of the instance true to what a person
// asks: a whole stop by hand of an instance that the daemon would start again is
// on purpose, and a whole start ends that. The monitor sets the flag itself.
func (x *execution) flagInstance() error {
	if x.request.Partial() || x.request.Origin == OriginMonitor {
		return nil
	}
	switch x.request.Action {
	case Stop:
		if x.settings.Orchestrate != "no" && x.settings.Orchestrate != "" {
			if err := x.engine.SetStopped(x.path, true); err != nil {
				// A full disk must not keep anything up.
				x.warnf("%s: the daemon may start the instance again", err)
			}
		}
	case Start, Restart:
		return x.engine.SetStopped(x.path, false)
	case Boot, StartStandby, Shutdown, Provision, Unprovision, Purge, Run, Freeze, Unfreeze, Clear, Delete, Info, Install:
	}
	return nil
}

// deadline bounds the action by the first of its timeout keywords that is set.
func (x *execution) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	s := x.settings
	name, d := "timeout", s.Timeout
	prefer := func(keyword string, own time.Duration) {
		if own > 0 {
			name, d = keyword, own
		}
	}
	switch x.request.Action {
	case Start, StartStandby:
		prefer("start_timeout", s.StartTimeout)
	case Stop, Shutdown:
		prefer("stop_timeout", s.StopTimeout)
	case Restart:
		if s.StopTimeout > 0 && s.StartTimeout > 0 {
			name, d = "stop_timeout and start_timeout", s.StopTimeout+s.StartTimeout
		}
	case Provision:
		prefer("provision_timeout", s.ProvisionTimeout)
	case Unprovision, Purge:
		prefer("unprovision_timeout", s.UnprovisionTimeout)
	case Boot, Run, Freeze, Unfreeze, Clear, Delete, Info, Install:
	}
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, &timeoutError{keyword: name, after: d})
}

// timeoutError tells which keyword ended an action.
type timeoutError struct {
	keyword string
	after   time.Duration
}

func (e *timeoutError) Error() string { return fmt.Sprintf("%s of %s is over", e.keyword, e.after) }
func (*timeoutError) Unwrap() error   { return context.DeadlineExceeded }

// verdict tells whether a whole start or stop ended where it should.
func (x *execution) verdict(s cluster.InstanceStatus) error {
	if x.request.Partial() {
		return x.selectedVerdict(s)
	}
	good := func(wanted ...cluster.Status) error {
		if slices.Contains(wanted, s.Avail) {
			return nil
		}
		return fmt.Errorf("the %s returned no error but end avail status is %s", x.request.Action, s.Avail)
	}
	switch x.request.Action {
	case Start, Restart:
		return good(cluster.Up, cluster.NotApplicable)
	case Stop:
		return errors.Join(x.unknown(), good(cluster.Down, cluster.StandbyUp, cluster.StandbyDown, cluster.NotApplicable))
	case Shutdown:
		return errors.Join(x.unknown(), good(cluster.Down, cluster.StandbyDown, cluster.NotApplicable))
	case Boot, StartStandby, Provision, Unprovision, Purge, Run, Freeze, Unfreeze, Clear, Delete, Info, Install:
	}
	return nil
}

// unknown tells which resources may still run: one that cannot be configured
// cannot be stopped, and unknown is not down.
func (x *execution) unknown() error {
	var errs []error
	for _, m := range x.resources {
		if m.err != nil && !m.Common.Disable && !errors.Is(m.err, config.ErrPostponed) {
			errs = append(errs, fmt.Errorf("%s was not stopped, whether it runs is not known: repair its configuration first: %w", m.RID, m.err))
		}
	}
	return errors.Join(errs...)
}

// selectedVerdict is the verdict on the resources a partial start or stop acted on.
func (x *execution) selectedVerdict(s cluster.InstanceStatus) error {
	var errs []error
	for _, rid := range x.undo.acted() {
		st := s.Resources[rid]
		if st.Optional {
			continue
		}
		wrong := false
		switch x.request.Action {
		case Start, StartStandby, Restart:
			wrong = st.Status == cluster.Down || st.Status == cluster.StandbyDown || st.Status == cluster.Warn
		case Stop, Shutdown:
			wrong = st.Status == cluster.Up || st.Status == cluster.StandbyUp || st.Status == cluster.Warn
		case Boot, Provision, Unprovision, Purge, Run, Freeze, Unfreeze, Clear, Delete, Info, Install:
		}
		if wrong {
			errs = append(errs, fmt.Errorf("the %s of %s returned no error but its end status is %s", x.request.Action, rid, st.Status))
		}
	}
	return errors.Join(errs...)
}

// interrupted says how to go on after Ctrl-C.
func (x *execution) interrupted(ctx context.Context, err error) error {
	if !errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	return fmt.Errorf("interrupted, what was left to do was not done: run `%s` again to do it: %w", commandLine(x.request.Command), err)
}
