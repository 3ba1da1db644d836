package site

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/helm"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

const (
	fluxPods      = "app.kubernetes.io/part-of=flux"
	fluxName      = "flux"        // of the release and of the FluxInstance
	fluxSync      = "flux-system" // the Kustomization everything begins with
	versionOfFlux = "flux-operator"
)

// fluxPart installs Flux on the kind cluster and on the management cluster.
func (s *Site) fluxPart() part {
	p := part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{}, steps: map[string]func(context.Context, plan.Step, run.Voice) error{},
		holds: map[string]func(context.Context, plan.Step) (string, error){}, diagnoses: map[string]func(context.Context, plan.Step, run.Voice){},
	}
	for _, side := range s.sides() {
		f := &flux{site: s, on: side.cluster, patience: &patience{now: s.now}}
		p.facts[side.fact+"flux-operator"] = f.released(s.fluxOperator)
		p.facts[side.fact+"flux-instance"] = f.released(s.fluxInstance)
		p.facts[side.fact+"flux-ready"] = f.ready
		p.facts[side.fact+"flux-controllers"] = f.controllers
		p.steps[side.step+"flux-operator"] = f.release(s.fluxOperator)
		p.steps[side.step+"flux-instance"] = f.release(s.fluxInstance)
		p.holds[side.step+"flux-instance-ready"] = f.instanceHold
		p.holds[side.step+"flux-controllers"] = f.controllersHold
		p.diagnoses[side.step+"flux-instance-ready"] = f.diagnoseInstance
		p.diagnoses[side.step+"flux-controllers"] = f.diagnoseControllers
	}
	return p
}

// fluxOperator is the release of the operator.
func (s *Site) fluxOperator() (helm.Release, error) {
	version, err := s.Settings.File.Chart(versionOfFlux)
	return helm.Release{
		Name: "flux-operator", Namespace: s.fluxNamespace(), Chart: s.Settings.File.ChartSources.Flux + "/flux-operator", Version: version, Wait: helm.Watcher,
		Loose: true,
	}, err
}

// fluxInstance is the release of what the operator installs: Flux itself, and where
// it reads from. A watcher would take what the FluxInstance goes through for a
// failure.
func (s *Site) fluxInstance() (helm.Release, error) {
	version, err := s.Settings.File.Chart(versionOfFlux)
	instance := map[string]any{
		"cluster": map[string]any{"type": "kubernetes", "size": "small", "multitenant": false, "networkPolicy": true, "domain": "cluster.local"},
		"sync":    s.fluxSource(),
	}
	if s.Settings.Environment.Sync == config.SyncOCI {
		instance["kustomize"] = map[string]any{"patches": []any{map[string]any{
			"target": map[string]any{"kind": "OCIRepository"},
			"patch":  "- op: add\n  path: /spec/insecure\n  value: true\n",
		}}}
	}
	return helm.Release{
		Name: fluxName, Namespace: s.fluxNamespace(), Chart: s.Settings.File.ChartSources.Flux + "/flux-instance", Version: version,
		Values: map[string]any{"instance": instance}, Wait: helm.Legacy,
	}, err
}

// fluxSource is where Flux reads from.
func (s *Site) fluxSource() map[string]any {
	shared, e := s.Settings.File.Bootstrap, s.Settings.Environment
	if e.Sync == config.SyncOCI {
		return map[string]any{
			"kind": "OCIRepository", "url": fmt.Sprintf("oci://%s:5000/%s", s.Settings.RegistryName, s.Settings.OCIRepository),
			"ref": s.Settings.OCITag, "path": e.SyncPath,
		}
	}
	return map[string]any{
		"kind": "GitRepository", "url": s.Settings.GitRepoURL, "ref": "refs/heads/" + shared.GitBranch, "path": e.SyncPath, "pullSecret": shared.GithubPATSecret,
	}
}

// flux is Flux on one of the clusters.
type flux struct {
	site     *Site
	on       func(context.Context) (*kube.Cluster, error)
	patience *patience
}

func (f *flux) released(wanted func() (helm.Release, error)) func(context.Context, plan.Fact) plan.Presence {
	return func(ctx context.Context, _ plan.Fact) plan.Presence {
		r, err := wanted()
		if err != nil {
			return plan.Failed(err.Error())
		}
		c, err := f.on(ctx)
		if err != nil {
			return plan.Failed(err.Error())
		}
		return helm.Deployed(ctx, c, r)
	}
}

func (f *flux) release(wanted func() (helm.Release, error)) func(context.Context, plan.Step, run.Voice) error {
	return func(ctx context.Context, _ plan.Step, v run.Voice) error {
		r, err := wanted()
		if err != nil {
			return err
		}
		c, err := f.on(ctx)
		if err != nil {
			return err
		}
		return helm.Ensure(ctx, c, r, func(text string) { v.Detail("%s", text) })
	}
}

