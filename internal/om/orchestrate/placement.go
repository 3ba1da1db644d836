package orchestrate

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Placement policies.
const (
	PolicyNone       = "none"
	PolicyNodesOrder = "nodes order"
	PolicyLastStart  = "last start"
	PolicyLoadAvg    = "load avg"
	PolicyShift      = "shift"
	PolicySpread     = "spread"
	PolicyScore      = "score"
)

func (d *decider) leads() bool { return slices.Contains(d.leaders(false), d.Self) }

func (d *decider) leadsHA() bool { return slices.Contains(d.leaders(true), d.Self) }

// leaders are the nodes to run the object: the first of the candidates, as many
// as the topology wants. The ha leaders are those the daemon may choose of itself.
func (d *decider) leaders(ha bool) []string {
	candidates := d.ranked(ha)
	return candidates[:min(d.wanted(), len(candidates))]
}

// wanted is how many instances are to run.
func (d *decider) wanted() int {
	if d.Config.Topology == cluster.TopologyFlex && d.Config.Flex != nil {
		return d.Config.Flex.Target
	}
	return 1
}

// ranked are the nodes that may run the object, the best first: by the affinities
// that are wished, then by the placement policy.
func (d *decider) ranked(ha bool) []string {
	candidates := d.candidates(ha)
	Rank(d.Path, d.Config.PlacementPolicy, candidates, d.Nodes)
	slices.SortStableFunc(candidates, func(a, b string) int {
		return cmp.Or(compareBool(d.Nodes[a].Drp, d.Nodes[b].Drp), cmp.Compare(d.unmet(a), d.unmet(b)),
			compareBool(d.Nodes[a].Overloaded, d.Nodes[b].Overloaded))
	})
	return candidates
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// candidates are the nodes that may run the object, in the order of the scope.
func (d *decider) candidates(ha bool) []string {
	var fit, frozen []string
	for _, name := range d.scope() {
		switch id, _ := d.unfit(name, ha); id {
		case "":
			fit = append(fit, name)
		case "node-frozen":
			frozen = append(frozen, name)
		}
	}
	if len(fit) == 0 && !ha {
		return frozen // asked by hand, and no other node can: better there than nowhere
	}
	return fit
}

func (d *decider) scope() []string {
	if len(d.Config.Scope) == 0 {
		return sortedKeys(d.Nodes)
	}
	return d.Config.Scope
}

// unfit says why a node may not run the object, the id empty when it may.
func (d *decider) unfit(name string, ha bool) (id, why string) {
	n, ok := d.Nodes[name]
	other := len(d.Nodes) > 1
	switch {
	case !ok:
		return "no-node", "it is not known"
	case other && name != d.Self && !n.heard():
		return "not-heard", "it is not heard"
	case n.Status == nil && d.asking: // it may not be known yet: the object was just made
		return "", ""
	case n.Status == nil:
		return "no-status", "the status of its instance is not known"
	case n.avail() == cluster.NotApplicable && (ha || !n.blind()):
		return "nothing", "its instance has nothing that tells that it runs"
	case n.Monitor != nil && n.Monitor.State == StateStartFailed:
		return "failed", "a start failed there"
	case (ha || other) && unrankable(n.State):
		return "node-busy", "the node is " + cmp.Or(n.State, StateInit)
	case ha && n.Drp:
		return "drp-node", "it is a node for disasters (drpnodes)"
	case ha && n.Overloaded:
		return "node-overloaded", "the node is overloaded"
	case ha && n.Frozen:
		return "node-frozen", "the node is frozen"
	case ha && n.frozen():
		return "frozen", "its instance is frozen"
	case ha && n.held():
		return "stopped-on-purpose", "its instance was stopped on purpose"
	case ha && (n.provisioned() == cluster.ProvisionedFalse || n.provisioned() == cluster.ProvisionedMixed):
		return "not-provisioned", "its instance is not provisioned"
	}
	if why := d.hardUnmet(name); why != "" {
		return "affinity", why
	}
	if n.Frozen {
		return "node-frozen", "the node is frozen"
	}
	return "", ""
}

// hardUnmet says which company a node has to have, or not to have, and has not.
func (d *decider) hardUnmet(name string) string {
	if force, _ := d.d.Monitor.GlobalExpectOptions["force"].(bool); force {
		return ""
	}
	for _, a := range d.Affinities {
		switch {
		case a.Hard && a.Anti && a.Up[name]:
			return a.Object + " runs there (hard_anti_affinity)"
		case a.Hard && !a.Anti && !a.Up[name]:
			return a.Object + " does not run there (hard_affinity)"
		}
	}
	return ""
}

// unmet counts the wishes about company that a node does not grant.
func (d *decider) unmet(name string) int {
	n := 0
	for _, a := range d.Affinities {
		if !a.Hard && a.Up[name] == a.Anti {
			n++
		}
	}
	return n
}

func unrankable(nodeState string) bool {
	switch nodeState {
	case "", StateInit, "rejoin", "maintenance", "upgrade", "shutdown", "shutdown failed", "shutting", "draining", "drain failed", "drained":
		return true
	}
	return false
}

// Rank sorts the names of nodes by a placement policy, the best first. What a
// policy does not tell apart stays in the given order.
func Rank(p object.Path, policy string, names []string, nodes map[string]Node) {
	by := func(compare func(a, b string) int) { slices.SortStableFunc(names, compare) }
	switch policy {
	case PolicyLastStart:
		by(func(a, b string) int { return lastStart(nodes[b]).Compare(lastStart(nodes[a])) })
	case PolicyLoadAvg:
		by(func(a, b string) int { return cmp.Compare(nodes[a].Load15M, nodes[b].Load15M) })
	case PolicyScore:
		by(func(a, b string) int { return cmp.Compare(nodes[b].Score, nodes[a].Score) })
	case PolicySpread:
		by(func(a, b string) int { return cmp.Or(cmp.Compare(spread(p, a), spread(p, b)), cmp.Compare(a, b)) })
	case PolicyShift:
		if n := len(names); n > 0 {
			k := slice(p) % n
			copy(names, slices.Concat(names[k:], names[:k]))
		}
	}
}

// spread places a node on the circle of an object: each object has another one.
func spread(p object.Path, node string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.FQN() + "\x00" + node)) // never fails
	x := h.Sum64()
	x ^= x >> 33 // short names only reach the low bits
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// slice is the number of the slice a scaler gave the object: 3 for 3.web.
func slice(p object.Path) int {
	digits, _, _ := strings.Cut(p.Name, ".")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func lastStart(n Node) (t time.Time) {
	if n.Status != nil {
		t = n.Status.LastStartedAt
	}
	return t
}
