package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// Facts that more than one step speaks of.
const (
	kindCluster = Fact("host/kind-cluster")

	registry       = Fact("host/registry")
	registryReady  = Fact("host/registry-ready")
	mgmtKubeconfig = Fact("host/mgmt-kubeconfig")
	exported       = Fact("source/kubeconfig-exported")
	containers     = Fact("host/mgmt-containers")

	sourceReady     = Fact("source/nodes-ready")
	sourceFlux      = Fact("source/flux-ready")
	sourceMetadata  = Fact("source/run-metadata")
	sourceInventory = Fact("source/inventory")
	sourceSuspended = Fact("source/flux-suspended")

	targetNodes     = Fact("target/nodes-ready")
	targetProviders = Fact("target/providers-ready")
	targetInventory = Fact("target/inventory")
	targetFlux      = Fact("target/flux-ready")

	engine  = Fact("run/engine")
	kindNew = Fact("run/kind-new")
)

const (
	readyBudget = 120 * time.Second // of the nodes of kind
	helmBudget  = 10 * time.Minute
	fluxBudget  = 90 * time.Second // of the pods of Flux
)

// builder collects the steps of a verb.
type builder struct {
	*config.Settings
	phase string
	steps []Step
}

func (b *builder) add(s Step) {
	s.Phase = b.phase
	if s.Source {
		s.Rival = "'" + b.MgmtKubeconfig + "' names a management cluster that cannot be asked, so it cannot be told whether " + b.Environment.MgmtCluster +
			" manages itself already, and a second one would rival it; make it reachable, or move the file away if that cluster is gone"
	}
	b.steps = append(b.steps, s)
}

func (b *builder) chart(name string) string { return b.File.Charts[name] }

func (b *builder) every() time.Duration { return time.Duration(b.PollInterval) * time.Second }

// Bootstrap plans what makes the management cluster: the kind cluster with Flux,
// then the pivot unless it is switched off.
func Bootstrap(s *config.Settings, w World) Plan {
	b := &builder{Settings: s, steps: make([]Step, 0, 64)}
	b.preflight()
	b.kind()
	if s.Local() {
		b.registry()
	}
	b.flux("source", true)
	if s.Local() {
		b.watch()
	}
	if s.Pivot {
		b.pivot()
	}
	return Plan{Verb: "bootstrap", Environment: s.Environment.Name, Steps: judge(b.steps, w)}
}

// Pivot plans the second half of a bootstrap alone, for a kind cluster that is
// made already.
func Pivot(s *config.Settings, w World) Plan {
	b := &builder{Settings: s, steps: make([]Step, 0, 64)}
	b.pivot()
	return Plan{Verb: "pivot", Environment: s.Environment.Name, Steps: judge(b.steps, w)}
}

func (b *builder) preflight() {
	b.phase = "preflight"
	if b.NeedsGithub() {
		b.add(Step{
			ID: "preflight-github", Kind: Check, Title: "Checking the GitHub repository, its branch and the token...", Gives: []Fact{"run/github"},
			Detail: []string{"branch " + b.File.Bootstrap.GitBranch}, Deadline: 30 * time.Second, EachRun: true,
		})
		b.add(Step{
			ID: "preflight-age", Kind: Check, Title: "Checking the age key...", Gives: []Fact{"run/age-key"},
			Detail: []string{"file " + b.AgeKeyFile}, EachRun: true,
		})
	}
	if b.Environment.Archetype == config.AWS {
		var regions []string
		// The lint has told of a region that cannot be derived; the check itself fails on it.
		plans, _ := b.Environment.AddressPlans()
		for _, p := range plans {
			regions = append(regions, fmt.Sprintf("[%s] %d for %s", p.Region, p.Required, strings.Join(p.Clusters, ", ")))
		}
		b.add(Step{
			ID: "preflight-eip-quota", Kind: Check, Title: "Checking the Elastic IP quota of each region...", Gives: []Fact{"run/eip-quota"},
			Detail:  regions,
			EachRun: true,
		})
	}
	b.add(Step{
		ID: "preflight-engine", Kind: Check, Title: "Looking for a container engine...", Gives: []Fact{engine}, EachRun: true,
	})
}

