// Package nodemon turns decisions about this node into deeds: it is the shell
// around [orchestrate.DecideNode].
//
//	events, requests, timers, answers of arbitrators, ends of actions
//	        |
//	        v
//	     NodeWorld --> DecideNode --> monitor in the state, action, poll, timer
//
// It also keeps the facts that the monitor of instances decides by: whether the
// node may act for the cluster, and which lost nodes are fenced.
package nodemon

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/arbitrator"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// Voter asks arbitrators; *arbitrator.Prober does it.
type Voter interface {
	Vote(ctx context.Context, a cluster.Arbitrator, q arbitrator.Question) (orchestrate.Answer, error)
	Check(ctx context.Context, a cluster.Arbitrator, q arbitrator.Question) error
}

// Options are what a node monitor works with.
type Options struct {
	Paths host.Paths
	State *state.State
	Bus   *bus.Bus
	Log   *slog.Logger
	Ready <-chan struct{} // closed once the disk was read; nil: it was
	Power monitor.Power   // nil: the node is never taken down

	// Freeze sets or lifts the freeze of the node, as part of an orchestration.
	Freeze func(ctx context.Context, frozen bool, orchestration string) error
	// FreezeInstance sets the freeze of an instance.
	FreezeInstance func(p object.Path) error
	// Empty freezes the node, and shuts its instances down.
	Empty func(ctx context.Context, orchestration string) error

	Voter Voter // nil: no arbitrator is asked
	// Stonith is the command that fences a node, nil when there is none, and Runner
	// what runs it.
	Stonith func(node string) ([]string, error)
	Runner  host.Runner
	// Forget forgets what a peer told that ended on purpose; nil: nothing is kept.
	Forget func(node string)
	// Pace is within how long a peer that is well is heard; nil: at once.
	Pace func() time.Duration
	// Changed is called when the quorum or the fences are others than before.
	Changed func()

	KernelArgs string // the command line of the kernel
	BootID     string
}

// Monitor watches over this node. Its methods are safe for concurrent use.
type Monitor struct {
	o       Options
	self    string
	started time.Time
	leftAt  time.Time
	log     *standing.Conditions
	events  *bus.Latest
	kick    chan struct{} // there is another time to wake at
	note    chan struct{} // the peers that are heard are others
	freeze  bool          // the kernel was told to have the node frozen
	before  []string      // the peers that a former daemon of this boot heard

	mu      sync.Mutex
	spawn   func(func(context.Context)) // runs beside, until Run ends; nil before
	memory  orchestrate.NodeMemory
	job     *orchestrate.NodeJob
	ballot  *orchestrate.Ballot
	because []orchestrate.Reason
	wakeAt  time.Time
	quorum  bool
	tally   orchestrate.Tally
	heard   []string // what is remembered of the peers that are heard
	leaving bool     // the daemon ends on purpose
	fences  orchestrate.Fences
	fencing map[string]chan struct{} // closed when the fencing of a node ends
	goals   goals
}

// New returns the monitor of this node. Nothing is decided before [Monitor.Run].
func New(o Options) *Monitor {
	m := &Monitor{
		o: o, self: o.State.Node(), started: time.Now(), log: &standing.Conditions{}, kick: make(chan struct{}, 1), note: make(chan struct{}, 1),
		fencing: map[string]chan struct{}{},
	}
	m.leftAt = lastShutdown(o.Paths)
	m.freeze = m.freezeAtBoot()
	m.before = m.heardBefore()
	m.events = o.Bus.Latest("node monitor", func(e *event.Envelope) (string, bool) {
		switch e.Event.(type) {
		case event.NodeMonitorUpdated, event.NodeStatusUpdated, event.NodeConfigUpdated, event.NodeStatsUpdated, event.ClusterConfigUpdated,
			event.NodeAlive, event.NodeStale, event.ForgetPeer:
			return e.Labels["node"], true
		}
		return "", false
	})
	return m
}

// LeftAt is when a former daemon was last alive; zero when there was none.
func (m *Monitor) LeftAt() time.Time { return m.leftAt }

// Run decides and acts until ctx ends.
func (m *Monitor) Run(ctx context.Context) error {
	defer m.events.Close()
	if m.o.Ready != nil {
		select {
		case <-m.o.Ready:
		case <-ctx.Done():
			return nil
		}
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	m.mu.Lock()
	m.spawn = func(f func(context.Context)) { beside.Go(func() { f(ctx) }) }
	m.mu.Unlock()
	beside.Go(func() { m.rememberAlive(ctx) })
	beside.Go(func() { m.watchArbitrators(ctx) })
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next := m.decide()
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
			m.end()
			return nil
		case <-timer.C:
		case <-m.kick:
		case <-m.events.C():
			m.events.Take()
		}
	}
}

