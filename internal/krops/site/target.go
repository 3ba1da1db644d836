package site

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/helm"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// targetPart makes the management cluster able to hold the inventory.
func (s *Site) targetPart() part {
	install := func(r func() helm.Release) func(context.Context, plan.Step, run.Voice) error {
		return func(ctx context.Context, _ plan.Step, v run.Voice) error {
			wanted := r()
			if _, err := s.Settings.File.Chart(wanted.Name); err != nil {
				return err
			}
			c, err := s.target(ctx)
			if err != nil {
				return err
			}
			return helm.Ensure(ctx, c, wanted, func(text string) { v.Detail("%s", text) })
		}
	}
	installed := func(r func() helm.Release) func(context.Context, plan.Fact) plan.Presence {
		return func(ctx context.Context, _ plan.Fact) plan.Presence {
			c, err := s.target(ctx)
			if err != nil {
				return plan.Failed(err.Error())
			}
			return helm.Deployed(ctx, c, r())
		}
	}
	return part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"target/nodes-ready":        nodesReady(s.target),
			"target/cert-manager":       installed(s.certManager),
			"target/capi-operator":      installed(s.capiOperator),
			"target/provider-manifests": s.manifestsApplied(s.providerManifests),
			"target/pivot-manifests":    s.manifestsApplied(s.pivotManifests),
			"target/pivot-sops-secrets": s.manifestsApplied(s.pivotSecrets),
			"target/providers-ready":    s.targetProviders,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"cert-manager":       install(s.certManager),
			"capi-operator":      install(s.capiOperator),
			"provider-manifests": s.applyManifests(s.providerManifests),
			"pivot-manifests":    s.applyManifests(s.pivotManifests),
			"pivot-sops-secrets": s.applyManifests(s.pivotSecrets),
		},
		holds: map[string]func(context.Context, plan.Step) (string, error){
			"target-nodes":     s.nodesHold,
			"target-providers": s.providersHold,
		},
		diagnoses: map[string]func(context.Context, plan.Step, run.Voice){
			"target-nodes":     s.diagnoseNodes,
			"target-providers": s.diagnoseTarget,
		},
	}
}

const chartTimeout = 10 * time.Minute

func (s *Site) certManager() helm.Release {
	f := s.Settings.File
	return helm.Release{
		Name: "cert-manager", Namespace: "cert-manager", Chart: f.ChartSources.CertManager + "/cert-manager", Version: f.Charts["cert-manager"],
		Values: map[string]any{"crds": map[string]any{"enabled": true}}, Wait: helm.Watcher, Timeout: chartTimeout, Loose: true,
	}
}

func (s *Site) capiOperator() helm.Release {
	f := s.Settings.File
	return helm.Release{
		Name: "capi-operator", Namespace: "capi-operator-system", Chart: f.ChartSources.CAPIOperator + "/cluster-api-operator", Version: f.Charts["capi-operator"],
		Values: map[string]any{"cert-manager": map[string]any{"enabled": false}}, Wait: helm.Watcher, Timeout: chartTimeout, Loose: true,
	}
}

func (s *Site) nodesHold(ctx context.Context, _ plan.Step) (string, error) {
	c, err := s.target(ctx)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // a question that fails holds a wait up, and does not end it
	}
	nodes, err := kube.NodesReady(ctx, c)
	switch {
	case err != nil:
		return "the API server does not answer yet: " + err.Error(), nil //nolint:nilerr // the same
	case nodes.Total == 0:
		return "the API server answers, and there are no nodes yet", nil
	}
	return "nodes: " + nodes.String(), nil
}

func (s *Site) diagnoseNodes(ctx context.Context, _ plan.Step, v run.Voice) {
	if c, err := s.target(ctx); err == nil {
		if nodes, err := c.List(ctx, kube.Node, ""); err == nil {
			var b strings.Builder
			for i := range nodes {
				status, _, message, _ := kube.Condition(&nodes[i], "Ready")
				fmt.Fprintf(&b, "node %s: Ready is %s (%s)\n", nodes[i].GetName(), status, message)
			}
			v.Print(b.String())
		}
	}
	if c, err := s.source(ctx); err == nil {
		s.showTree(ctx, c, v)
	}
}

