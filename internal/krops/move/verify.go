package move

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

// verify proves that the target has everything, and that the source did not
// change while it was copied. g is the source as it was before.
func (m *mover) verify(ctx context.Context, g *graph, items []item, copied map[key]bool) error {
	if len(items) == 0 {
		return errors.New("nothing was listed to be moved")
	}
	for _, i := range items {
		if !copied[i.key] {
			return fmt.Errorf("clusterctl did not copy %s", i.key)
		}
	}
	now, err := m.source.discover(ctx, m.Namespace)
	if err != nil {
		return err
	}
	if err := unchanged(g, now); err != nil {
		return err
	}
	there, err := m.target.present(ctx, g)
	if err != nil {
		return err
	}
	prior := map[key]bool{}
	for _, i := range items {
		prior[i.key] = i.prior
	}
	for _, n := range g.moved() {
		e, ok := there[n.key]
		if !ok {
			return fmt.Errorf("the target cluster does not have %s", n.key)
		}
		if n.keep && prior[n.key] {
			continue // it was there before, and was left alone
		}
		for _, uid := range n.owners {
			if o := g.byUID[uid]; !slices.Contains(e.owners, there[o.key].uid) {
				return fmt.Errorf("%s of the target cluster is not owned by %s", n.key, o.key)
			}
		}
	}
	return m.verifyContents(ctx, g, prior)
}

// unchanged tells whether two graphs of the source are copied alike.
func unchanged(before, after *graph) error {
	if !same(before, after) {
		return errors.New("objects came or went in the source cluster while it was copied: something acts on it")
	}
	for _, n := range before.moved() {
		if o := after.byUID[n.uid]; o == nil || o.fingerprint() != n.fingerprint() {
			return fmt.Errorf("%s changed in the source cluster while it was copied: something acts on it", n.key)
		}
	}
	return nil
}

// verifyContents compares what must be the same to the last byte, keys and
// certificates, and makes sure that nothing acts on the copies yet.
func (m *mover) verifyContents(ctx context.Context, g *graph, prior map[key]bool) error {
	for _, n := range g.moved() {
		isolated := n.Group == ""
		pauses := (n.GroupKind == kube.CAPICluster || n.GroupKind == kube.CAPIClusterClass) && !n.keep
		if !isolated && !pauses || n.keep && prior[n.key] {
			continue
		}
		u, err := m.target.get(ctx, n.kind.gvr(), n.namespace, n.name)
		if err != nil {
			return fmt.Errorf("get %s of the target cluster: %w", n.key, err)
		}
		switch {
		case u == nil:
			return fmt.Errorf("the target cluster does not have %s", n.key)
		case isolated && content(u) != content(n.object):
			return fmt.Errorf("%s of the target cluster has another content", n.key)
		case pauses && !paused(u):
			return fmt.Errorf("%s of the target cluster runs already: something resumed it", n.key)
		}
	}
	return nil
}

// content is the same for two Secrets or ConfigMaps with the same data.
func content(u *unstructured.Unstructured) [sha256.Size]byte {
	text, err := json.Marshal([]any{u.Object["data"], u.Object["binaryData"], u.Object["type"]})
	if err != nil {
		return [sha256.Size]byte{} // of what was JSON: cannot be
	}
	return sha256.Sum256(text)
}

// guard makes sure that the target still has everything, before the source loses it.
func (m *mover) guard(ctx context.Context, j *journal) error {
	g := &graph{}
	for _, i := range j.items {
		g.nodes = append(g.nodes, &node{key: i.key, kind: i.kind, taken: true, level: i.level})
	}
	there, err := m.target.present(ctx, g)
	if err != nil {
		return err
	}
	for _, i := range j.items {
		if _, ok := there[i.key]; !ok {
			return fmt.Errorf("the target cluster had %s and does not have it any more: nothing more is removed from the source cluster", i.key)
		}
	}
	return nil
}
