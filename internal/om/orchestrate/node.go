package orchestrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// The states of the monitor of a node, beside those an instance has too.
const (
	StateRejoin      = "rejoin"      // it waits for its peers after a start
	StateMaintenance = "maintenance" // its daemon ends, the instances go on
	StateUpgrade     = "upgrade"     // its daemon is about to be back, the instances go on
	StateDraining    = "draining"
	StateDrained     = "drained"
	StateDrainFailed = "drain failed"
)

const (
	// lookEvery is how often a node of a cluster looks at itself when nothing
	// happens, and pauseLimit the longest it may take it to notice that it does
	// not: well under the timeout of heartbeats.
	lookEvery  = 2 * time.Second
	pauseLimit = 8 * time.Second
	// resumeDelay is what the heartbeats are given to catch up after that.
	resumeDelay = 3 * time.Second
)

// Drained is what a node that is being emptied is to become, as
// [cluster.NodeMonitor.LocalExpect].
const Drained = "drained"

// The verbs of a node, beside [Freeze], [Unfreeze], [Reboot] and [Crash].
const (
	Drain           Verb = "drain"            // freeze the node, and shut its instances down
	FreezeInstances Verb = "freeze instances" // those peers have frozen meanwhile
)

// NodeWorld is what a node knows when it decides about itself.
type NodeWorld struct {
	Now      time.Time
	Self     string
	Config   cluster.NodeConfig
	Quorum   bool     // cluster.quorum
	Members  []string // of the cluster, Self included
	Peers    map[string]Peer
	Monitor  cluster.NodeMonitor
	FrozenAt time.Time
	Stats    *cluster.NodeStats // nil: not measured yet

	Arbitrators []Arbitrator
	Ballot      *Ballot // what the last poll was answered

	// Ready: what is on disk was read.
	Ready bool
	// Awake is how long the daemon has been running, by a clock that nobody sets.
	Awake time.Duration
	// StartedAt is when the daemon started, LeftAt when the former one was last
	// alive; zero when there was none.
	StartedAt, LeftAt time.Time
	// HeardBefore are the peers a former daemon of this boot heard until it ended
	// without a word.
	HeardBefore []string
	// Pace is within how long a peer that is well is heard.
	Pace time.Duration
	// FreezeAtBoot: the kernel was told so, and no daemon has done it since.
	FreezeAtBoot bool
	// Instances are the local ones whose freeze may have to follow that of a peer.
	Instances []PeerFreeze

	Job    *NodeJob
	Memory NodeMemory
}

// Peer is another node of the cluster, as it is heard.
type Peer struct {
	Beating bool      // it is heard
	Heard   bool      // it was, since the daemon started
	Left    bool      // it said that it ends
	Deaf    bool      // it is heard, and hears nothing of us
	Synced  bool      // all it tells of itself is known
	Since   time.Time // of Beating
	// Monitor and FrozenAt are what it told; a monitor without state: nothing.
	Monitor  cluster.NodeMonitor
	FrozenAt time.Time
}

// PeerFreeze is an ha object whose local instance is not frozen, and since when
// that of a peer is.
type PeerFreeze struct {
	Path object.Path
	At   time.Time
}

// NodeMemory is what a decision about a node leaves to the next one.
type NodeMemory struct {
	Split      Split
	Overloaded bool
	BootFroze  bool      // the freeze the kernel asked for was dealt with
	Merged     bool      // the freezes of the peers were
	Failure    string    // why the last action failed
	RetryAt    time.Time // when to try again a freeze nobody asked for
	DrainID    string    // the orchestration of the drain in progress
	Awake      time.Duration
	ResumedAt  time.Time // when the daemon was last seen to have been paused
}

// NodeAction is something a node does to itself.
type NodeAction struct {
	Verb  Verb
	Paths []object.Path // of [FreezeInstances]
}

// String is the action in words.
func (a NodeAction) String() string {
	if len(a.Paths) > 0 {
		return fmt.Sprintf("%s: %d", a.Verb, len(a.Paths))
	}
	return string(a.Verb)
}