// manifests are objects of files of the repository, in their order.
type manifests func(ctx context.Context) ([]*unstructured.Unstructured, error)

// applyManifests applies manifests to the management cluster.
func (s *Site) applyManifests(read manifests) func(context.Context, plan.Step, run.Voice) error {
	return func(ctx context.Context, _ plan.Step, _ run.Voice) error {
		objects, err := read(ctx)
		if err != nil {
			return err
		}
		c, err := s.target(ctx)
		if err != nil {
			return err
		}
		// One by one: a file may rely on those before it.
		for _, u := range objects {
			if err := c.Apply(ctx, u); err != nil {
				return err
			}
		}
		return nil
	}
}

// manifestsApplied tells whether applying them would change nothing.
func (s *Site) manifestsApplied(read manifests) func(context.Context, plan.Fact) plan.Presence {
	return func(ctx context.Context, _ plan.Fact) plan.Presence {
		objects, err := read(ctx)
		if err != nil {
			return plan.Failed(err.Error())
		}
		c, err := s.target(ctx)
		if err != nil {
			return plan.Failed(err.Error())
		}
		differs, err := c.Differs(ctx, objects...)
		switch {
		case err != nil:
			return plan.Failed(err.Error())
		case differs:
			return plan.Absent("a dry run would change something")
		}
		return plan.Present()
	}
}

// file reads a file of the repository. Its absolute path is in every error.
func (s *Site) file(name string) (path string, text []byte, err error) {
	path = filepath.Join(s.Root, name)
	text, err = os.ReadFile(path)
	if err != nil {
		return path, nil, fmt.Errorf("read the manifest: %w", err)
	}
	return path, text, nil
}