func (b *builder) kind() {
	b.phase = "kind"
	made := []Fact{kindCluster}
	if b.Recreate {
		b.add(Step{
			ID: "recreate-kind", Kind: Delete, Title: fmt.Sprintf("Cluster '%s' exists and --recreate was given – recreating...", b.KindCluster),
			Needs: []Fact{engine}, Takes: []Fact{kindCluster}, Moot: []Fact{kindCluster}, Source: true, EachRun: true,
			Clear: b.noInventoryToLose(),
			// The one this run has made is not replaced again.
			Spare: []Fact{kindNew},
		})
		made = append(made, kindNew)
	}
	b.add(Step{
		ID: "create-kind", Kind: Change, Title: fmt.Sprintf("Creating kind cluster '%s'...", b.KindCluster),
		Detail:  []string{"a healthy cluster of that name is used as it is"},
		Already: fmt.Sprintf("Reusing existing kind cluster '%s' (pass --recreate to replace it)...", b.KindCluster),
		Needs:   []Fact{engine}, Gives: made, Source: true,
		// Where the inventory has moved already, another kind cluster would rival it.
		Looks: []Fact{targetInventory},
	})
	b.add(Step{
		ID: "kind-ready", Kind: Wait, Title: "Waiting for cluster node to be ready...", Waits: "every node of the kind cluster to be Ready",
		Needs: []Fact{kindCluster}, Gives: []Fact{sourceReady}, Deadline: readyBudget, Source: true,
		Overdue: fmt.Sprintf("existing kind cluster '%s' is not healthy (context unreachable or nodes not Ready within %vs); rerun with --recreate to replace it",
			b.KindCluster, readyBudget.Seconds()),
		Already: fmt.Sprintf("Existing cluster '%s' is healthy; continuing.", b.KindCluster),
	})
	b.add(Step{
		ID: "kind-context", Kind: Change, Title: fmt.Sprintf("Adding the context of kind cluster '%s' to the kubeconfig of the caller...", b.KindCluster),
		Detail: []string{"the current context stays what it is"},
		Needs:  []Fact{sourceReady}, Gives: []Fact{"source/context"}, Source: true, Tolerated: true,
	})
	if task := b.Environment.PostKindCreateTask; task != "" {
		b.add(Step{
			ID: "post-kind-create-task", Kind: Change,
			Title: fmt.Sprintf("Running post-kind-create task '%s' (mise -E %s run %s)...", task, b.Environment.Name, task),
			Needs: []Fact{sourceReady}, Gives: []Fact{"run/hook"}, Source: true, EachRun: true,
		})
	}
}

// noInventoryToLose is what must be gone before a kind cluster is replaced: an
// inventory that is on both sides is in the middle of a move.
func (b *builder) noInventoryToLose() []Fact { return []Fact{targetInventory} }

func (b *builder) registry() {
	b.phase = "registry"
	b.add(Step{
		ID: "registry", Kind: Change, Title: fmt.Sprintf("Creating registry container '%s'...", b.RegistryName),
		Detail: []string{fmt.Sprintf("on 127.0.0.1:%d, in the network of kind", b.RegistryPort)},
		Needs:  []Fact{engine}, Gives: []Fact{registry},
		Already: fmt.Sprintf("Registry already running: %s:5000", b.RegistryName), Success: fmt.Sprintf("Registry created and running: %s:5000", b.RegistryName),
	})
	b.add(Step{
		ID: "registry-ready", Kind: Wait, Title: "Waiting for the local registry...", Waits: "the registry to answer",
		Needs: []Fact{registry}, Gives: []Fact{registryReady}, Deadline: time.Duration(b.RegistryRetries) * time.Second, Every: time.Second,
		Overdue: "local registry did not become ready at " + b.registryURL(),
	})
	b.add(Step{
		ID: "registry-config", Kind: Change, Title: "Announcing the local registry to the cluster...",
		Detail: []string{"ConfigMap kube-system/local-registry-config"}, Needs: []Fact{sourceReady, registry}, Gives: []Fact{"source/registry-config"}, Source: true,
	})
	b.add(Step{
		ID: "publish", Kind: Change, Title: "Publishing initial OCI artifact from the local Git checkout...", Detail: []string{b.artifact()},
		Needs: []Fact{registryReady}, Gives: []Fact{"source/artifact"}, Source: true,
		Success: fmt.Sprintf("Initial OCI artifact is available at oci://localhost:%d/%s:%s", b.RegistryPort, b.OCIRepository, b.OCITag),
	})
}

func (b *builder) registryURL() string {
	host, port := b.RegistryEndpoint()
	return fmt.Sprintf("http://%s:%d/v2/", host, port)
}

func (b *builder) artifact() string {
	host, port := b.RegistryEndpoint()
	return fmt.Sprintf("oci://%s:%d/%s:%s", host, port, b.OCIRepository, b.OCITag)
}

