package orchestrate

// Undecided says why a layout of the quorum cannot tell which part of a split
// cluster survives, when it cannot; empty when it can, or when there is no reason
// to ask: a single node.
func Undecided(nodes int, arbitrators []Arbitrator) string {
	if nodes < 2 {
		return ""
	}
	plain, exclusive := 0, 0
	for _, a := range arbitrators {
		if a.Exclusive {
			exclusive += a.Weight
		} else {
			plain += a.Weight
		}
	}
	smaller := nodes / 2
	switch {
	case nodes%2 == 0 && plain+exclusive == 0:
		return "the cluster has an even number of nodes and no arbitrator: when it is split in two halves, none survives"
	case 2*smaller+plain > nodes+exclusive:
		return "when the cluster is split, and both parts reach the arbitrators, both have more than half of the votes and survive: " +
			"let the arbitrators be daemons, with exclusive = true, so that one part gets their votes"
	}
	return ""
}