// NodeJob is an action decided here.
type NodeJob struct {
	Action          NodeAction
	State           JobState
	Reason          string
	OrchestrationID string
}

// NodeDecision is what a node does next about itself.
type NodeDecision struct {
	Monitor cluster.NodeMonitor
	Memory  NodeMemory
	Job     *NodeJob
	// Action is to be done now; it is in Job too, unless it takes the node down.
	Action NodeAction
	// Poll asks the arbitrators, Release gives their exclusive votes back.
	Poll    *Poll
	Release bool
	// Quorum: the node may act for the cluster. Tally is the count it follows from.
	Quorum bool
	Tally  Tally
	// Defeat: the node has just found itself without quorum.
	Defeat *Defeat
	// Rejoined: the node has just left the rejoin, with these peers.
	Rejoined []string
	// Overloaded replaces that of the status; it is in Memory too.
	Overloaded bool
	// Forget are the peers whose announced end has lasted too long: what they ran
	// is not kept for them any more.
	Forget []string
	// Ended is how an orchestration ended with this decision, and Why. EndedID and
	// EndedGoal are those of that orchestration.
	Ended, Why, EndedID, EndedGoal string
	WakeAt                         time.Time
	Because                        []Reason
}

type nodeDecider struct {
	NodeWorld
	d NodeDecision
}

// DecideNode returns what a node is to do next about itself.
func DecideNode(w NodeWorld) NodeDecision {
	d := &nodeDecider{NodeWorld: w}
	d.d.Memory, d.d.Job, d.d.Monitor = w.Memory, w.Job, w.Monitor
	m := &d.d.Monitor
	for _, word := range []*string{&m.GlobalExpect, &m.LocalExpect} {
		if *word == "" {
			*word = None
		}
	}
	if m.State == "" {
		m.State = StateInit
	}
	d.resume()
	d.overload()
	d.preserve()
	d.votes()
	if d.d.Action.Verb != "" {
		return d.d // the node goes down
	}
	if job := d.d.Job; job != nil && job.State == JobRunning {
		d.because("action-running", "%s is running", job.Action)
		return d.d
	} else if job != nil {
		d.outcome(*job)
	}
	if !d.adopt() { // what the goal is about is looked at first
		d.step()
	}
	if len(d.d.Because) == 0 {
		d.because("idle", "nothing is to be done about the node")
	}
	return d.d
}

// resume notices that the daemon was paused for so long that the others may have
// taken over what it ran: it joins them again, and acts on nothing before.
func (d *nodeDecider) resume() {
	m := &d.d.Memory
	slept := d.Awake - m.Awake
	m.Awake = d.Awake
	if len(d.Members) <= 1 {
		return
	}
	d.wake(d.Now.Add(lookEvery))
	if slept < pauseLimit || d.state() == StateInit {
		return
	}
	m.ResumedAt = d.Now
	if d.state() == StateIdle {
		d.because("resumed", "the daemon did nothing for %s: what it knows of its peers is old", slept.Round(time.Second))
		d.become(StateRejoin)
	}
}

// overload says whether the node lacks memory.
func (d *nodeDecider) overload() {
	d.d.Overloaded = d.d.Memory.Overloaded
	if s := d.Stats; s != nil && s.MemTotalMB > 0 {
		d.d.Overloaded = s.MemAvailPct < uint64(max(d.Config.MinAvailMemPct, 0)) ||
			s.SwapTotalMB > 0 && s.SwapAvailPct < uint64(max(d.Config.MinAvailSwapPct, 0))
	}
	d.d.Memory.Overloaded = d.d.Overloaded
}

// preserve keeps what a peer runs that said it ends, for a while. One whose
// instances were stopped has nothing to keep.
func (d *nodeDecider) preserve() {
	for _, name := range sortedKeys(d.Peers) {
		p := d.Peers[name]
		if p.Beating || !p.Left || p.Monitor.State == "" {
			continue
		}
		over := p.Since.Add(d.Config.MaintenanceGracePeriod)
		if p.Monitor.State == StateShutdown || !d.Now.Before(over) {
			d.d.Forget = append(d.d.Forget, name)
			continue
		}
		d.because("preserved", "node %s said that its daemon ends: what it runs is left to it until %s", name, over.Format(time.TimeOnly))
		d.wake(over)
	}
}

