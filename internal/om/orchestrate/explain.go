package orchestrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// Explanation says why an instance is as it is, and what would change it.
type Explanation struct {
	Object string         `json:"object"`
	Node   string         `json:"node"`
	Avail  cluster.Status `json:"avail"`
	State  string         `json:"state"`
	Goal   string         `json:"global_expect"`
	// Next is what the node does now; nothing when it is empty.
	Next      string           `json:"next"`
	Because   []Cause          `json:"because"`
	Resources []ResourceCauses `json:"resources"`
	// Candidates are the nodes of the object in the order of its placement, and why
	// those that may not run it may not; nothing when there is one node.
	Policy     string      `json:"placement_policy,omitempty"`
	Candidates []Candidate `json:"candidates,omitempty"`
}

// Candidate is a node that may run an object, or may not.
type Candidate struct {
	Node   string `json:"node"`
	Leader bool   `json:"is_ha_leader"`
	Avail  string `json:"avail"`
	Why    string `json:"why,omitempty"` // it may not, empty when it may
}

// ResourceCauses say why a resource is as it is. Resources that are as they should
// be, and of which there is nothing to say, have none.
type ResourceCauses struct {
	RID     string         `json:"rid"`
	Status  cluster.Status `json:"status"`
	Because []Cause        `json:"because"`
}

// Cause is a reason, and what would change it.
type Cause struct {
	Reason

	Change string `json:"change,omitempty"`
}

// Explain tells the reasons of what [Decide] decides about the instance of w, and
// what holds it as it is beside. What only the daemon of the node knows is not
// needed: the world is the one that every node sees.
func Explain(w World) Explanation {
	w.Local = Local{Memory: Memory{Booted: true, Recorded: true, Lost: map[string]time.Time{}}}
	me := w.self()
	m := monitor(me.Monitor)
	x := Explanation{
		Object: w.Path.String(), Node: w.Self, Avail: me.avail(), State: m.State, Goal: m.GlobalExpect,
		Because: []Cause{}, Resources: []ResourceCauses{},
	}
	d := &decider{World: w, me: me}
	d.d.Monitor = m
	d.held()
	reasons := d.d.Because
	switch {
	case !w.Path.Kind.Runs():
		reasons = append(reasons, Reason{"no-instance", fmt.Sprintf("an object of kind %s runs nothing", w.Path.Kind)})
	case me.Monitor == nil:
		reasons = append(reasons, Reason{"no-monitor", "no daemon watches over the instance"})
	case IsActing(m.State):
		reasons = append(reasons, Reason{"acting", "an action is under way: " + m.State})
		x.Next = m.State
	default:
		decision := Decide(w)
		reasons = append(reasons, decision.Because...)
		if decision.Action.Verb != "" {
			x.Next = decision.Action.String()
		}
	}
	if !w.alone() && w.Path.Kind.Runs() {
		x.Policy, x.Candidates = w.Config.PlacementPolicy, d.explainCandidates()
	}
	seen := map[string]bool{}
	for _, r := range reasons {
		key := r.ID + "\x00" + r.Text
		if standing(r.ID) {
			key = r.ID
		}
		if !seen[key] {
			seen[key] = true
			cause := Cause{r, change(r.ID, x.Object)}
			switch {
			case r.ID == "object-up" && w.Config.Topology != cluster.TopologyFlex && w.object().Avail == cluster.Up:
				cause.Change = fmt.Sprintf("om %s switch --to %s moves it here", w.Path, w.Self)
			case r.ID == "object-up" && w.Config.Topology != cluster.TopologyFlex:
				cause.Change = "the instance that is warn, see its own explanation"
			case r.ID == "not-orchestrated" && x.Avail == cluster.Up:
				cause.Change = "orchestrate = ha for the daemon to keep it up"
			case r.ID == "ready" && m.GlobalExpect == None: // nobody asked for it: there is nothing to give up
				cause.Change = fmt.Sprintf("om %s freeze keeps it down", w.Path)
			}
			x.Because = append(x.Because, cause)
		}
	}
	if me.Status != nil {
		for _, rid := range sortedKeys(me.Status.Resources) {
			if causes := d.resource(rid, me.Status.Resources[rid]); len(causes) > 0 {
				x.Resources = append(x.Resources, ResourceCauses{rid, me.Status.Resources[rid].Status.Plain(), causes})
			}
		}
	}
	return x
}

