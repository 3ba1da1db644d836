package move

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

// Inventory is what a cluster has of a namespace that a move would take.
type Inventory struct {
	Clusters []string // namespace/name
	Others   int      // objects that are no Clusters
	// Unfinished tells that a move from this cluster was begun and is not over;
	// Partial that this cluster has copies of one that may lack something.
	Unfinished, Partial bool
}

// Empty tells whether there is nothing.
func (i Inventory) Empty() bool { return len(i.Clusters) == 0 && i.Others == 0 }

// Look lists what a move would take from a cluster. An error tells nothing of
// what is there.
func Look(ctx context.Context, c Cluster, namespace string) (Inventory, error) {
	s, err := open("asked", c, queryPatience)
	if err != nil {
		return Inventory{}, err
	}
	j, err := s.journal(ctx, namespace)
	if err != nil {
		return Inventory{}, err
	}
	record, err := s.record(ctx, namespace)
	if err != nil {
		return Inventory{}, err
	}
	g, err := s.discover(ctx, namespace)
	if err != nil {
		return Inventory{}, err
	}
	i := Inventory{
		Unfinished: j != nil && (j.phase == pausing || j.phase == copying || j.phase == removing),
		Partial:    record != nil && record.phase == copying,
	}
	found := map[key]bool{}
	for _, n := range g.nodes {
		if !n.taken || n.keep {
			continue
		}
		found[n.key] = true
		if n.GroupKind == kube.CAPICluster {
			i.Clusters = append(i.Clusters, n.namespace+"/"+n.name)
		} else {
			i.Others++
		}
	}
	if j != nil && j.phase == removing {
		// With its owners gone an object is not found any more, but may be there.
		left, err := s.left(ctx, j)
		if err != nil {
			return Inventory{}, err
		}
		for _, k := range left {
			if !found[k] {
				i.Others++
			}
		}
	}
	return i, nil
}

// left lists the items a move has still to remove.
func (s *side) left(ctx context.Context, j *journal) ([]key, error) {
	g := &graph{}
	for _, i := range j.items {
		if !i.keep {
			g.nodes = append(g.nodes, &node{key: i.key, kind: i.kind, taken: true, level: i.level})
		}
	}
	there, err := s.present(ctx, g)
	if err != nil {
		return nil, err
	}
	var list []key
	for _, i := range j.items {
		if e, ok := there[i.key]; ok && !i.keep && e.uid == i.uid {
			list = append(list, i.key)
		}
	}
	return list, nil
}

// Release lifts the pauses that a move has left at its source, if it had not come
// to the point of no return: its controllers can work again until the next try. It
// returns whether there was anything to lift.
func Release(ctx context.Context, source Cluster, namespace string) (bool, error) {
	s, err := open("source", source, patience)
	if err != nil {
		return false, err
	}
	j, err := s.journal(ctx, namespace)
	if err != nil || j == nil || j.phase != pausing && j.phase != copying {
		return false, err
	}
	return true, s.release(ctx, namespace)
}

// Paused lists what moves have paused in a namespace. What an operator paused is
// not of them.
func Paused(ctx context.Context, c Cluster, namespace string) ([]string, error) {
	s, err := open("asked", c, queryPatience)
	if err != nil {
		return nil, err
	}
	marked, err := s.marked(ctx, namespace)
	var list []string
	for _, m := range marked {
		list = append(list, m.key.String())
	}
	return list, err
}

// Unpause resumes what a move that is complete has left paused at the target. A
// pause of an operator stays.
func Unpause(ctx context.Context, target Cluster, namespace string) error {
	s, err := open("target", target, patience)
	if err != nil {
		return err
	}
	record, err := s.record(ctx, namespace)
	if err != nil {
		return err
	}
	if record == nil {
		return s.resume(ctx, namespace)
	}
	if record.phase == copying {
		return errPartial
	}
	if err := s.unpause(ctx, namespace, record); err != nil {
		return fmt.Errorf("resume the Clusters of the target cluster: %w", err)
	}
	return nil
}

var errPartial = errors.New("the target cluster has copies of a move that is not complete; they stay paused until the same command, run again, has finished it")

// Partial tells whether a cluster has copies of a move that may lack something.
func Partial(ctx context.Context, target Cluster, namespace string) (bool, error) {
	s, err := open("target", target, queryPatience)
	if err != nil {
		return false, err
	}
	record, err := s.record(ctx, namespace)
	return record != nil && record.phase == copying, err
}

// Left tells whether the inventory of a namespace has left a cluster: a move from
// it is past the point of no return, so its controllers are no longer the ones
// that answer for the Clusters.
func Left(ctx context.Context, source Cluster, namespace string) (bool, error) {
	s, err := open("source", source, queryPatience)
	if err != nil {
		return false, err
	}
	j, err := s.journal(ctx, namespace)
	return j != nil && j.committed(), err
}
