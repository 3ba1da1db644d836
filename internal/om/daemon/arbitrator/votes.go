package arbitrator

import (
	"errors"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// mostClusters bounds the clusters that have a vote of this daemon at a time.
const mostClusters = 1000

// Votes gives the exclusive votes of this daemon. They are in memory: a daemon
// that starts again knows of none, and gives its vote to the first that asks.
type Votes struct {
	mu     sync.Mutex
	leases map[voter]orchestrate.Lease
}

// voter is a cluster, as the user that it asks as knows it: users do not see, nor
// disturb, the clusters of each other.
type voter struct{ user, cluster string }

// NewVotes returns votes that nobody has.
func NewVotes() *Votes { return &Votes{leases: map[voter]orchestrate.Lease{}} }

// Claim gives the vote to a node of a cluster, or refuses it.
func (v *Votes) Claim(user, cluster string, c orchestrate.Claim, now time.Time) (orchestrate.Grant, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	of := voter{user, cluster}
	if _, known := v.leases[of]; !known && len(v.leases) >= mostClusters {
		v.forget(now)
		if len(v.leases) >= mostClusters {
			return orchestrate.Grant{}, errors.New("this arbitrator has given its vote to too many clusters: ask again later")
		}
	}
	lease, grant := v.leases[of].Claim(now, c)
	v.leases[of] = lease
	return grant, nil
}

// Release takes the vote back from a cluster that is whole again.
func (v *Votes) Release(user, cluster, node string, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	of := voter{user, cluster}
	if lease := v.leases[of].Release(now, node); lease.Free(now) {
		delete(v.leases, of)
	} else {
		v.leases[of] = lease
	}
}

// Holders are the nodes of a cluster that have the vote.
func (v *Votes) Holders(user, cluster string, now time.Time) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.leases[voter{user, cluster}].Holders(now)
}

// forget drops the leases that have run out.
func (v *Votes) forget(now time.Time) {
	for of, lease := range v.leases {
		if lease.Free(now) {
			delete(v.leases, of)
		}
	}
}