// explainCandidates are the nodes that may run the object, the best first, then those
// that may not.
func (d *decider) explainCandidates() []Candidate {
	ranked, leaders := d.ranked(true), d.leaders(true)
	var all []Candidate
	for _, name := range append(slices.Clone(ranked), d.scope()...) {
		if slices.ContainsFunc(all, func(c Candidate) bool { return c.Node == name }) {
			continue
		}
		c := Candidate{Node: name, Leader: slices.Contains(leaders, name), Avail: d.Nodes[name].avail().String()}
		if !slices.Contains(ranked, name) {
			_, c.Why = d.unfit(name, true)
		}
		all = append(all, c)
	}
	return all
}

// standing reports whether a reason is one of those that held gives, which a
// decision may repeat in other words.
func standing(id string) bool {
	return slices.Contains([]string{"config-issues", "disabled", "node-frozen", "frozen", "stopped-on-purpose", "not-provisioned", "failed"}, id)
}

// held tells what keeps the daemon from acting, whatever it would decide.
func (d *decider) held() {
	if len(d.Config.Issues) > 0 {
		d.because("config-issues", "the configuration has issues: %s", d.Config.Issues[0])
	}
	if d.Config.Disabled {
		d.because("disabled", "the instance is disabled")
	}
	if d.me.Frozen {
		d.because("node-frozen", "the node is frozen")
	}
	if d.me.Status != nil && !d.me.Status.FrozenAt.IsZero() {
		d.because("frozen", "the instance is frozen")
	}
	if d.me.held() {
		d.because("stopped-on-purpose", "the instance was stopped on purpose")
	}
	if p := d.me.provisioned(); p == cluster.ProvisionedFalse || p == cluster.ProvisionedMixed {
		d.because("not-provisioned", "provisioned is %s", p)
	}
	if IsFailure(d.state()) {
		d.because("failed", "the last action failed: %s", d.state())
	}
	if goal := d.d.Monitor.GlobalExpect; goal != None {
		d.because("goal", "%s was asked for, orchestration %s", goal, d.d.Monitor.OrchestrationID)
	}
}

// resource tells why a resource is as it is.
func (d *decider) resource(rid string, r cluster.ResourceStatus) []Cause {
	var causes []Cause
	add := func(id, change, format string, a ...any) {
		causes = append(causes, Cause{Reason{id, fmt.Sprintf(format, a...)}, change})
	}
	path := d.Path.String()
	group, _, _ := strings.Cut(rid, "#")
	config, configured := d.Config.Resources[rid]
	switch {
	case r.Disable:
		add("resource-disabled", fmt.Sprintf("om %s config update --set %s.disable=false", path, rid), "it is disabled: every action leaves it alone")
	case r.Stopped:
		add("resource-stopped-on-purpose", fmt.Sprintf("om %s instance start --rid %s", path, rid), "it was stopped on purpose: a start of the instance starts it, its restarts do not")
	case r.Provisioned.State == cluster.ProvisionedFalse:
		add("resource-not-provisioned", fmt.Sprintf("om %s instance provision --rid %s", path, rid), "it is not provisioned")
	}
	if r.Running {
		add("resource-running", "", "a run of it is under way")
	}
	for _, l := range r.Log {
		if l.Level == "warn" || l.Level == "error" {
			add("resource-"+l.Level, "", "%s", l.Message)
		}
	}
	bad := r.Status.Plain() == cluster.Down || r.Status.Plain() == cluster.StandbyDown || r.Status.Plain() == cluster.Warn
	if !bad || r.Disable || group == "task" || group == "sync" {
		return causes
	}
	counter, counted := d.d.Monitor.Resources[rid]
	watched := d.d.Monitor.LocalExpect == Started || config.IsStandby
	switch {
	case !configured || r.Stopped || !watched && isDown(d.me.avail()): // it is down as the whole instance is
	case config.Restart == 0 && config.IsMonitored:
		add("no-restart", fmt.Sprintf("om %s config update --set %s.restart=2", path, rid), "its restart is 0: monitor_action, %s, is done instead", strings.Join(d.Config.MonitorAction, " "))
	case config.Restart == 0:
		add("no-restart", fmt.Sprintf("om %s config update --set %s.restart=2", path, rid), "its restart is 0: the daemon does not start it again")
	case counted && counter.Restart.Remaining == 0:
		add("restart-exhausted", fmt.Sprintf("om %s instance start", path), "its %d restarts are used up", config.Restart)
	case !watched:
		add("not-watched", fmt.Sprintf("om %s start", path), "the instance was not started by the daemon, or was stopped since: its resources are not restarted")
	case counted:
		add("restarts-left", "", "%d of its %d restarts are left", counter.Restart.Remaining, config.Restart)
	}
	if r.Optional {
		add("optional", fmt.Sprintf("om %s config update --set %s.optional=false", path, rid), "it is optional: the availability of the instance does not count it")
	}
	return causes
}

