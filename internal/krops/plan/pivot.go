package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

const (
	providersBudget = 15 * time.Minute
	providersReady  = "the providers of the manifests to be Ready"
)

// pivot moves the inventory into the management cluster it describes.
func (b *builder) pivot() {
	b.definition()
	b.target()
	b.move()
	if b.Local() {
		b.phase = "seed"
		b.add(Step{
			ID: "target-publish", Kind: Change, Title: "Publishing the current checkout as the OCI artifact...", Detail: []string{b.artifact()},
			Needs: []Fact{registryReady, targetInventory}, Gives: []Fact{"target/artifact"},
		})
	}
	b.flux("target", false)
	if !b.KeepKind {
		b.leave()
	}
}

func (b *builder) definition() {
	b.phase = "definition"
	e, shared := b.Environment, b.File.Bootstrap
	b.add(Step{
		ID: "pivot-source", Kind: Check, Title: "Looking at " + b.KindContext + ", the source of the move...",
		Needs: []Fact{sourceFlux}, Gives: []Fact{"run/source"}, Source: true, EachRun: true,
	})
	if b.Local() {
		b.add(Step{
			ID: "pivot-registry", Kind: Check, Title: "Checking the local registry...", Needs: []Fact{registryReady}, Gives: []Fact{"run/registry"},
			Source: true, EachRun: true,
		})
	}
	b.add(Step{
		ID: "cluster-definition", Kind: Wait, Title: fmt.Sprintf("Waiting for the management cluster definition (timeout: %v)...", b.ReadyTimeout),
		Waits: fmt.Sprintf("Flux to create Cluster %s/%s", shared.MgmtNamespace, e.MgmtCluster),
		Needs: []Fact{sourceFlux}, Gives: []Fact{sourceInventory}, Deadline: b.ReadyTimeout.Duration, Every: b.every(), Source: true,
		Overdue: fmt.Sprintf("Cluster '%s' was not created within %v", e.MgmtCluster, b.ReadyTimeout),
		Help: "Flux creates it from " + e.SyncPath + " of the repository: look at what its Kustomizations say.\n" +
			"Running the same command again is safe; it goes on here.",
	})
	b.add(Step{
		ID: "cluster-kubeconfig", Kind: Wait, Title: fmt.Sprintf("Waiting for the management cluster kubeconfig (timeout: %v)...", b.ReadyTimeout),
		Waits: fmt.Sprintf("Secret %s/%s-kubeconfig", shared.MgmtNamespace, e.MgmtCluster),
		Needs: []Fact{sourceInventory}, Gives: []Fact{"source/mgmt-kubeconfig"},
		// A move that was interrupted may have taken the Secret along.
		Spare:    []Fact{targetInventory},
		Deadline: b.ReadyTimeout.Duration, Every: b.every(), Source: true,
		Overdue: fmt.Sprintf("the kubeconfig of Cluster '%s' was not there within %v", e.MgmtCluster, b.ReadyTimeout),
	})
	b.add(Step{
		ID: "export-kubeconfig", Kind: Change, Title: fmt.Sprintf("Exporting management-cluster kubeconfig to %s...", b.MgmtKubeconfig),
		Detail: []string{"context " + shared.MgmtContext}, Needs: []Fact{"source/mgmt-kubeconfig"}, Gives: []Fact{mgmtKubeconfig, exported}, Spare: []Fact{targetInventory}, Source: true,
	})
	b.add(Step{
		ID: "target-nodes", Kind: Wait, Title: "Waiting for management-cluster nodes to be ready (timeout: 15m)...", Waits: "one node at least, and all of them Ready",
		Needs: []Fact{mgmtKubeconfig}, Gives: []Fact{targetNodes}, Deadline: config.NodeReadyTimeout, Every: b.every(),
		Overdue: "management cluster nodes were not all Ready within 15m",
		Help: "The machines may still be starting, or the network add-on may be missing: its HelmRelease says so.\n" +
			"Running the same command again is safe; it goes on here.",
	})
}

