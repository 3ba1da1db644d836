package lab

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	operators = "operator.cluster.x-k8s.io"
	inventory = "clusterctl.cluster.x-k8s.io"
)

// ProviderPlayer plays the Cluster API operator: for each provider it installs the
// real definitions, writes the inventory of clusterctl and says that it is ready.
type ProviderPlayer struct {
	*Client
	Hold func(o *Object) string // says why a provider does not become ready; nil lets all

	installed map[string]bool
}

// Turn looks at every provider once.
func (p *ProviderPlayer) Turn(ctx context.Context) error {
	var failed []error
	for _, kind := range []string{"CoreProvider", "BootstrapProvider", "ControlPlaneProvider", "InfrastructureProvider", "AddonProvider"} {
		list, err := p.listed(ctx, Kind(operators, kind), "")
		failed = append(failed, err)
		for i := range list {
			failed = append(failed, p.provider(ctx, kind, &list[i]))
		}
	}
	return errors.Join(failed...)
}

// sets are the definitions each provider brings.
func (p *ProviderPlayer) sets(kind, name string) []string {
	switch kind + " " + name {
	case "CoreProvider cluster-api":
		return []string{CAPICore}
	case "BootstrapProvider kubeadm", "ControlPlaneProvider kubeadm":
		return []string{CAPIKubeadm}
	case "InfrastructureProvider docker":
		return []string{CAPIDev}
	}
	return nil
}

func (p *ProviderPlayer) provider(ctx context.Context, kind string, o *Object) error {
	if p.Hold != nil {
		if why := p.Hold(o); why != "" {
			return p.settle(ctx, o, map[string]any{"conditions": []any{condition("Ready", false, "Held", why)}, "observedGeneration": o.GetGeneration()})
		}
	}
	if p.installed == nil {
		p.installed = map[string]bool{}
	}
	for _, set := range append([]string{Clusterctl}, p.sets(kind, o.GetName())...) {
		if !p.installed[set] {
			if err := p.Install(ctx, set); err != nil {
				return err
			}
			p.installed[set] = true
		}
	}
	version, _, _ := unstructured.NestedString(o.Object, "spec", "version")
	if version == "" {
		version = "v1.14.2"
	}
	if err := p.Apply(ctx, Inventory(kind, o.GetName(), o.GetNamespace(), version)); err != nil {
		return err
	}
	return p.settle(ctx, o, map[string]any{
		"conditions":       []any{condition("Ready", true, "Ready", "")},
		"installedVersion": version, "observedGeneration": o.GetGeneration(), "contract": "v1beta2",
	})
}

// Inventory is the object by which clusterctl knows a provider of a kind.
func Inventory(kind, name, ns, version string) *Object {
	full := name
	switch kind {
	case "BootstrapProvider":
		full = "bootstrap-" + name
	case "ControlPlaneProvider":
		full = "control-plane-" + name
	case "InfrastructureProvider":
		full = "infrastructure-" + name
	case "AddonProvider":
		full = "addon-" + name
	}
	o := object(inventory+"/v1alpha3", "Provider", ns, full, map[string]any{"providerName": strings.TrimSpace(name), "type": kind, "version": version})
	o.SetLabels(map[string]string{inventory: "", "cluster.x-k8s.io/provider": full, inventory + "/core": "inventory"})
	return o
}