// adopt takes the goal of the peer that was given one last.
func (d *nodeDecider) adopt() (taken bool) {
	m := &d.d.Monitor
	for _, name := range sortedKeys(d.Peers) {
		p := d.Peers[name]
		if !p.Beating || p.Monitor.GlobalExpect == "" || !p.Monitor.GlobalExpectUpdatedAt.After(m.GlobalExpectUpdatedAt) {
			continue
		}
		switch {
		case p.Monitor.GlobalExpect != None:
			if m.GlobalExpect != None {
				d.end(GivenUp, "node "+name+" was asked "+p.Monitor.GlobalExpect+" later")
			}
			d.because("adopt", "node %s was asked %s", name, p.Monitor.GlobalExpect)
			m.GlobalExpect, m.GlobalExpectUpdatedAt = p.Monitor.GlobalExpect, p.Monitor.GlobalExpectUpdatedAt
			m.OrchestrationID, m.OrchestrationIsDone = p.Monitor.OrchestrationID, false
			d.rest()
			taken = true
		case m.GlobalExpect != None && m.OrchestrationIsDone:
			d.end(Succeeded, "")
		case m.GlobalExpect != None:
			d.end(GivenUp, "node "+name+" gave it up")
			d.rest()
		}
	}
	return taken
}

// rest leaves a failure, as a new goal tries again.
func (d *nodeDecider) rest() {
	if s := d.state(); s == StateFreezeFailed || s == StateUnfreezeFailed {
		d.become(StateIdle)
	}
}

// outcome takes account of the end of the last action.
func (d *nodeDecider) outcome(job NodeJob) {
	d.d.Job, d.d.Memory.Failure = nil, ""
	failed := job.State == JobFailed
	if failed {
		d.because("action-failed", "%s failed: %s", job.Action, job.Reason)
		d.d.Memory.Failure = job.Reason
	}
	verb := job.Action.Verb
	if verb == Drain {
		d.drainEnded(job)
	}
	if verb == Freeze || verb == Unfreeze {
		if s := d.state(); s != StateFreezing && s != StateUnfreezing { // nobody asked for it
			if failed {
				d.d.Memory.RetryAt = d.Now.Add(retryFlag)
			}
			return
		}
		switch {
		case failed && job.Action.Verb == Freeze:
			d.become(StateFreezeFailed)
		case failed:
			d.become(StateUnfreezeFailed)
		default:
			d.become(StateIdle)
		}
		if job.OrchestrationID == d.d.Monitor.OrchestrationID && d.d.Monitor.OrchestrationID != "" {
			d.d.Monitor.OrchestrationIsDone = true
		}
	}
}

// drainEnded takes account of the end of a drain, unless it was given up.
func (d *nodeDecider) drainEnded(job NodeJob) {
	m := &d.d.Monitor
	if d.state() != StateDraining || job.OrchestrationID != d.d.Memory.DrainID {
		return
	}
	how := Succeeded
	if job.State == JobFailed {
		how = Failed
		d.become(StateDrainFailed)
	} else {
		d.become(StateDrained)
	}
	d.expectLocal(None)
	if m.GlobalExpect == None && m.OrchestrationID == job.OrchestrationID {
		m.OrchestrationID = ""
	}
	d.d.Ended, d.d.Why, d.d.EndedID, d.d.EndedGoal = how, job.Reason, job.OrchestrationID, Drained
	d.d.Memory.DrainID = ""
}