// end lets nothing begin any more.
func (m *Monitor) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spawn = nil
}

// wake has the goroutine of Run decide.
func (m *Monitor) wake() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// decide decides until nothing changes, and returns when to decide again.
func (m *Monitor) decide() time.Time {
	changed := false
	m.mu.Lock()
	for range 10 { // what does not settle goes on with the next event
		again, facts := m.once()
		changed = changed || facts
		if !again {
			break
		}
	}
	next := m.wakeAt
	m.mu.Unlock()
	if changed && m.o.Changed != nil {
		m.o.Changed()
	}
	return next
}

// once takes one decision, and reports whether it changed the monitor of the node,
// and whether it changed facts others decide by.
func (m *Monitor) once() (again, facts bool) {
	if m.spawn == nil {
		return false, false
	}
	if m.own().GlobalExpect != orchestrate.None { // the flag may be newer than what is known of it
		m.seeFreeze()
	}
	view := m.o.State.View()
	m.rememberHeard(view)
	facts, retry := m.lookAtFences(view)
	w := m.world(view)
	d := orchestrate.DecideNode(w)
	if d.Quorum != m.quorum || d.Tally != m.tally {
		facts = true
	}
	m.memory, m.job, m.because = d.Memory, d.Job, d.Because
	m.quorum, m.tally = d.Quorum, d.Tally
	m.wakeAt = d.WakeAt
	if !retry.IsZero() && (m.wakeAt.IsZero() || retry.Before(m.wakeAt)) {
		m.wakeAt = retry
	}
	again = m.publish(w, d)
	m.act(view, d)
	return again, facts
}

func (m *Monitor) world(view *cluster.View) orchestrate.NodeWorld {
	w := orchestrate.NodeWorldOf(view, m.self, time.Now().Round(0))
	w.Ready, w.Awake = true, time.Since(m.started)
	w.StartedAt, w.LeftAt, w.FreezeAtBoot, w.HeardBefore = m.started.Round(0), m.leftAt, m.freeze, m.before
	w.Ballot, w.Job, w.Memory = m.ballot, m.job, m.memory
	if m.o.Pace != nil {
		w.Pace = m.o.Pace()
	}
	if m.o.Voter == nil {
		w.Arbitrators = nil
	}
	return w
}

// publish tells what was decided.
func (m *Monitor) publish(w orchestrate.NodeWorld, d orchestrate.NodeDecision) (changed bool) {
	v := d.Monitor
	v.UpdatedAt = w.Monitor.UpdatedAt
	if changed = !reflect.DeepEqual(v, w.Monitor); changed {
		v.UpdatedAt = w.Now
		if w.Monitor.State != v.State {
			m.o.Log.Info("node state", slog.String("node", m.self), slog.String("oid", cmp.Or(d.EndedID, v.OrchestrationID)),
				slog.String("from", w.Monitor.State), slog.String("to", v.State), slog.String("reason", last(d.Because)))
		}
		m.o.State.SetNodeMonitor(m.self, v)
	}
	m.adopted(w.Monitor, v)
	if d.Ended != "" {
		m.goals.end(d.EndedID, d.Ended, d.Why, w.Now)
		m.o.Log.Info("orchestration ended", slog.String("node", m.self), slog.String("oid", d.EndedID),
			slog.String("reason", d.EndedGoal+" "+d.Ended+" "+d.Why))
	}
	m.publishStatus(w, d)
	if e := d.Defeat; e != nil {
		m.o.Log.Error("the cluster is split, and this part of it has no quorum", slog.String("node", m.self), slog.String("action", e.Action),
			slog.Int("votes", e.NodeVotes+e.ArbitratorVotes), slog.Int("total", e.Total))
		m.o.Bus.Publish(event.NodeSplitAction{
			Node: m.self, Action: e.Action, NodeVotes: e.NodeVotes, ArbitratorVotes: e.ArbitratorVotes, Voting: e.Total, ProVoters: e.NodeVotes + e.ArbitratorVotes,
		})
	}
	if d.Rejoined != nil {
		m.o.Bus.Publish(event.NodeRejoin{Node: m.self, LastShutdownAt: m.leftAt, Nodes: d.Rejoined})
	}
	return changed
}

