package site

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/move"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// movePart moves the inventory.
func (s *Site) movePart() part {
	p := part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"source/move-ready":     s.moveReady,
			"source/flux-suspended": s.sourceSuspended,
			"target/inventory":      s.targetInventory,
			"target/unpaused":       s.targetUnpaused,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"suspend-source":  s.suspendSource,
			"move":            s.move,
			"unpause":         s.unpause,
			"move-fallback-*": s.applyFallback,
		},
		holds: map[string]func(context.Context, plan.Step) (string, error){
			"move-ready": s.moveHold,
		},
		diagnoses: map[string]func(context.Context, plan.Step, run.Voice){
			"move-ready": s.diagnoseMove,
		},
	}
	for _, m := range s.Settings.Environment.MoveFallbacks {
		p.facts[fallbackFact(m)] = s.fallback(m)
	}
	return p
}

func (s *Site) readiness(ctx context.Context) (move.Readiness, error) {
	c, err := s.source(ctx)
	if err != nil {
		return move.Readiness{}, err
	}
	return move.Ready(ctx, c, s.mgmtNamespace())
}

func (s *Site) moveReady(ctx context.Context, _ plan.Fact) plan.Presence {
	r, err := s.readiness(ctx)
	switch {
	case err != nil:
		return plan.Failed(err.Error())
	case !r.Ready():
		return plan.Absent(r.String())
	}
	return plan.Present()
}

func (s *Site) moveHold(ctx context.Context, _ plan.Step) (string, error) {
	r, err := s.readiness(ctx)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // a question that fails holds a wait up, and does not end it
	}
	return strings.Join(r.Waiting, "\n"), nil
}

func (s *Site) diagnoseMove(ctx context.Context, _ plan.Step, v run.Voice) {
	c, err := s.source(ctx)
	if err != nil {
		return
	}
	clusters, err := c.List(ctx, kube.CAPICluster, s.mgmtNamespace())
	if err != nil {
		return
	}
	for i := range clusters {
		if text, err := move.Tree(ctx, c, clusters[i].GetNamespace(), clusters[i].GetName()); err == nil {
			v.Print(text)
		}
	}
}

// sourceSuspended tells whether Flux on the kind cluster will not undo the move.
func (s *Site) sourceSuspended(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.source(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	list, err := c.List(ctx, kube.Kustomization, s.Settings.File.Bootstrap.FluxNamespace)
	if kube.Gone(err) {
		return plan.Present() // there is no Flux that could undo anything
	}
	if err != nil {
		return plan.Failed(err.Error())
	}
	for i := range list {
		if !isSuspended(&list[i]) {
			return plan.Absent("Kustomization " + kube.Name(&list[i]) + " is not suspended")
		}
	}
	return plan.Present()
}

// suspendSource suspends every Kustomization of the kind cluster. What is suspended
// stays so: the cluster is not used for anything else any more.
func (s *Site) suspendSource(ctx context.Context, _ plan.Step, _ run.Voice) error {
	c, err := s.source(ctx)
	if err != nil {
		return err
	}
	list, err := c.List(ctx, kube.Kustomization, s.Settings.File.Bootstrap.FluxNamespace)
	if kube.Gone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot list the Flux Kustomizations: %w", err)
	}
	for i := range list {
		if isSuspended(&list[i]) {
			continue
		}
		if err := c.Patch(ctx, kube.Kustomization, list[i].GetNamespace(), list[i].GetName(), []byte(suspended)); err != nil {
			return err
		}
	}
	return nil
}

func isSuspended(u *unstructured.Unstructured) bool {
	on, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend")
	return on
}

// recovery is what an operator must know when a move has failed.
const recovery = `The move did not finish. Nothing is lost:
- Run the same command again: it goes on where this one stopped, on whichever side that is.
- The kind cluster stays authoritative until everything has been verified on the management cluster; keep it.
- NEVER delete moved objects on the management cluster (Cluster, AWSManaged*, MachinePool, Dev*): that deletes what they stand for.`

func (s *Site) move(ctx context.Context, _ plan.Step, v run.Voice) error {
	source, err := s.source(ctx)
	if err != nil {
		return err
	}
	target, err := s.target(ctx)
	if err != nil {
		return err
	}
	if versions, err := move.Versions(ctx, source, target); err == nil {
		v.Print(versions)
	}
	result, err := move.Move(ctx, move.Options{
		Source: source, Target: target, Namespace: s.mgmtNamespace(), Say: v.Detail, Wrote: s.MoveWrote,
	})
	if err != nil {
		v.Trouble("%s", recovery)
		return fmt.Errorf("clusterctl move failed: %w", err)
	}
	v.Detail("moved %d objects", result.Objects)
	return s.showClusters(ctx, target, v)
}