// step takes the next step from the state of the monitor.
func (d *nodeDecider) step() {
	switch s := d.state(); s {
	case StateInit:
		d.begin()
	case StateRejoin:
		d.rejoin()
	case StateDrained:
		if d.d.Ended != "" { // told once
			d.wake(d.Now)
			return
		}
		d.become(StateIdle)
		d.pursue()
	case StateDraining:
		if d.d.Monitor.LocalExpect != Drained {
			d.become(StateIdle)
		}
		d.pursue()
	case StateFreezing, StateUnfreezing, StateFrozen, StateUnfrozen:
		d.become(StateIdle)
		d.pursue()
	case StateMaintenance, StateUpgrade, StateShutting, StateShutdown, StateShutdownFailed:
		d.because("ending", "the node is %s", s)
	default: // idle, and failures: a goal is a reason to leave them
		d.pursue()
	}
}

// pursue takes the next step towards what is asked of the node.
func (d *nodeDecider) pursue() {
	m := &d.d.Monitor
	switch {
	case m.LocalExpect == Drained:
		d.because("drain", "a drain was asked for")
		d.become(StateDraining)
		d.act(NodeAction{Verb: Drain})
		d.d.Job.OrchestrationID = d.d.Memory.DrainID
	case m.GlobalExpect == Frozen || m.GlobalExpect == Unfrozen:
		d.freezing(m.GlobalExpect)
	case m.GlobalExpect != None: // a word of a newer peer
		d.because("unknown-goal", "no step is known for goal %q", m.GlobalExpect)
		m.OrchestrationIsDone = true
		d.conclude(Failed, "this agent does not know goal "+m.GlobalExpect)
	}
}

// freezing pursues the freeze, or the unfreeze, of the whole cluster.
func (d *nodeDecider) freezing(goal string) {
	switch {
	case d.frozen() == (goal == Frozen):
		d.because(goal, "the node is %s", goal)
		d.d.Monitor.OrchestrationIsDone = true
		d.conclude(Succeeded, "")
	case d.d.Monitor.OrchestrationIsDone:
		d.conclude(Failed, d.d.Memory.Failure)
	case goal == Frozen:
		d.because("freeze", "a freeze of the cluster was asked for")
		d.become(StateFreezing)
		d.act(NodeAction{Verb: Freeze})
	default:
		d.because("unfreeze", "an unfreeze of the cluster was asked for")
		d.become(StateUnfreezing)
		d.act(NodeAction{Verb: Unfreeze})
	}
}

// conclude ends an orchestration of the cluster once every node that is heard has
// done its part.
func (d *nodeDecider) conclude(how, why string) {
	m := d.d.Monitor
	for _, name := range sortedKeys(d.Peers) {
		p := d.Peers[name]
		switch {
		case !p.Beating || p.Monitor.State == "":
		case p.Monitor.GlobalExpectUpdatedAt.Before(m.GlobalExpectUpdatedAt),
			p.Monitor.OrchestrationID == m.OrchestrationID && !p.Monitor.OrchestrationIsDone:
			d.because("peers-not-done", "node %s has not done its part yet", name)
			return
		}
	}
	d.end(how, why)
}

// end forgets the goal.
func (d *nodeDecider) end(how, why string) {
	m := &d.d.Monitor
	d.d.Ended, d.d.Why, d.d.EndedID, d.d.EndedGoal = how, why, m.OrchestrationID, m.GlobalExpect
	m.GlobalExpect, m.GlobalExpectUpdatedAt = None, after(d.Now, m.GlobalExpectUpdatedAt)
	m.OrchestrationID, m.OrchestrationIsDone = "", false
}

// after is now, or just after t when the clock of another node is ahead.
func after(now, t time.Time) time.Time {
	if now.After(t) {
		return now
	}
	return t.Add(1)
}

func (d *nodeDecider) because(id, format string, a ...any) {
	d.d.Because = append(d.d.Because, Reason{ID: id, Text: fmt.Sprintf(format, a...)})
}

func (d *nodeDecider) state() string { return d.d.Monitor.State }

func (d *nodeDecider) frozen() bool { return !d.FrozenAt.IsZero() }

func (d *nodeDecider) become(state string) {
	if m := &d.d.Monitor; m.State != state {
		m.State, m.StateUpdatedAt = state, d.Now
	}
}

func (d *nodeDecider) expectLocal(what string) {
	if m := &d.d.Monitor; m.LocalExpect != what {
		m.LocalExpect, m.LocalExpectUpdatedAt = what, d.Now
	}
}

