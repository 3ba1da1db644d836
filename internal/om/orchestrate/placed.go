package orchestrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// The options of goals.
const (
	optionForce       = "force"
	optionDestination = "destination" // nodes to place the object on
	optionLive        = "live"
	optionCandidates  = "candidates" // nodes that may run the object, the best first
)

// resolve completes the options of a goal: what has to be the same for every node
// is settled here, by the one that was asked.
func resolve(w World, goal string, options map[string]any) (map[string]any, error) {
	d := &decider{World: w, me: w.self(), asking: true}
	d.d.Monitor = monitor(nil)
	d.d.Monitor.GlobalExpectOptions = options
	d.forgive()
	refused := func(format string, a ...any) error {
		return &RefusedError{Path: w.Path, Goal: goal, Reason: fmt.Sprintf(format, a...)}
	}
	with := func(key string, names []string) map[string]any {
		all := map[string]any{key: names}
		for k, v := range options {
			if k != key {
				all[k] = v
			}
		}
		return all
	}
	switch goal {
	case Started, Restarted, Provisioned, Unprovisioned, Purged:
		if !w.Path.Kind.Runs() {
			return options, nil
		}
		candidates := d.ranked(false)
		if goal == Started && len(candidates) == 0 {
			if why := d.affinityRefuses(); why != "" {
				return nil, refused("%s: --force overrides", why)
			}
		}
		if w.alone() || len(candidates) == 0 {
			return options, nil
		}
		return with(optionCandidates, candidates), nil
	case PlacedAt, Placed:
		if live, _ := options[optionLive].(bool); live {
			return nil, refused("a live migration needs a resource that can migrate, and no driver of one is there yet: leave --live out")
		}
		destination, why := d.findDestination(goal, list(options, optionDestination))
		if why != "" {
			return nil, refused("%s", why)
		}
		return with(optionDestination, destination), nil
	}
	return options, nil
}

// forgive leaves out of account the failures a new goal is to try again.
func (d *decider) forgive() {
	nodes := map[string]Node{}
	for name, n := range d.Nodes {
		if n.Monitor != nil && IsFailure(n.Monitor.State) {
			m := *n.Monitor
			m.State = StateIdle
			n.Monitor = &m
		}
		nodes[name] = n
	}
	d.Nodes, d.me = nodes, nodes[d.Self]
}

// affinityRefuses says which company keeps every node from running the object.
func (d *decider) affinityRefuses() string {
	var all []string
	for _, name := range d.scope() {
		if id, why := d.unfit(name, false); id == "affinity" {
			all = append(all, "not on "+name+": "+why)
		}
	}
	return strings.Join(all, "; ")
}

// findDestination returns the nodes to place the object on, or why there are none.
func (d *decider) findDestination(goal string, asked []string) (destination []string, why string) {
	if goal == Placed {
		leaders := d.leaders(true)
		if len(leaders) == 0 {
			return nil, "no node is fit to run it: " + d.whyUnfit(true)
		}
		return leaders, ""
	}
	var reasons []string
	for _, name := range asked {
		id, reason := d.unfit(name, false)
		switch id {
		case "", "node-frozen", "frozen": // asked by name: done
			destination = append(destination, name)
		default:
			reasons = append(reasons, name+": "+reason)
		}
	}
	switch {
	case len(asked) > 0 && len(destination) == 0:
		return nil, "it cannot be placed there: " + strings.Join(reasons, "; ")
	case len(asked) > 0:
		return destination[:min(len(destination), d.places())], ""
	}
	for _, name := range d.ranked(false) {
		if !d.Nodes[name].active() {
			return []string{name}, ""
		}
	}
	return nil, "there is no other node to place it on: " + d.whyUnfit(false)
}

// places is how many destinations make sense.
func (d *decider) places() int {
	if d.Config.Topology == cluster.TopologyFlex {
		return len(d.Nodes)
	}
	return 1
}

// whyUnfit says of each node why it cannot run the object.
func (d *decider) whyUnfit(ha bool) string {
	var all []string
	for _, name := range d.scope() {
		if id, why := d.unfit(name, ha); id != "" {
			all = append(all, name+": "+why)
		} else if d.Nodes[name].active() {
			all = append(all, name+": it runs there")
		}
	}
	return strings.Join(all, "; ")
}

// list returns an option that is a list of names, as it is here or as it came by
// the wire.
func list(options map[string]any, key string) []string {
	switch v := options[key].(type) {
	case []string:
		return v
	case []any:
		var names []string
		for _, x := range v {
			if s, ok := x.(string); ok {
				names = append(names, s)
			}
		}
		return names
	}
	return nil
}

// placed pursues a move asked by hand: the instances that are not at a destination
// stop first, then those that are start.
func (d *decider) placed() {
	destination := list(d.d.Monitor.GlobalExpectOptions, optionDestination)
	switch {
	case d.me.held():
		d.because("release", "it was asked to be placed: the instance is not stopped on purpose any more")
		d.act(Action{Verb: Release})
	case slices.Contains(destination, d.Self):
		d.placeHere(destination)
	default:
		d.placeElsewhere(destination)
	}
}

func (d *decider) placeElsewhere(destination []string) {
	d.expect(None)
	if d.state() == StateStopped || !d.runs() {
		d.because("down", "the instance is %s, the object is to run on %s", d.me.avail(), strings.Join(destination, ", "))
		d.become(StateIdle)
		d.done(Succeeded)
		return
	}
	usable := false
	for _, name := range destination {
		if n := d.Nodes[name]; n.heard() && n.Monitor != nil && !IsFailure(n.Monitor.State) {
			usable = true
		}
	}
	switch {
	case !usable:
		d.because("no-candidate", "node %s cannot run it: it stays here", strings.Join(destination, ", "))
		d.become(StateIdle)
		d.done(Failed)
	case d.childrenUp():
	default:
		d.because("stop", "the object is to run on %s", strings.Join(destination, ", "))
		d.act(Action{Verb: Stop})
	}
}

func (d *decider) placeHere(destination []string) {
	avail := d.me.avail()
	switch {
	case d.state() == StateStarted:
		d.startConcluded()
	case d.stillElsewhere(destination):
	case avail == cluster.Up || avail == cluster.NotApplicable && !d.me.blind():
		d.because("up", "the instance is %s", avail)
		d.arrived()
	case d.parentsDown():
	case d.guarded():
	default:
		d.because("start", "the object is to run here, the instance is %s", avail)
		d.act(Action{Verb: Start})
	}
}

// stillElsewhere reports whether the instances that are to stop are waited for, or
// did not.
func (d *decider) stillElsewhere(destination []string) bool {
	if d.Config.Topology == cluster.TopologyFlex {
		return false
	}
	for _, name := range d.peers() {
		n := d.Nodes[name]
		if slices.Contains(destination, name) {
			continue
		}
		switch runs := n.Status != nil && !isDown(n.avail()); {
		case !n.heard() && runs:
			d.because("peer-up", "it is %s on node %s, which does not answer", n.avail(), name)
		case !n.heard() || n.Monitor == nil && n.Status == nil:
			continue
		case n.Status == nil:
			d.because("peer-unknown", "node %s has not told the state of its instance", name)
			return true
		case !d.isDone(name):
			d.because("wait-stop", "node %s is to stop it first", name)
			return true
		case runs:
			why := ""
			if _, reason := d.failedPeer([]string{name}); reason != "" {
				why = ": " + reason
			}
			d.because("peer-up", "it is still %s on node %s%s", n.avail(), name, why)
		default:
			continue
		}
		d.become(StateIdle)
		d.done(Failed)
		return true
	}
	return false
}
