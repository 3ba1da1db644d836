package orchestrate

import (
	"maps"
	"slices"
	"time"
)

// How long an exclusive vote is good for after it was given, and how often a node
// that has it asks again. An arbitrator that hears nothing for the whole lease
// gives the vote to whoever asks next.
const (
	VoteLease = 20 * time.Second
	VoteRenew = 5 * time.Second
)

// Claim is a node that asks for the exclusive vote of an arbitrator, for the part
// of the cluster it hears.
type Claim struct {
	Node    string
	Members []string // the nodes that are heard, Node included
}

// Verdict is the answer to a claim.
type Verdict string

// The verdicts.
const (
	// VoteGranted: the vote counts from NotBefore on.
	VoteGranted Verdict = "granted"
	// VoteRefused: another part of the cluster has the vote.
	VoteRefused Verdict = "refused"
)

// Grant is what an arbitrator answers to a claim.
type Grant struct {
	Verdict Verdict
	// NotBefore is when the last node that lost the vote by this claim has noticed
	// it: until then nothing may be taken over from it. Zero: at once.
	NotBefore time.Time
	// Holders are the nodes that have the vote.
	Holders []string
}

// Lease is the exclusive vote of an arbitrator for one cluster: who has it. The
// zero lease is free.
//
// The first part that asks gets the vote, and keeps it as long as one of its nodes
// asks again within [VoteLease]. Two nodes have it at a time only when each hears
// the other. When the part that has it breaks, the first piece that asks takes it
// over, and waits for the grants of the other pieces to run out; these are
// refused from there on.
type Lease struct {
	Members []string         // those that may have the vote
	Grants  map[string]Claim // by node
	Expires map[string]time.Time
}

// Claim gives the vote, or refuses it.
func (l Lease) Claim(now time.Time, c Claim) (Lease, Grant) {
	if !slices.Contains(c.Members, c.Node) {
		c.Members = append(slices.Clone(c.Members), c.Node)
	}
	l = l.live(now)
	if len(l.Expires) > 0 && !slices.Contains(l.Members, c.Node) && !l.mutual(c) {
		return l, Grant{Verdict: VoteRefused, Holders: l.holders()}
	}
	var notBefore time.Time
	members := []string{c.Node}
	for _, name := range l.holders() {
		if slices.Contains(c.Members, name) {
			members = append(members, name)
			continue
		}
		if l.Expires[name].After(notBefore) {
			notBefore = l.Expires[name]
		}
	}
	l.Members = slices.Compact(sorted(append(members, within(c.Members, l)...)))
	l.Grants[c.Node] = c
	l.Expires[c.Node] = now.Add(VoteLease)
	return l, Grant{Verdict: VoteGranted, NotBefore: notBefore, Holders: l.holders()}
}

// Release gives the vote back: the cluster is whole again.
func (l Lease) Release(now time.Time, node string) Lease {
	l = l.live(now)
	if !slices.Contains(l.Members, node) {
		return l
	}
	return Lease{}
}

// Free reports whether nobody has the vote.
func (l Lease) Free(now time.Time) bool {
	for _, at := range l.Expires {
		if now.Before(at) {
			return false
		}
	}
	return true
}

// live is the lease without what has run out.
func (l Lease) live(now time.Time) Lease {
	l.Grants, l.Expires, l.Members = maps.Clone(l.Grants), maps.Clone(l.Expires), slices.Clone(l.Members)
	if l.Grants == nil {
		l.Grants, l.Expires = map[string]Claim{}, map[string]time.Time{}
	}
	for node, at := range l.Expires {
		if !now.Before(at) {
			delete(l.Expires, node)
			delete(l.Grants, node)
		}
	}
	if len(l.Expires) == 0 {
		l.Members = nil
	}
	return l
}

// within are the claimed members that may have the vote: all of them when it is
// free; those who had the right to it before otherwise.
func within(claimed []string, l Lease) []string {
	if len(l.Expires) == 0 {
		return claimed
	}
	var both []string
	for _, name := range claimed {
		if slices.Contains(l.Members, name) {
			both = append(both, name)
		}
	}
	return both
}

// mutual reports whether every holder and the claimer hear each other.
func (l Lease) mutual(c Claim) bool {
	for holder, grant := range l.Grants {
		if !slices.Contains(c.Members, holder) || !slices.Contains(grant.Members, c.Node) {
			return false
		}
	}
	return true
}

func (l Lease) holders() []string { return slices.Sorted(maps.Keys(l.Expires)) }

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// Holders are the nodes that have the vote.
func (l Lease) Holders(now time.Time) []string { return l.live(now).holders() }