func (f *flux) ready(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := f.on(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	u, err := c.Get(ctx, kube.FluxInstance, f.site.fluxNamespace(), fluxName)
	if err != nil {
		return there(err)
	}
	return readiness(u)
}

// readiness is what an object says of itself.
func readiness(u *unstructured.Unstructured) plan.Presence {
	if status, reason, message, _ := kube.Condition(u, "Ready"); status != "True" {
		return plan.Absent(strings.TrimSpace("it is not Ready: " + cmp.Or(reason, "nothing is said of it") + " " + message))
	}
	return plan.Present()
}

func (f *flux) controllers(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := f.on(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	return podsReady(ctx, c, f.site.fluxNamespace())
}

func podsReady(ctx context.Context, c *kube.Cluster, namespace string) plan.Presence {
	state, err := kube.PodsReady(ctx, c, namespace, fluxPods)
	switch {
	case err != nil:
		return plan.Failed(err.Error())
	case !state.Ready():
		return plan.Absent("pods of Flux: " + state.String())
	}
	return plan.Present()
}

// instanceHold tells what the operator says of Flux, and which of what Flux begins
// with fails.
func (f *flux) instanceHold(ctx context.Context, _ plan.Step) (string, error) {
	c, err := f.on(ctx)
	if err != nil {
		return waiting(err)
	}
	seen := &trouble{}
	u, err := c.Get(ctx, kube.FluxInstance, f.site.fluxNamespace(), fluxName)
	if err != nil {
		return waiting(err)
	}
	seen.look(u)
	seen.from(ctx, c, f.site.fluxNamespace(), fluxSync)
	return seen.why(), f.patience.with(seen)
}

// waiting is what holds a wait up that cannot look: the next look may succeed.
func waiting(err error) (why string, hopeless error) { return err.Error(), nil }

func (f *flux) controllersHold(ctx context.Context, _ plan.Step) (string, error) {
	c, err := f.on(ctx)
	if err != nil {
		return waiting(err)
	}
	return podsHold(ctx, c, f.site.fluxNamespace()), nil
}

func podsHold(ctx context.Context, c *kube.Cluster, namespace string) string {
	state, err := kube.PodsReady(ctx, c, namespace, fluxPods)
	if err != nil {
		return err.Error()
	}
	return "pods of Flux: " + state.String()
}

func (f *flux) diagnoseInstance(ctx context.Context, _ plan.Step, v run.Voice) {
	c, err := f.on(ctx)
	if err != nil {
		v.Detail("%v", err)
		return
	}
	if u, err := c.Get(ctx, kube.FluxInstance, f.site.fluxNamespace(), fluxName); err == nil {
		status, reason, message, _ := kube.Condition(u, "Ready")
		v.Print(fmt.Sprintf("FluxInstance %s: Ready is %s %s %s\n", kube.Name(u), cmp.Or(status, "unknown"), reason, message))
	}
	showKustomizations(ctx, c, v)
	showPods(ctx, c, f.site.fluxNamespace(), v)
}

func (f *flux) diagnoseControllers(ctx context.Context, _ plan.Step, v run.Voice) {
	c, err := f.on(ctx)
	if err != nil {
		v.Detail("%v", err)
		return
	}
	showPods(ctx, c, f.site.fluxNamespace(), v)
}

// showKustomizations prints the Kustomizations of a cluster.
func showKustomizations(ctx context.Context, c *kube.Cluster, v run.Voice) {
	list, err := c.List(ctx, kube.Kustomization, "")
	if err != nil {
		v.Detail("the Kustomizations cannot be listed: %v", err)
		return
	}
	rows := make([][]string, 0, len(list))
	for i := range list {
		status, reason, message, _ := kube.Condition(&list[i], "Ready")
		if suspended, _, _ := unstructured.NestedBool(list[i].Object, "spec", "suspend"); suspended {
			reason = "suspended, " + reason
		}
		first, _, _ := strings.Cut(message, "\n")
		rows = append(rows, []string{kube.Name(&list[i]), cmp.Or(status, "Unknown"), reason, first})
	}
	v.Print(columns([]string{"KUSTOMIZATION", "READY", "REASON", "MESSAGE"}, rows))
}

// showPods prints the pods of Flux.
func showPods(ctx context.Context, c *kube.Cluster, namespace string, v run.Voice) {
	list, err := c.List(ctx, kube.Pod, namespace, kube.Labelled(fluxPods))
	if err != nil {
		v.Detail("the pods of Flux cannot be listed: %v", err)
		return
	}
	rows := make([][]string, 0, len(list))
	for i := range list {
		phase, _, _ := unstructured.NestedString(list[i].Object, "status", "phase")
		status, reason, message, _ := kube.Condition(&list[i], "Ready")
		rows = append(rows, []string{kube.Name(&list[i]), cmp.Or(phase, "Unknown"), cmp.Or(status, "Unknown"), strings.TrimSpace(reason + " " + message)})
	}
	v.Print(columns([]string{"POD", "PHASE", "READY", "WHY"}, rows))
}

// columns is a table for people.
func columns(head []string, rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	for _, row := range append([][]string{head}, rows...) {
		// A builder never fails.
		_, _ = fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = w.Flush()
	if len(rows) == 0 {
		return strings.ToLower(head[0]) + "s: none\n"
	}
	return b.String()
}