// showClusters lists the Clusters after the move.
func (s *Site) showClusters(ctx context.Context, target *kube.Cluster, v run.Voice) error {
	list, err := target.List(ctx, kube.CAPICluster, s.mgmtNamespace())
	if err != nil {
		return fmt.Errorf("list the Clusters on the management cluster: %w", err)
	}
	v.Say("Clusters on the management cluster after the move:")
	for i := range list {
		v.Detail("%s", kube.Name(&list[i]))
	}
	return nil
}

// targetInventory tells whether the management cluster has the Cluster of itself.
// A copy that was never completed is not taken for it once there is no kind cluster
// that could complete it.
func (s *Site) targetInventory(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.target(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	mgmt := c.Lookup(ctx, kube.CAPICluster, s.mgmtNamespace(), s.Settings.Environment.MgmtCluster)
	if !mgmt.There() {
		return mgmt
	}
	partial, err := move.Partial(ctx, c, s.mgmtNamespace())
	if err != nil {
		return plan.Failed(err.Error())
	}
	if partial && s.kindCluster(ctx, "").Gone() {
		return plan.Failed("the management cluster has the copies of a move that was not completed, and the kind cluster they came from is gone: " +
			"something may be missing. Compare with what the clusters need; ConfigMap " + s.mgmtNamespace() + "/krops-moved says which move it was. Deleting that ConfigMap accepts the copies as they are")
	}
	return mgmt
}

// targetUnpaused tells whether no Cluster is paused but by its operator.
func (s *Site) targetUnpaused(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.target(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	left, err := move.Paused(ctx, c, s.mgmtNamespace())
	switch {
	case err != nil:
		return plan.Failed(err.Error())
	case len(left) > 0:
		return plan.Absent(strings.Join(left, ", ") + " is paused by a move")
	}
	return plan.Present()
}

func (s *Site) unpause(ctx context.Context, _ plan.Step, _ run.Voice) error {
	c, err := s.target(ctx)
	if err != nil {
		return err
	}
	return move.Unpause(ctx, c, s.mgmtNamespace())
}

func fallbackFact(m *config.MoveFallback) string { return "target/" + m.Resource + "/" + m.Name }

// fallback tells whether the object of a move-fallback is on the management cluster.
func (s *Site) fallback(m *config.MoveFallback) func(context.Context, plan.Fact) plan.Presence {
	return func(ctx context.Context, _ plan.Fact) plan.Presence {
		kind, err := s.fallbackKind(m)
		if err != nil {
			return plan.Failed(err.Error())
		}
		c, err := s.target(ctx)
		if err != nil {
			return plan.Failed(err.Error())
		}
		return c.Lookup(ctx, kind, s.mgmtNamespace(), m.Name)
	}
}

// fallbackKind is the kind of the object: the manifest has it.
func (s *Site) fallbackKind(m *config.MoveFallback) (schema.GroupKind, error) {
	path, text, err := s.file(m.Manifest)
	if err != nil {
		return schema.GroupKind{}, err
	}
	objects, err := kube.Decode(text)
	if err != nil {
		return schema.GroupKind{}, fmt.Errorf("%s: %w", path, err)
	}
	_, group, _ := strings.Cut(m.Resource, ".")
	for _, u := range objects {
		if u.GetName() == m.Name && u.GroupVersionKind().Group == group {
			return u.GroupVersionKind().GroupKind(), nil
		}
	}
	return schema.GroupKind{}, fmt.Errorf("%s has no %s named %s", path, m.Resource, m.Name)
}

func (s *Site) applyFallback(ctx context.Context, step plan.Step, _ run.Voice) error {
	for _, m := range s.Settings.Environment.MoveFallbacks {
		if len(step.Gives) == 0 || string(step.Gives[0]) != fallbackFact(m) {
			continue
		}
		path, text, err := s.file(m.Manifest)
		if err != nil {
			return err
		}
		objects, err := kube.Decode(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		c, err := s.target(ctx)
		if err != nil {
			return err
		}
		return c.Apply(ctx, objects...)
	}
	return fmt.Errorf("step %s is about no move-fallback", step.ID)
}