// publishStatus tells of what concerns the status of the node.
func (m *Monitor) publishStatus(w orchestrate.NodeWorld, d orchestrate.NodeDecision) {
	var quorum *cluster.QuorumStatus
	if w.Quorum && len(w.Members) > 1 && d.Tally.Have < d.Tally.Total {
		quorum = &cluster.QuorumStatus{Votes: d.Tally.Have, Total: d.Tally.Total, Held: d.Quorum, Reason: last(votesOf(d.Because))}
	}
	was := false
	m.o.State.EditNodeStatus(m.self, func(s *cluster.NodeStatus) {
		was = s.IsOverloaded
		s.IsOverloaded, s.Quorum, s.IsLeader = d.Overloaded, quorum, speaks(w)
	})
	switch {
	case d.Overloaded && !was:
		m.o.Log.Warn("the node is overloaded: it starts nothing by itself", slog.String("node", m.self))
		m.o.Bus.Publish(event.EnterOverloadPeriod{Node: m.self})
	case was && !d.Overloaded:
		m.o.Log.Info("the node is not overloaded any more", slog.String("node", m.self))
		m.o.Bus.Publish(event.LeaveOverloadPeriod{Node: m.self})
	}
}

// speaks reports whether the node is the one of its cluster that speaks for it: the
// first that is heard.
func speaks(w orchestrate.NodeWorld) bool {
	for name, p := range w.Peers {
		if p.Beating && name < w.Self {
			return false
		}
	}
	return true
}

// votesOf are the reasons about the quorum.
func votesOf(all []orchestrate.Reason) (votes []orchestrate.Reason) {
	for _, r := range all {
		switch r.ID {
		case "majority", "quorum", "no-quorum", "quorum-frozen", "quorum-asking", "quorum-waiting", "quorum-expired":
			votes = append(votes, r)
		}
	}
	return votes
}

func last(all []orchestrate.Reason) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1].Text
}

// act does what was decided: its end comes back as a job.
func (m *Monitor) act(view *cluster.View, d orchestrate.NodeDecision) {
	for _, node := range d.Forget {
		if m.o.Forget != nil {
			m.o.Log.Info("what the peer left running is not kept for it any more", slog.String("peer", node))
			m.spawn(func(context.Context) { m.o.Forget(node) })
		}
	}
	if d.Poll != nil {
		poll := *d.Poll
		m.spawn(func(ctx context.Context) { m.poll(ctx, view, poll) })
	}
	if d.Release {
		m.spawn(func(ctx context.Context) { m.release(ctx, view) })
	}
	a := d.Action
	down := a.Verb == orchestrate.Reboot || a.Verb == orchestrate.Crash
	if down {
		m.takeDown(a.Verb)
	}
	if a.Verb != "" && !down {
		oid := d.Job.OrchestrationID
		m.o.Log.Info("act on the node", slog.String("node", m.self), slog.String("oid", oid),
			slog.String("action", a.String()), slog.String("reason", last(d.Because)))
		m.spawn(func(ctx context.Context) {
			ctx, done := m.goals.context(ctx, oid)
			err := m.do(ctx, a, oid)
			done()
			m.ended(a, err)
		})
	}
}

func (m *Monitor) takeDown(v orchestrate.Verb) {
	m.o.Log.Error("the node goes down", slog.String("node", m.self), slog.String("action", string(v)), slog.String("reason", last(m.because)))
	if m.o.Power == nil {
		return
	}
	m.spawn(func(context.Context) {
		down := m.o.Power.Crash
		if v == orchestrate.Reboot {
			down = m.o.Power.Reboot
		}
		if err := down(); err != nil {
			m.o.Log.Error("the node does not go down", slog.String("node", m.self), slog.Any("err", err))
		}
	})
}

// do does an action, and returns once it has ended.
func (m *Monitor) do(ctx context.Context, a orchestrate.NodeAction, oid string) error {
	if a.Verb == orchestrate.Drain {
		return m.o.Empty(ctx, oid)
	}
	if a.Verb == orchestrate.Freeze || a.Verb == orchestrate.Unfreeze {
		err := m.o.Freeze(ctx, a.Verb == orchestrate.Freeze, oid)
		if err == nil {
			m.seeFreeze()
			err = m.rememberFreeze()
		}
		return err
	}
	for _, p := range a.Paths {
		if err := m.o.FreezeInstance(p); err != nil {
			return err
		}
	}
	return nil
}

// ended takes note of the end of an action.
func (m *Monitor) ended(a orchestrate.NodeAction, err error) {
	m.mu.Lock()
	if m.job != nil {
		job := *m.job
		job.State = orchestrate.JobSucceeded
		if err != nil {
			job.State, job.Reason = orchestrate.JobFailed, err.Error()
			m.o.Log.Warn("action on the node failed", slog.String("node", m.self), slog.String("action", a.String()), slog.Any("err", err))
		}
		m.job = &job
	}
	m.mu.Unlock()
	m.wake()
}

// Quorum tells whether the node may act for the cluster, and by which votes.
func (m *Monitor) Quorum() (held bool, votes orchestrate.Tally) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.quorum, m.tally
}

// Explain says why the node does what it does, the weightiest reason last.
func (m *Monitor) Explain() []orchestrate.Reason {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.because)
}