// change says what would change a reason of a decision; nothing for those that
// pass by themselves, or that say what is done.
func change(id, path string) string {
	switch id {
	case "config-issues":
		return fmt.Sprintf("om %s config validate, then om %s config edit", path, path)
	case "disabled":
		return fmt.Sprintf("om %s config update --set disable=false", path)
	case "node-frozen":
		return "om node unfreeze"
	case "frozen":
		return fmt.Sprintf("om %s unfreeze", path)
	case "stopped-on-purpose":
		return fmt.Sprintf("om %s start", path)
	case "not-provisioned", "unprovisioned":
		return fmt.Sprintf("om %s provision", path)
	case "failed", "action-failed", "not-up", "vanished", "flag-failed", "monitor-action-failed", "restart-exhausted":
		return fmt.Sprintf("om %s logs says what failed; om %s clear, or another om %s start", path, path, path)
	case "not-orchestrated":
		return fmt.Sprintf("om %s start, or orchestrate = ha for the daemon to do it by itself", path)
	case "no-monitor":
		return "om daemon start"
	case "no-quorum":
		return "more nodes, or arbitrators, that answer"
	case "not-leader", "wait-leader", "wait-non-leader":
		return fmt.Sprintf("om %s switch --to <node>, or the order of nodes and the placement policy", path)
	case "object-up", "object-started", "flex-excess":
		return "flex_min, flex_max and flex_target say how many instances are wanted, of an object whose topology is flex"
	case "warn":
		return fmt.Sprintf("the resources below say what is wrong; om %s instance start starts it nevertheless", path)
	case "affinity":
		return fmt.Sprintf("a move of what is named, or om %s start --force", path)
	case "fence":
		return "a fencing that works (om node logs says what failed), or om node stonith --node <node> --confirmed once the node is known to be off"
	case "no-candidate":
		return fmt.Sprintf("om %s explain says of each node why it cannot run it", path)
	case "peer-up":
		return fmt.Sprintf("om %s logs says why it did not stop there; om %s clear, then stop it there", path, path)
	case "prior-failed", "leader-failed", "peer-failed":
		return fmt.Sprintf("om %s logs says what failed there; om %s clear", path, path)
	case "node-overloaded":
		return "less load on the node, or min_avail_mem_pct and min_avail_swap_pct of its configuration"
	case "peer-unknown", "peer-heard-elsewhere":
		return "the daemon of that node, or its way to this one"
	case "wait-parents":
		return "the start of what is named, or of one removed from parents"
	case "wait-children":
		return "the stop of what is named, or of one removed from children"
	case "goal", "done", "peers-not-done", "ready":
		return fmt.Sprintf("om %s abort gives the goal up", path)
	case "node-busy":
		return "om node drain, maintenance and the like end by themselves; om daemon status says more"
	}
	return ""
}