// act decides an action, whose end comes back as a job.
func (d *nodeDecider) act(a NodeAction) {
	d.d.Action = a
	d.d.Job = &NodeJob{Action: a, State: JobRunning, OrchestrationID: d.d.Monitor.OrchestrationID}
}

// actAlone decides an action nothing comes after.
func (d *nodeDecider) actAlone(a NodeAction) { d.d.Action = a }

func (d *nodeDecider) wake(at time.Time) {
	if d.d.WakeAt.IsZero() || at.Before(d.d.WakeAt) {
		d.d.WakeAt = at
	}
}

// NodeRefusedError says why something is not asked of a node.
type NodeRefusedError struct{ Node, Goal, Reason string }

// Error names the node, the goal and the reason.
func (e *NodeRefusedError) Error() string {
	return fmt.Sprintf("node %s: %s refused: %s", e.Node, e.Goal, e.Reason)
}

// AcceptNode returns the monitor of the node once it is asked for a goal: frozen
// or unfrozen of the whole cluster, drained of this node.
func AcceptNode(w NodeWorld, goal, id string) (cluster.NodeMonitor, error) {
	m := w.Monitor
	refuse := func(format string, a ...any) (cluster.NodeMonitor, error) {
		return m, &NodeRefusedError{Node: w.Self, Goal: goal, Reason: fmt.Sprintf(format, a...)}
	}
	if strings.HasPrefix(m.State, "shut") {
		return refuse("it is %s: its instances are being stopped already", m.State)
	}
	if m.State == StateDraining {
		return refuse("it is being drained since %s, orchestration %s: wait for it, or `om node abort`",
			m.StateUpdatedAt.Format(time.RFC3339), w.Memory.DrainID)
	}
	if m.GlobalExpect != "" && m.GlobalExpect != None {
		return refuse("orchestration %s (%s) is in progress since %s: wait for it, or `om cluster abort`",
			m.OrchestrationID, m.GlobalExpect, m.GlobalExpectUpdatedAt.Format(time.RFC3339))
	}
	switch goal {
	case Frozen, Unfrozen:
		m.GlobalExpect, m.GlobalExpectUpdatedAt = goal, w.latest()
		m.OrchestrationID, m.OrchestrationIsDone = id, false
		if m.State == StateFreezeFailed || m.State == StateUnfreezeFailed {
			m.State, m.StateUpdatedAt = StateIdle, w.Now
		}
	case Drained:
		if slices.Contains([]string{"", StateInit, StateRejoin, StateMaintenance, StateUpgrade}, m.State) {
			return refuse("it is in state %q: ask again once it is idle", m.State)
		}
		m.LocalExpect, m.LocalExpectUpdatedAt = Drained, w.Now
		m.State, m.StateUpdatedAt = StateDraining, w.Now
		m.OrchestrationID, m.OrchestrationIsDone = id, false
	default:
		return refuse("there is no such goal")
	}
	m.UpdatedAt = w.Now
	return m, nil
}

// AbortNode gives up what the node, and the cluster as a whole, are asked.
func AbortNode(w NodeWorld) cluster.NodeMonitor {
	m := w.Monitor
	if m.GlobalExpect != "" && m.GlobalExpect != None {
		m.GlobalExpect, m.GlobalExpectUpdatedAt = None, w.latest()
	}
	m.OrchestrationID, m.OrchestrationIsDone = "", false
	if m.LocalExpect == Drained {
		m.LocalExpect, m.LocalExpectUpdatedAt = None, w.Now
	}
	if m.State == StateDraining || m.State == StateFreezing || m.State == StateUnfreezing {
		m.State, m.StateUpdatedAt = StateIdle, w.Now
	}
	m.UpdatedAt = w.Now
	return m
}

// latest is now, or just after the last goal of any node.
func (w NodeWorld) latest() time.Time {
	at := after(w.Now, w.Monitor.GlobalExpectUpdatedAt)
	for _, p := range w.Peers {
		at = after(at, p.Monitor.GlobalExpectUpdatedAt)
	}
	return at
}