// poll asks the arbitrators for their votes, all at once.
func (m *Monitor) poll(ctx context.Context, view *cluster.View, p orchestrate.Poll) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	ballot := &orchestrate.Ballot{Poll: p.Number, Answers: map[string]orchestrate.Answer{}}
	statuses := map[string]cluster.ArbitratorStatus{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, a := range view.Config.Arbitrators {
		all.Go(func() {
			answer, err := m.o.Voter.Vote(ctx, a, m.question(view, orchestrate.Claim{Node: m.self, Members: p.Members}))
			if err != nil {
				answer.Vote = false
				m.o.Log.Warn("an arbitrator does not vote", slog.String("arbitrator", a.Name), slog.Any("err", err))
				m.o.Bus.Publish(event.ArbitratorError{Node: m.self, Name: a.Name, Error: err.Error()})
			}
			mu.Lock()
			defer mu.Unlock()
			ballot.Answers[a.Name] = answer
			statuses[a.Name] = seen(a, err == nil || answer.Refused)
		})
	}
	all.Wait()
	m.setArbitrators(statuses)
	m.mu.Lock()
	m.ballot = ballot
	m.mu.Unlock()
	m.wake()
}

// releaseTimeout bounds the giving back of a vote.
const releaseTimeout = 5 * time.Second

// release gives the exclusive votes back: the cluster is whole again.
func (m *Monitor) release(ctx context.Context, view *cluster.View) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	for _, a := range view.Config.Arbitrators {
		if !a.Exclusive {
			continue
		}
		q := m.question(view, orchestrate.Claim{Node: m.self, Members: []string{m.self}})
		q.Release = true
		if _, err := m.o.Voter.Vote(ctx, a, q); err != nil { // the lease runs out by itself
			m.o.Log.Info("an arbitrator does not take its vote back yet", slog.String("arbitrator", a.Name), slog.Any("err", err))
		}
	}
}

func (m *Monitor) question(view *cluster.View, c orchestrate.Claim) arbitrator.Question {
	return arbitrator.Question{ClusterID: view.Config.ID, Port: view.Config.Listener.Port, Claim: c}
}

// How often the arbitrators are looked at, while all is well and while it is not.
const (
	arbitratorPeriod = time.Minute
	arbitratorSoon   = 10 * time.Second
)

// watchArbitrators tells whether the arbitrators would vote, now and then.
func (m *Monitor) watchArbitrators(ctx context.Context) {
	if m.o.Voter == nil {
		return
	}
	changes := m.o.Bus.Latest("arbitrators", func(e *event.Envelope) (string, bool) {
		_, ok := e.Event.(event.ClusterConfigUpdated)
		return "", ok
	})
	defer changes.Close()
	timer := time.NewTimer(arbitratorPeriod)
	defer timer.Stop()
	for {
		if m.checkArbitrators(ctx) {
			timer.Reset(arbitratorPeriod)
		} else {
			timer.Reset(arbitratorSoon)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-changes.C():
			changes.Take()
		}
	}
}

// checkArbitrators looks at the arbitrators, and reports whether all would vote.
func (m *Monitor) checkArbitrators(ctx context.Context) (well bool) {
	well = true
	view := m.o.State.View()
	ctx, cancel := context.WithTimeout(ctx, arbitratorPeriod/4)
	defer cancel()
	statuses := map[string]cluster.ArbitratorStatus{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, a := range view.Config.Arbitrators {
		all.Go(func() {
			err := m.o.Voter.Check(ctx, a, m.question(view, orchestrate.Claim{Node: m.self}))
			if ctx.Err() == nil && err != nil && m.log.News(a.Name, err.Error()) {
				m.o.Log.Warn("an arbitrator would not vote", slog.String("arbitrator", a.Name), slog.Any("err", err))
				m.o.Bus.Publish(event.ArbitratorError{Node: m.self, Name: a.Name, Error: err.Error()})
			} else if err == nil {
				m.log.Over(a.Name)
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[a.Name] = seen(a, err == nil)
			well = well && err == nil
		})
	}
	all.Wait()
	m.setArbitrators(statuses)
	return well
}

func seen(a cluster.Arbitrator, up bool) cluster.ArbitratorStatus {
	s := cluster.ArbitratorStatus{URL: a.URI, Weight: a.Weight, Status: cluster.Down}
	if up {
		s.Status = cluster.Up
	}
	return s
}

func (m *Monitor) setArbitrators(statuses map[string]cluster.ArbitratorStatus) {
	changed := false
	m.o.State.EditNodeStatus(m.self, func(s *cluster.NodeStatus) {
		changed = !maps.Equal(s.Arbitrators, statuses)
		s.Arbitrators = statuses
	})
	if changed {
		m.o.Bus.Publish(event.NodeStatusArbitratorsUpdated{Node: m.self, Arbitrators: statuses})
	}
}
