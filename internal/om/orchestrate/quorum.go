package orchestrate

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// askAgain is how long a node that lost the vote, and lives on, leaves its
// arbitrators alone.
const askAgain = 10 * time.Second

// What node.split_action says.
const (
	SplitCrash    = "crash"
	SplitReboot   = "reboot"
	SplitDisabled = "disabled"
)

// Arbitrator is a server that votes.
type Arbitrator struct {
	Name      string
	Weight    int
	Exclusive bool // it gives its votes to one part of the cluster at a time
}

// Answer is that of an arbitrator to a poll. Neither Vote nor Refused: it did not
// answer.
type Answer struct {
	Vote      bool
	Refused   bool      // another part of the cluster has the exclusive vote
	NotBefore time.Time // the vote counts from here on; zero: at once
	Until     time.Time // an exclusive vote runs out; zero: it does not
}

// Ballot is what the arbitrators answered to a poll.
type Ballot struct {
	Poll    int
	Answers map[string]Answer
}

// Poll asks the arbitrators for their votes.
type Poll struct {
	Number  int
	Members []string      // the nodes that are heard, this one included
	Timeout time.Duration // an arbitrator that has not answered by then does not vote
}

// Split is what a node remembers of a cluster that is not whole.
type Split struct {
	Heard   string // the nodes that are heard
	Poll    int    // the last one asked for
	AskedAt time.Time
	Waiting bool // for the answers
	Answers map[string]Answer
	// LostAt is when the node found itself without quorum after it lost a peer, and
	// Acted: its split action was asked for.
	LostAt time.Time
	Acted  bool
}

// Defeat is a split this node lost.
type Defeat struct {
	Action          string
	NodeVotes       int
	ArbitratorVotes int
	Total           int
}

// votes says whether the node may act for the cluster.
func (d *nodeDecider) votes() {
	heard, lost := d.heard(), d.lost()
	members := max(len(d.Members), 1)
	d.d.Tally = Tally{Have: len(heard), Total: members}
	split := &d.d.Memory.Split
	switch {
	case !d.Quorum:
		d.d.Quorum = true
		*split = Split{Poll: split.Poll}
		return
	case len(heard) == members:
		d.d.Quorum = true
		d.d.Release = split.asked(d.exclusive())
		*split = Split{Poll: split.Poll}
		return
	case d.sure(len(heard), members):
		d.d.Quorum = true
		d.because("majority", "%d of %d nodes are heard", len(heard), members)
		*split = Split{Poll: split.Poll}
		return
	case d.frozen():
		d.because("quorum-frozen", "%d of %d nodes are heard: the node is frozen, it does not ask for votes", len(heard), members)
		*split = Split{Poll: split.Poll}
		return
	case len(lost) == 0 && (d.state() == StateInit || d.state() == StateRejoin):
		d.because("no-quorum", "%d of %d nodes are heard so far", len(heard), members)
		return
	}
	d.poll(heard)
	d.count(heard, lost)
}

// poll asks the arbitrators, and takes in what they answer.
func (d *nodeDecider) poll(heard []string) {
	split := &d.d.Memory.Split
	if key := strings.Join(heard, " "); split.Heard != key {
		*split = Split{Heard: key, Poll: split.Poll}
		d.ask(heard)
	}
	if b := d.Ballot; split.Waiting && b != nil && b.Poll == split.Poll {
		split.Waiting = false
		split.Answers = merge(split.Answers, b.Answers)
	}
	if deadline := split.AskedAt.Add(d.patience()); split.Waiting && !d.Now.Before(deadline) {
		split.Waiting = false // who answers too late does not vote
	} else if split.Waiting {
		d.wake(deadline)
	}
}

func (d *nodeDecider) ask(heard []string) {
	split := &d.d.Memory.Split
	split.AskedAt = d.Now
	if len(d.Arbitrators) == 0 {
		return
	}
	split.Poll++
	split.Waiting = true
	d.d.Poll = &Poll{Number: split.Poll, Members: heard, Timeout: d.patience()}
}

// patience is how long an arbitrator has to answer. With what follows a defeat it
// ends well within the ready period, at the end of which the others start.
func (d *nodeDecider) patience() time.Duration {
	return max(d.Config.ReadyPeriod/3, 500*time.Millisecond)
}

// merge takes answers in. No answer does not undo a vote: who had it refused
// nobody since.
func merge(old, answers map[string]Answer) map[string]Answer {
	all := maps.Clone(old)
	if all == nil {
		all = map[string]Answer{}
	}
	for name, a := range answers {
		if a.Vote || a.Refused || !all[name].Vote {
			all[name] = a
		}
	}
	return all
}

