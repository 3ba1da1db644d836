package cluster

import (
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// The words of [Object.Frozen].
const (
	Frozen              = "frozen"
	Unfrozen            = "unfrozen"
	FrozenMixed         = "mixed"
	FrozenNotApplicable = "n/a"
)

// The words of [Object.PlacementState].
const (
	PlacementOptimal       = "optimal"
	PlacementNonOptimal    = "non-optimal"
	PlacementNotApplicable = "n/a"
)

// The words of [Object.Topology].
const (
	TopologyFailover = "failover"
	TopologyFlex     = "flex"
)

// The words of [Object.Orchestrate].
const (
	OrchestrateNo    = "no"    // only when asked
	OrchestrateStart = "start" // started when the node boots
	OrchestrateHA    = "ha"    // kept up
)

// Aggregate returns what follows for the object p from its instances, by node.
// The map is kept, not copied; UpdatedAt is left to the caller.
func Aggregate(p object.Path, instances map[string]Instance) Object {
	o := Object{Frozen: FrozenNotApplicable, PlacementState: PlacementNotApplicable, Instances: instances}
	nodes := make([]string, 0, len(instances))
	for node := range instances {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)

	var config *InstanceConfig
	var avail, overall []Status
	for _, node := range nodes {
		i := instances[node]
		if i.Config != nil && (config == nil || i.Config.UpdatedAt.After(config.UpdatedAt)) {
			config = i.Config
		}
		if i.Status == nil {
			continue
		}
		avail = append(avail, i.Status.Avail)
		overall = append(overall, i.Status.Overall)
		o.Provisioned = MergeProvisioned(o.Provisioned, i.Status.Provisioned)
		if i.Status.Avail == Up {
			o.UpInstancesCount++
		}
	}
	if config != nil {
		o.Orchestrate, o.Topology, o.PlacementPolicy = config.Orchestrate, config.Topology, config.PlacementPolicy
		o.Priority, o.Scope = config.Priority, config.Scope
		if config.Topology == TopologyFlex {
			o.Flex = config.Flex
		}
	}
	if len(nodes) > 0 && len(avail) == 0 {
		return o // not evaluated yet: undef
	}
	o.Avail, o.Overall = spread(avail, o.Flex, len(o.Scope)), spread(overall, o.Flex, len(o.Scope))
	if p.Kind.Runs() {
		o.Frozen = frozen(instances)
	}
	if p.Kind == object.KindSvc && o.Avail == Up {
		o.PlacementState = placement(instances)
	}
	return o
}

// spread is the status of an object whose instances have the given ones.
func spread(all []Status, flex *Flex, scope int) Status {
	up, known := 0, false
	for _, s := range all {
		switch s.Plain() {
		case Undef, NotApplicable:
			continue
		case Warn:
			return Warn
		case Up:
			up++
		case Down, StandbyUp, StandbyDown, StandbyUpWithUp, StandbyUpWithDown:
		}
		known = true
	}
	limits := Flex{Min: 1, Max: 1}
	if flex != nil {
		limits = *flex
		if limits.Max == 0 {
			limits.Max = scope
		}
	}
	switch {
	case !known:
		return NotApplicable
	case up == 0:
		return Down
	case up < limits.Min || up > limits.Max:
		return Warn
	default:
		return Up
	}
}

func frozen(instances map[string]Instance) string {
	yes, no := 0, 0
	for _, i := range instances {
		switch {
		case i.Status == nil:
		case i.Status.FrozenAt.IsZero():
			no++
		default:
			yes++
		}
	}
	switch {
	case yes > 0 && no > 0:
		return FrozenMixed
	case yes > 0:
		return Frozen
	case no > 0:
		return Unfrozen
	default:
		return FrozenNotApplicable
	}
}

// placement compares where an object that is up runs with where it should.
func placement(instances map[string]Instance) string {
	state := PlacementNotApplicable
	for _, i := range instances {
		if i.Monitor == nil || i.Status == nil {
			continue
		}
		up := i.Status.Avail == Up
		if i.Monitor.IsHALeader && !up && i.Status.Avail != NotApplicable || !i.Monitor.IsHALeader && up {
			return PlacementNonOptimal
		}
		state = PlacementOptimal
	}
	return state
}