// flux installs Flux with its metadata and secrets on one of the clusters.
func (b *builder) flux(side string, source bool) {
	b.phase = "flux"
	prefix, on := "", sourceReady
	if !source {
		b.phase, prefix, on = "seed", "target-", targetProviders
	}
	fact := func(name string) Fact { return Fact(side + "/" + name) }
	ns := b.File.Bootstrap.FluxNamespace
	step := func(s Step) {
		s.ID, s.Source, s.Needs = prefix+s.ID, source, append([]Fact{on}, s.Needs...)
		if !source {
			s.Needs = append(s.Needs, targetInventory)
		}
		b.add(s)
	}
	step(Step{
		ID: "flux-operator", Kind: Change, Title: "Installing Flux Operator...", Detail: []string{"chart flux-operator " + b.chart("flux-operator") + " in " + ns},
		Gives: []Fact{fact("flux-operator")}, Deadline: helmBudget,
	})
	metadata := Step{ID: "run-metadata", Kind: Change, Title: "Tagging the run...", Detail: []string{"ConfigMap " + ns + "/krops-run"}, Gives: []Fact{fact("run-metadata")}}
	if !source {
		metadata.Needs, metadata.Detail = []Fact{sourceMetadata}, []string{"ConfigMap " + ns + "/krops-run, copied from " + b.KindContext}
	}
	step(metadata)
	ready := []Fact{fact("flux-operator"), fact("run-metadata")}
	if b.NeedsGithub() {
		for _, secret := range []struct{ id, name, in, title string }{
			{"git-secret", b.File.Bootstrap.GithubPATSecret, ns, "Creating GitHub PAT credentials secret in " + ns + "..."},
			{"sops-secret", b.File.Bootstrap.SopsAgeSecret, ns, "Creating sops-age decryption secret in " + ns + "..."},
			{"sops-secret-default", b.File.Bootstrap.SopsAgeSecret, "default", "Creating sops-age decryption secret in default..."},
		} {
			step(Step{
				ID: secret.id, Kind: Change, Title: secret.title, Detail: []string{"Secret " + secret.in + "/" + secret.name},
				Needs: []Fact{fact("flux-operator")}, Gives: []Fact{fact(secret.id)},
			})
			ready = append(ready, fact(secret.id))
		}
	} else {
		published := Fact("source/artifact")
		if !source {
			published = "target/artifact"
		}
		ready = append(ready, published)
	}
	step(Step{
		ID: "flux-instance", Kind: Change, Title: "Installing FluxInstance via Helm...",
		Detail: []string{"chart flux-instance " + b.chart("flux-operator"), "path " + b.Environment.SyncPath},
		Needs:  ready, Gives: []Fact{fact("flux-instance")}, Deadline: helmBudget,
	})
	step(Step{
		ID: "flux-instance-ready", Kind: Wait, Title: "Waiting for FluxInstance reconciliation to complete...", Waits: "FluxInstance flux to be Ready",
		Needs: []Fact{fact("flux-instance")}, Gives: []Fact{fact("flux-ready")}, Deadline: helmBudget,
		Overdue: "FluxInstance flux was not Ready within 10m",
	})
	step(Step{
		ID: "flux-controllers", Kind: Wait, Title: "Waiting for Flux controllers to be ready...", Waits: "the pods of Flux to be Ready",
		Needs: []Fact{fact("flux-ready")}, Gives: []Fact{fact("flux-controllers")}, Deadline: fluxBudget, Tolerated: true,
		Overdue: "not all Flux controllers became ready within 90s",
	})
}

// watch follows the reconciliation on this host.
func (b *builder) watch() {
	b.phase = "watch"
	const probes, pause = 60, 2 * time.Second
	workload := "local-workload"
	if names := b.Environment.Teardown.CAPIWorkloads; len(names) > 0 {
		workload = names[0]
	}
	slow := "local-host reconciliation did not complete within " + b.ReconcileTimeout.String()
	wait := func(id, title, waits, overdue string, deadline, every time.Duration, need, give Fact) {
		var spare []Fact
		if need != sourceFlux {
			// What is suspended for the move reconciles no more. That something is suspended
			// proves nothing before there is anything.
			spare = []Fact{sourceSuspended}
		}
		b.add(Step{
			ID: id, Kind: Wait, Title: title, Waits: waits, Deadline: deadline, Every: every, Needs: []Fact{need}, Gives: []Fact{give}, Source: true,
			Overdue: overdue, Gap: every > 0, Spare: spare,
		})
	}
	wait("flux-apps-created", "Step 5: Flux reconciliation progress", "Kustomization flux-apps to be created", "flux-apps Kustomization was not created within 2 minutes",
		probes*pause, pause, sourceFlux, "source/flux-apps")
	wait("flux-apps-ready", "Waiting until the local workload cluster and Flux addons are ready...", "Kustomization flux-apps to be Ready", slow,
		b.ReconcileTimeout.Duration, 0, "source/flux-apps", "source/flux-apps-ready")
	wait("workload-flux-created", "Workload cluster Flux reconciliation errors", "Kustomization flux-system to be created in "+workload, "flux-system Kustomization was not created in "+workload+" within 2 minutes",
		probes*pause, pause, "source/flux-apps-ready", "source/workload-flux")
	wait("workload-flux-controllers", "Waiting for workload Flux controllers to be ready...", "the pods of Flux to be Ready in "+workload, slow,
		b.ReconcileTimeout.Duration, 0, "source/workload-flux", "source/workload-flux-controllers")
	wait("workload-flux-ready", "Waiting until Flux has reconciled the workload cluster...", "Kustomization flux-system to be Ready in "+workload, slow,
		b.ReconcileTimeout.Duration, 0, "source/workload-flux-controllers", "source/workload-flux-ready")
}