// count counts the votes.
func (d *nodeDecider) count(heard, lost []string) {
	split := &d.d.Memory.Split
	tally := Tally{Have: len(heard), Total: max(len(d.Members), 1)}
	var notBefore, expired time.Time
	for _, a := range d.Arbitrators {
		tally.Total += a.Weight
		answer := split.Answers[a.Name]
		if !answer.Vote {
			continue
		}
		tally.Have += a.Weight
		if answer.NotBefore.After(notBefore) {
			notBefore = answer.NotBefore
		}
		if !answer.Until.IsZero() && !d.Now.Before(answer.Until) {
			expired = answer.Until
		}
	}
	d.d.Tally = tally
	won := 2*tally.Have > tally.Total
	switch {
	case split.Waiting && !won:
		d.because("quorum-asking", "%d of %d votes so far: the arbitrators are being asked", tally.Have, tally.Total)
	case won && d.Now.Before(notBefore):
		d.because("quorum-waiting", "%d of %d votes: those who had the vote of an arbitrator before are given the time to notice, until %s",
			tally.Have, tally.Total, notBefore.Format(time.TimeOnly))
		d.wake(notBefore)
	case won && !expired.IsZero():
		d.because("quorum-expired", "the vote of an arbitrator ran out, and could not be renewed")
	case won:
		d.because("quorum", "%d of %d votes", tally.Have, tally.Total)
		d.d.Quorum = true
	default:
		d.because("no-quorum", "%d of %d votes: more than half is needed", tally.Have, tally.Total)
		d.defeated(heard, lost)
		return
	}
	split.LostAt = time.Time{}
	if won && d.exclusive() > 0 {
		d.askLater(heard, VoteRenew)
	}
}

// askLater asks the arbitrators again some time after they were asked last.
func (d *nodeDecider) askLater(heard []string, after time.Duration) {
	split := &d.d.Memory.Split
	if split.Waiting || len(d.Arbitrators) == 0 {
		return
	}
	if at := split.AskedAt.Add(after); d.Now.Before(at) {
		d.wake(at)
		return
	}
	d.ask(heard)
	d.wake(d.Now.Add(d.patience()))
}

// defeated deals with a node that has no quorum. One that lost nobody, but does
// not hear enough, takes nothing over and that is all.
func (d *nodeDecider) defeated(heard, lost []string) {
	split := &d.d.Memory.Split
	action := d.Config.SplitAction
	if len(lost) == 0 || split.Acted {
		d.askLater(heard, askAgain)
		return
	}
	if split.LostAt.IsZero() {
		split.LostAt = d.Now
		d.d.Defeat = &Defeat{
			Action: action, NodeVotes: len(heard), ArbitratorVotes: d.d.Tally.Have - len(heard), Total: d.d.Tally.Total,
		}
	}
	if action != SplitCrash && action != SplitReboot {
		d.because("split-disabled", "split_action is %s: the node lives on, and takes nothing over", action)
		split.Acted = true
		d.askLater(heard, askAgain)
		return
	}
	// The event that says so gets a moment to be heard.
	if at := split.LostAt.Add(d.Config.ReadyPeriod / 10); d.Now.Before(at) {
		d.because("split-action", "%s at %s", action, at.Format(time.TimeOnly))
		d.wake(at)
		return
	}
	d.because("split-action", "the cluster is split, and this part has no quorum: %s", action)
	split.Acted = true
	verb := Crash
	if action == SplitReboot {
		verb = Reboot
	}
	d.actAlone(NodeAction{Verb: verb})
}

// sure reports whether no other part of the cluster can have more than half of the
// votes, whatever the arbitrators say. With arbitrators whose votes all can get,
// a majority of the nodes is taken for sure: that is what they are documented to
// be, and why one that gives its vote once only is better.
func (d *nodeDecider) sure(heard, members int) bool {
	return 2*heard > members && 2*(members-heard)+d.exclusive() <= members || 2*heard > members && d.exclusive() == 0
}

// exclusive is the weight of the arbitrators that give their votes to one part only.
func (d *nodeDecider) exclusive() (weight int) {
	for _, a := range d.Arbitrators {
		if a.Exclusive {
			weight += a.Weight
		}
	}
	return weight
}

// asked reports whether the node may have an exclusive vote to give back.
func (s Split) asked(exclusive int) bool {
	return exclusive > 0 && (s.Waiting || len(s.Answers) > 0)
}

// heard are the nodes that are heard, this one included, sorted.
func (d *nodeDecider) heard() []string {
	names := []string{d.Self}
	for name, p := range d.Peers {
		if p.Beating && !p.Deaf {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// lost are the nodes that were heard, and fell silent without a word, sorted. Those
// a former daemon of this boot heard are, when they are not heard soon after the
// start: what runs here runs since that daemon, and they take it over at the end of
// a ready period. Where peers only beat now and then, they notice later as well.
func (d *nodeDecider) lost() []string {
	soon := d.StartedAt.Add(max(3*d.Config.ReadyPeriod/5, 3*d.Pace/2))
	var names []string
	for _, name := range d.HeardBefore {
		switch p, member := d.Peers[name]; {
		case !member || p.Heard:
		case d.Now.Before(soon):
			d.wake(soon)
		default:
			names = append(names, name)
		}
	}
	for name, p := range d.Peers {
		if p.Heard && (!p.Beating && !p.Left || p.Beating && p.Deaf) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