func (s *Site) providerManifests(context.Context) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, name := range s.Settings.Environment.ProviderManifests {
		path, text, err := s.file(name)
		if err != nil {
			return nil, err
		}
		objects, err := kube.Decode(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// pivotManifests fills in the placeholders of the plain manifests.
func (s *Site) pivotManifests(ctx context.Context) ([]*unstructured.Unstructured, error) {
	values, err := s.pivotValues(ctx)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, name := range s.Settings.Environment.PivotManifests {
		path, text, err := s.file(name)
		if err != nil {
			return nil, err
		}
		filled, err := s.fill(name, text, values)
		if err != nil {
			return nil, err
		}
		objects, err := kube.Decode(filled)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

func (s *Site) fill(name string, text []byte, values map[string]string) ([]byte, error) {
	filled, missing := config.Substitute(string(text), values)
	if len(missing) > 0 {
		return nil, fmt.Errorf("pivot manifest '%s' has unsubstituted placeholders (no ConfigMap data in %s provides them): %s",
			name, s.Settings.File.Bootstrap.FluxNamespace, strings.Join(missing, ", "))
	}
	return []byte(filled), nil
}

// pivotValues are the data of all ConfigMaps in the namespace of Flux on the kind
// cluster: of two that have a key, the one whose name comes later wins, and
// pivot-manifest-vars wins over all. Once the kind cluster is gone, Flux keeps the
// same values on the management cluster.
func (s *Site) pivotValues(ctx context.Context) (map[string]string, error) {
	from := s.source
	if s.kindCluster(ctx, "").Gone() {
		from = s.target
	}
	c, err := from(ctx)
	if err != nil {
		return nil, err
	}
	list, err := c.List(ctx, kube.ConfigMap, s.Settings.File.Bootstrap.FluxNamespace)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	values := map[string]string{}
	for i := range list {
		data, _, err := unstructured.NestedStringMap(list[i].Object, "data")
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s has data that is no text", kube.Name(&list[i]))
		}
		maps.Copy(values, data)
	}
	maps.Copy(values, s.Settings.Environment.PivotManifestVars)
	return values, nil
}

// pivotSecrets decrypts the encrypted manifests.
func (s *Site) pivotSecrets(context.Context) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, name := range s.Settings.Environment.PivotSopsSecrets {
		text, err := s.decrypted(name)
		if err != nil {
			return nil, err
		}
		objects, err := kube.Decode(text)
		if err != nil {
			// What the parser says may quote a secret.
			return nil, errors.New(filepath.Join(s.Root, name) + ": what it decrypts to is no Kubernetes manifest")
		}
		all = append(all, objects...)
	}
	return all, nil
}

// wantedProviders are the providers of the manifests, and the one of the
// infrastructure that the environment names.
func (s *Site) wantedProviders(ctx context.Context) ([]*unstructured.Unstructured, error) {
	objects, err := s.providerManifests(ctx)
	if err != nil {
		return nil, err
	}
	wanted := slices.DeleteFunc(objects, func(u *unstructured.Unstructured) bool {
		return !slices.Contains(kube.Providers(), u.GroupVersionKind().GroupKind()) && !strings.HasSuffix(u.GetKind(), "Provider")
	})
	e := s.Settings.Environment
	if e.InfraProviderName == "" || slices.ContainsFunc(wanted, func(u *unstructured.Unstructured) bool {
		return u.GroupVersionKind().GroupKind() == kube.InfrastructureProvider && u.GetName() == e.InfraProviderName && u.GetNamespace() == e.InfraProviderNamespace
	}) {
		return wanted, nil
	}
	infra := &unstructured.Unstructured{}
	infra.SetGroupVersionKind(kube.InfrastructureProvider.WithVersion("v1alpha2"))
	infra.SetNamespace(e.InfraProviderNamespace)
	infra.SetName(e.InfraProviderName)
	return append(wanted, infra), nil
}

// unreadyProviders says of each provider that is not Ready why.
func (s *Site) unreadyProviders(ctx context.Context) (waiting []string, err error) {
	wanted, err := s.wantedProviders(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.target(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range wanted {
		name := p.GetKind() + " " + kube.Name(p)
		u, err := c.Get(ctx, p.GroupVersionKind().GroupKind(), p.GetNamespace(), p.GetName())
		switch {
		case kube.Gone(err):
			waiting = append(waiting, name+" is not there")
			continue
		case err != nil:
			return nil, err
		}
		status, reason, message, _ := kube.Condition(u, "Ready")
		if status == "True" {
			continue
		}
		why := "is not Ready"
		if reason != "" || message != "" {
			why += ": " + strings.TrimSpace(reason+" "+message)
		}
		waiting = append(waiting, name+" "+why)
	}
	return waiting, nil
}

func (s *Site) targetProviders(ctx context.Context, _ plan.Fact) plan.Presence {
	waiting, err := s.unreadyProviders(ctx)
	switch {
	case err != nil:
		return plan.Failed(err.Error())
	case len(waiting) > 0:
		return plan.Absent(strings.Join(waiting, "; "))
	}
	return plan.Present()
}

func (s *Site) providersHold(ctx context.Context, _ plan.Step) (string, error) {
	waiting, err := s.unreadyProviders(ctx)
	if errors.Is(err, os.ErrNotExist) {
		return "", err // a manifest does not come of waiting
	}
	if err != nil {
		return err.Error(), nil //nolint:nilerr // the same
	}
	return strings.Join(waiting, "\n"), nil
}

func (s *Site) diagnoseTarget(ctx context.Context, _ plan.Step, v run.Voice) {
	wanted, err := s.wantedProviders(ctx)
	if err != nil {
		return
	}
	c, err := s.target(ctx)
	if err != nil {
		return
	}
	var b strings.Builder
	for _, p := range wanted {
		u, err := c.Get(ctx, p.GroupVersionKind().GroupKind(), p.GetNamespace(), p.GetName())
		if err != nil {
			fmt.Fprintf(&b, "%s %s: %v\n", p.GetKind(), kube.Name(p), err)
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		version, _, _ := unstructured.NestedString(u.Object, "status", "installedVersion")
		fmt.Fprintf(&b, "%s %s %s\n", p.GetKind(), kube.Name(p), version)
		for _, c := range conditions {
			if m, ok := c.(map[string]any); ok {
				fmt.Fprintf(&b, "  %v=%v %v %v\n", m["type"], m["status"], m["reason"], m["message"])
			}
		}
	}
	v.Print(b.String())
}