// target makes the management cluster able to hold the inventory. Providers come
// before plain manifests, and those before decrypted ones.
func (b *builder) target() {
	b.phase = "target"
	e := b.Environment
	need := []Fact{targetNodes}
	apply := func(id, title string, detail []string, deadline time.Duration) {
		give := Fact("target/" + id)
		b.add(Step{ID: id, Kind: Change, Title: title, Detail: detail, Needs: need, Gives: []Fact{give}, Deadline: deadline})
		need = []Fact{give}
	}
	apply("cert-manager", "Installing cert-manager "+b.chart("cert-manager")+" in the target...", nil, helmBudget)
	apply("capi-operator", "Installing CAPI operator "+b.chart("capi-operator")+" in the target...", nil, helmBudget)
	apply("provider-manifests", "Applying provider CRs in the target...", e.ProviderManifests, 0)
	if len(e.PivotManifests) > 0 {
		apply("pivot-manifests", "Applying pivot manifests in the target...", e.PivotManifests, 0)
	}
	if e.Archetype == config.AWS {
		apply("aws-credentials", "Creating CAPA credentials secret in capa-system...", nil, 0)
	}
	if len(e.PivotSopsSecrets) > 0 {
		apply("pivot-sops-secrets", "Applying pivot SOPS secrets in the target...", e.PivotSopsSecrets, 0)
	}
	b.add(Step{
		ID: "target-providers", Kind: Wait, Title: "Waiting for providers in the target...", Waits: providersReady,
		Detail: []string{e.InfraProviderNamespace + "/" + e.InfraProviderName + " among them"},
		Needs:  need, Gives: []Fact{targetProviders}, Deadline: providersBudget,
		Overdue: "the providers in the target were not all Ready within 15m",
	})
}

func (b *builder) move() {
	b.phase = "move"
	e, ns := b.Environment, b.File.Bootstrap.MgmtNamespace
	b.add(Step{
		ID: "move-ready", Kind: Wait, Title: "Waiting until every cluster can be moved...", Waits: "every Cluster of " + ns + " to be provisioned, every Machine to have a node",
		Needs: []Fact{sourceInventory, targetProviders}, Gives: []Fact{"source/move-ready"}, Deadline: b.ReadyTimeout.Duration, Every: b.every(), Source: true,
		Overdue: fmt.Sprintf("not every Cluster of %s could be moved within %v", ns, b.ReadyTimeout),
	})
	b.add(Step{
		ID: "suspend-source", Kind: Change, Title: "Suspending Flux Kustomizations in the bootstrap cluster...",
		Needs: []Fact{sourceFlux, "source/move-ready"}, Gives: []Fact{sourceSuspended}, Source: true,
	})
	b.add(Step{
		ID: "move", Kind: Move, Title: "Moving the CAPI inventory to the management cluster...", Detail: []string{"namespace " + ns},
		Needs: []Fact{sourceSuspended, "source/move-ready", targetProviders}, Gives: []Fact{targetInventory}, Takes: []Fact{sourceInventory}, Source: true,
	})
	b.add(Step{
		ID: "unpause", Kind: Change, Title: "Unpausing moved Clusters on the target...", Needs: []Fact{targetInventory}, Gives: []Fact{"target/unpaused"},
	})
	for _, m := range e.MoveFallbacks {
		kind, _, _ := strings.Cut(m.Resource, ".")
		b.add(Step{
			ID: "move-fallback-" + kind + "-" + m.Name, Kind: Change, Title: fmt.Sprintf("%s '%s' missing after the move; applying from Git...", m.Resource, m.Name),
			Detail: []string{m.Manifest}, Needs: []Fact{targetInventory}, Gives: []Fact{Fact("target/" + m.Resource + "/" + m.Name)},
		})
	}
}

// leave removes the kind cluster, once all it was for lives elsewhere.
func (b *builder) leave() {
	b.phase = "leave"
	guard := Step{
		ID: "safety-check", Kind: Check, Title: "Checking that the management cluster stands alone...", Needs: []Fact{targetInventory, targetFlux},
		Gives: []Fact{"run/safe"}, EachRun: true,
	}
	if b.Local() {
		guard.Needs = append(guard.Needs, registryReady)
	}
	b.add(guard)
	b.add(Step{
		ID: "delete-kind", Kind: Delete, Title: "Deleting the kind bootstrap cluster...", Detail: []string{b.KindCluster},
		Needs: []Fact{"run/safe", targetInventory, targetFlux, "target/unpaused"}, Clear: []Fact{sourceInventory}, Takes: []Fact{kindCluster}, Moot: []Fact{kindCluster},
	})
}
