package store

import (
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// AlertQuorum is the kind of the alerts on layouts of the quorum that cannot tell
// which part of a split cluster survives.
const AlertQuorum = "quorum"

// validateQuorum looks for a layout of the quorum that cannot decide.
func (s *Store) validateQuorum(p object.Path, ev *config.Evaluator) []keyword.Alert {
	if p != object.Cluster() {
		return nil
	}
	c, t := &schema.ClusterSettings{}, &keyword.Table{}
	c.Keywords(t)
	if err := keyword.Decode(ev, "cluster", t, keyword.Context{}); err != nil || !c.Quorum {
		return nil // the schema reports what is wrong
	}
	var arbitrators []orchestrate.Arbitrator
	for _, section := range ev.Doc.Sections() {
		name, ok := strings.CutPrefix(section, "arbitrator#")
		if !ok {
			continue
		}
		a, t := &schema.ArbitratorSettings{}, &keyword.Table{}
		a.Keywords(t)
		if err := keyword.Decode(ev, section, t, keyword.Context{}); err != nil {
			return nil
		}
		arbitrators = append(arbitrators, orchestrate.Arbitrator{Name: name, Weight: a.Weight, Exclusive: a.Exclusive})
	}
	why := orchestrate.Undecided(len(c.Nodes), arbitrators)
	if why == "" {
		return nil
	}
	return []keyword.Alert{{
		Level: keyword.LevelWarning, Kind: AlertQuorum, Section: "cluster", Option: "quorum", Comment: "cluster.quorum: " + why,
	}}
}
