package orchestrate

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// begin leaves init, once what is on disk is known: alone in its cluster, a node
// goes to work; else it waits for its peers.
func (d *nodeDecider) begin() {
	if !d.Ready {
		d.because("no-disk", "what is on disk is being read")
		return
	}
	if d.freezeAtBoot() {
		return
	}
	if len(d.Members) <= 1 {
		d.because("alone", "the node is alone in its cluster")
		d.become(StateIdle)
		d.pursue()
		return
	}
	d.become(StateRejoin)
	d.rejoin()
}

// freezeAtBoot freezes the node because the kernel was told so.
func (d *nodeDecider) freezeAtBoot() bool {
	if !d.FreezeAtBoot || d.d.Memory.BootFroze {
		return false
	}
	d.d.Memory.BootFroze = true
	d.because("freeze-at-boot", "the node was booted with osvc.freeze")
	d.act(NodeAction{Verb: Freeze})
	return true
}

// rejoin waits for the peers: what a node knew of them when its daemon ended is not
// to be acted on. A node that does not hear all of them in time leaves the decision
// to somebody: it freezes itself.
func (d *nodeDecider) rejoin() {
	missing := ""
	peers := []string{}
	for _, name := range d.Members {
		p := d.Peers[name]
		switch {
		case name == d.Self:
		case p.Beating && p.Synced:
			peers = append(peers, name)
		case missing == "":
			missing = name
		}
	}
	resumed := d.d.Memory.ResumedAt
	since := d.StartedAt
	if resumed.After(since) {
		since = resumed
	}
	over := since.Add(d.Config.RejoinGracePeriod)
	switch {
	case !resumed.IsZero() && d.Now.Before(resumed.Add(resumeDelay)):
		d.because("resumed", "the daemon was paused: its peers are heard again before it acts")
		d.wake(resumed.Add(resumeDelay))
		return
	case missing == "":
		if d.mergeFreezes(peers) {
			return
		}
		d.because("rejoined", "every node of the cluster was heard")
	case d.Now.Before(over):
		d.because("rejoin", "node %s was not heard yet, the node is frozen unless it is before %s", missing, over.Format(time.TimeOnly))
		d.wake(over)
		return
	case !d.frozen():
		d.because("rejoin-over", "node %s was not heard in the rejoin grace period: the node is frozen, `om node unfreeze` once it is known what became of it", missing)
		d.freezeUnasked()
		return
	default:
		d.because("rejoin-over", "node %s was not heard in the rejoin grace period: the node stays frozen", missing)
	}
	d.d.Rejoined = peers
	d.become(StateIdle)
	d.pursue()
}

// freezeUnasked freezes the node, unless it has just failed to.
func (d *nodeDecider) freezeUnasked() {
	if at := d.d.Memory.RetryAt; d.Now.Before(at) {
		d.wake(at)
		return
	}
	d.act(NodeAction{Verb: Freeze})
}

// mergeFreezes freezes what peers had frozen while this node was away.
func (d *nodeDecider) mergeFreezes(peers []string) bool {
	if d.d.Memory.Merged || d.LeftAt.IsZero() {
		return false
	}
	if !d.frozen() {
		for _, name := range peers {
			if at := d.Peers[name].FrozenAt; at.After(d.LeftAt) {
				d.because("merge-freeze", "node %s was frozen while this one was away", name)
				d.freezeUnasked()
				return true
			}
		}
	}
	d.d.Memory.Merged = true
	var paths []object.Path
	for _, i := range d.Instances {
		if i.At.After(d.LeftAt) {
			paths = append(paths, i.Path)
		}
	}
	if len(paths) == 0 {
		return false
	}
	d.because("merge-freeze", "%d instances were frozen elsewhere while this node was away", len(paths))
	d.act(NodeAction{Verb: FreezeInstances, Paths: paths})
	return true
}
