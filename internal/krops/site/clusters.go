package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// clusterPart lists the Clusters on the controller host, and deletes them.
func (s *Site) clusterPart() part {
	return part{
		views: map[string]func(context.Context, plan.World) plan.World{
			"clusters/*": s.clustersView,
			"cluster/*":  s.clustersView,
		},
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"deleting/*": s.deleting,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"list-clusters":     s.listClusters,
			"delete-cluster-*":  s.deleteCluster,
			"delete-management": s.deleteCluster,
			"delete-clusters":   s.deleteClusters,
		},
		holds: map[string]func(context.Context, plan.Step) (string, error){
			"wait-clusters":   s.clustersLeft,
			"wait-cluster-*":  s.clustersLeft,
			"wait-management": s.clustersLeft,
		},
		diagnoses: map[string]func(context.Context, plan.Step, run.Voice){
			"wait-clusters":   s.diagnoseClusters,
			"wait-cluster-*":  s.diagnoseClusters,
			"wait-management": s.diagnoseClusters,
		},
	}
}

func (s *Site) clustersView(ctx context.Context, w plan.World) plan.World {
	w.Clusters = s.listing(ctx)
	return w
}

func (s *Site) listing(ctx context.Context) plan.Listing {
	c, err := s.controller(ctx)
	if err != nil {
		return plan.Unlisted(err.Error())
	}
	return c.Listing(ctx, kube.CAPICluster, "", nil)
}

// listClusters fails when the listing does: the plan has it from the observation.
func (s *Site) listClusters(ctx context.Context, _ plan.Step, _ run.Voice) error {
	if why, bad := s.listing(ctx).Known().Failed(); bad {
		return errors.New(why)
	}
	return nil
}

// deleting tells whether the deletion of a Cluster was asked for.
func (s *Site) deleting(ctx context.Context, f plan.Fact) plan.Presence {
	c, err := s.controller(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	namespace, name, _ := strings.Cut(strings.TrimPrefix(string(f), "deleting/"), "/")
	u, err := c.Get(ctx, kube.CAPICluster, namespace, name)
	switch {
	case err != nil:
		return plan.Lookup(kube.Classify(err, false))
	case u.GetDeletionTimestamp() == nil:
		return plan.Absent("it has no deletion time")
	}
	return plan.Present()
}

// deleteCluster asks for the deletion of the Cluster a step needs.
func (s *Site) deleteCluster(ctx context.Context, step plan.Step, _ run.Voice) error {
	c, err := s.controller(ctx)
	if err != nil {
		return err
	}
	for _, f := range step.Needs {
		if full, ok := strings.CutPrefix(string(f), "cluster/"); ok {
			namespace, name, _ := strings.Cut(full, "/")
			return c.Delete(ctx, kube.CAPICluster, namespace, name)
		}
	}
	return fmt.Errorf("step %s does not say which Cluster it is about", step.ID)
}

// deleteClusters asks for the deletion of all Clusters a step is about.
func (s *Site) deleteClusters(ctx context.Context, step plan.Step, v run.Voice) error {
	left, err := s.left(ctx, step.Takes)
	if err != nil {
		return err
	}
	c, err := s.controller(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, u := range left {
		v.Detail("Deleting Cluster %s...", kube.Name(&u))
		failed = append(failed, c.Delete(ctx, kube.CAPICluster, u.GetNamespace(), u.GetName()))
	}
	return errors.Join(failed...)
}

// left lists the Clusters that facts are about.
func (s *Site) left(ctx context.Context, facts []plan.Fact) ([]unstructured.Unstructured, error) {
	c, err := s.controller(ctx)
	if err != nil {
		return nil, err
	}
	all, err := c.List(ctx, kube.CAPICluster, "")
	if noKind(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(u unstructured.Unstructured) bool {
		w := plan.World{Clusters: plan.Listed(kube.Name(&u))}
		return !slices.ContainsFunc(facts, func(f plan.Fact) bool { return w.Of(f).There() })
	}), nil
}

// clustersLeft tells how many Clusters are left and what holds each of them up.
func (s *Site) clustersLeft(ctx context.Context, step plan.Step) (string, error) {
	// Whether a failure ends the wait, the next look tells.
	left, _ := s.left(ctx, step.Takes)
	if len(left) == 0 {
		return "", nil
	}
	lines := []string{fmt.Sprintf("%d cluster(s) still deleting...", len(left))}
	for i := range left {
		lines = append(lines, kube.Name(&left[i])+": "+holdup(&left[i]))
	}
	return strings.Join(lines, "\n"), nil
}

// holdup says in a few words why an object is still there.
func holdup(u *unstructured.Unstructured) string {
	var parts []string
	if u.GetDeletionTimestamp() == nil {
		parts = append(parts, "its deletion is not asked for yet")
	}
	if on, _, _ := unstructured.NestedBool(u.Object, "spec", "paused"); on {
		parts = append(parts, "it is paused, so its controllers leave it alone (set spec.paused to false)")
	}
	if list := u.GetFinalizers(); len(list) > 0 {
		parts = append(parts, "waiting for finalizer "+strings.Join(list, ", "))
	}
	if text := lastWord(u); text != "" {
		parts = append(parts, text)
	}
	return cmp.Or(strings.Join(parts, "; "), "no reason is given")
}

// lastWord is what the condition says that speaks of the deletion, else the one that
// went wrong last.
func lastWord(u *unstructured.Unstructured) string {
	// What is False of these is no trouble.
	calm := []string{"Paused", "Deleting", "Remediating", "RollingOut", "ScalingUp", "ScalingDown"}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	last, text := "", ""
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		name, _ := c["type"].(string)
		status, _ := c["status"].(string)
		reason, _ := c["reason"].(string)
		message, _ := c["message"].(string)
		since, _ := c["lastTransitionTime"].(string)
		words := strings.Join(strings.Fields(cmp.Or(message, reason)), " ")
		switch {
		case words == "":
		case name == "Deleting" && status == "True":
			return words
		case status == "False" && slices.Contains(calm, name):
		case status != "True" && since >= last: // times of one format
			last, text = since, name+": "+words
		}
	}
	return text
}

// diagnoseClusters shows what is left when the time is up.
func (s *Site) diagnoseClusters(ctx context.Context, step plan.Step, v run.Voice) {
	left, err := s.left(ctx, step.Takes)
	if err != nil {
		v.Warn("the Clusters that are left cannot be listed: %v", err)
	}
	for i := range left {
		v.Warn("Cluster %s: %s", kube.Name(&left[i]), holdup(&left[i]))
	}
	if step.BestEffort {
		v.Warn("FORCE_KIND_DELETE=1: going on although what these Clusters made may be left behind")
		return
	}
	v.Warn("ABORTING teardown. The management cluster and its controllers have been left intact, so that they can go on")
	v.Warn("removing what they made. Run the teardown again once 'kubectl get clusters -A' is empty;")
	v.Warn("FORCE_KIND_DELETE=1 removes the controller host all the same and leaves the rest to you.")
}
