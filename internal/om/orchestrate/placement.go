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
	candidates := d.candidates(ha)
	Rank(d.Path, d.Config.PlacementPolicy, candidates, d.Nodes)
	wanted := 1
	if d.Config.Topology == cluster.TopologyFlex && d.Config.Flex != nil {
		wanted = d.Config.Flex.Target
	}
	return candidates[:min(wanted, len(candidates))]
}

// candidates are the nodes that may run the object, in the order of the scope.
func (d *decider) candidates(ha bool) []string {
	scope := d.Config.Scope
	if len(scope) == 0 {
		scope = sortedKeys(d.Nodes)
	}
	var fit, frozen []string
	for _, name := range scope {
		n, ok := d.Nodes[name]
		switch {
		case !ok || n.Status == nil:
		case n.avail() == cluster.NotApplicable && (ha || !n.blind()):
		case n.Monitor != nil && n.Monitor.State == StateStartFailed:
		case ha && (n.frozen() || n.held() || unrankable(n.State)):
		case ha && (n.provisioned() == cluster.ProvisionedFalse || n.provisioned() == cluster.ProvisionedMixed):
		case n.Frozen:
			frozen = append(frozen, name)
		default:
			fit = append(fit, name)
		}
	}
	if len(fit) == 0 {
		return frozen // asked by hand, and no other node can: better there than nowhere
	}
	return fit
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
