package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

const (
	workloadBudget = 300 * time.Second // of a workload cluster made of containers
	workloadEvery  = 10 * time.Second
	clustersEvery  = 30 * time.Second
	providersEvery = 15 * time.Second
	uninstallTime  = 5 * time.Minute

	identity = Fact("run/aws-identity")
)

// Teardown plans the removal of all that an environment has made.
func Teardown(s *config.Settings, w World) Plan {
	p := Plan{Verb: "teardown", Environment: s.Environment.Name, Refusal: refusal(s)}
	if p.Refusal != "" {
		return p
	}
	t := &teardown{builder: builder{Settings: s}, world: w}
	switch {
	case s.Local():
		t.local()
	case s.Environment.Teardown.HardwareRelease:
		t.release()
	default:
		t.cloud()
		if w.Host == HostUnreachable && !s.AWSOnly {
			p.Incomplete = "teardown incomplete: no controller host answers, so only AWS was swept; AWS_ONLY=1 makes that the whole job"
		}
	}
	p.Steps = judge(t.steps, w)
	for _, step := range p.Steps {
		if step.Verdict == Refused && step.BestEffort && p.Incomplete == "" {
			p.Incomplete = "teardown incomplete: " + step.ID + ": " + step.Why
		}
	}
	return p
}

// refusal says why an environment has no teardown that could be planned.
func refusal(s *config.Settings) string {
	e := s.Environment
	switch {
	case e.Teardown.Manual != "":
		return "teardown is manual for the '" + e.Name + "' environment:\n" + e.Teardown.Manual
	case s.AWSOnly && s.Local():
		return "AWS_ONLY=1 cannot be combined with the " + e.Name + " profile\nUse the AWS profile for AWS-only orphan cleanup"
	case s.AWSOnly && e.Teardown.HardwareRelease:
		return "AWS_ONLY=1 cannot be combined with the " + e.Name + " profile\nThere is no AWS orphan sweep for operator-owned hardware"
	}
	return ""
}

type teardown struct {
	builder
	world World
}

func cluster(ns, name string) Fact { return clusterFact + Fact(ns+"/"+name) }

// local removes the workload clusters, then the host of their controllers, then
// the registry.
func (t *teardown) local() {
	t.phase = "clusters"
	const ns = "default"
	// Without a kind cluster, and without a management cluster that could answer,
	// there is no controller to ask. Only the engine can confirm that.
	headless := t.world.Of(kindCluster).Gone() && (t.world.Of(mgmtKubeconfig).Gone() || t.world.Of(containers).Gone())
	var gone []Fact
	if !headless {
		t.add(Step{
			ID: "suspend-workload", Kind: Change, Title: "Suspending the Flux Kustomization of the workload clusters...",
			Gives: []Fact{"controller/workload-suspended"}, Moot: []Fact{"controller/workload-kustomization"}, Tolerated: true, BestEffort: true,
		})
		for _, name := range t.Environment.Teardown.CAPIWorkloads {
			gone = append(gone, t.workload(ns, name))
		}
	}
	t.phase = "host"
	t.add(Step{
		ID: "delete-kind", Kind: Delete, Title: "Deleting kind cluster '" + t.KindCluster + "'...",
		Clear: gone, Takes: []Fact{kindCluster}, Moot: []Fact{kindCluster}, Tolerated: true, Forced: t.ForceKindDelete,
	})
	if prefix := t.Environment.Teardown.MgmtContainerPrefix; prefix != "" {
		t.add(Step{
			ID: "delete-containers", Kind: Delete, Title: "Removing self-managed management cluster containers: " + prefix + "*",
			Clear: gone, Takes: []Fact{containers}, Moot: []Fact{containers}, Forced: t.ForceKindDelete,
		})
	}
	for _, name := range t.Environment.Teardown.CAPIWorkloads {
		left := Fact("host/containers/" + name)
		t.add(Step{
			ID: "delete-workload-containers-" + name, Kind: Delete, Title: "Removing the containers that are left of workload cluster '" + name + "'...",
			Clear: gone, Takes: []Fact{left}, Moot: []Fact{left},
		})
	}
	t.phase = "registry"
	t.add(Step{
		ID: "delete-registry", Kind: Delete, Title: "Removing the local registry '" + t.RegistryName + "'...",
		Clear: gone, Takes: []Fact{registry}, Moot: []Fact{registry},
	})
}

// workload deletes one cluster and returns the fact that it is there.
func (t *teardown) workload(ns, name string) Fact {
	there := cluster(ns, name)
	cannot := "cannot confirm the state of CAPD workload cluster '" + name + "'; leaving the management cluster intact (re-run once the query works)"
	t.add(Step{
		ID: "delete-cluster-" + name, Kind: Delete, Title: "Deleting CAPD workload cluster '" + name + "'...",
		Needs: []Fact{there}, Gives: []Fact{Fact("deleting/" + ns + "/" + name)}, Moot: []Fact{there}, BestEffort: t.ForceKindDelete,
		Already: "Cluster '" + name + "' not found – skipping",
		Cannot:  cannot,
	})
	t.add(Step{
		ID: "wait-cluster-" + name, Kind: Wait, Title: "Waiting until CAPD workload cluster '" + name + "' is deleted...", Waits: "Cluster " + ns + "/" + name + " to be gone",
		Takes: []Fact{there}, Moot: []Fact{there}, Deadline: workloadBudget, Every: workloadEvery, BestEffort: t.ForceKindDelete,
		Success: "CAPD workload cluster '" + name + "' deleted",
		Cannot:  cannot,
	})
	return there
}

// release hands machines back: the deletion of the clusters is the release.
func (t *teardown) release() {
	t.phase = "discovery"
	t.discover()
	if t.world.Host == HostUnreachable {
		return
	}
	t.suspend()
	t.clusters(allClusters, "every Cluster to be gone, which releases the Hardware to the pool", "All CAPI clusters deleted; Hardware released to the pool")
	t.host(allClusters)
}

// discover finds where the controllers run.
func (t *teardown) discover() {
	t.add(Step{
		ID: "discover-host", Kind: Check, Title: "Looking for the controller host...", Gives: []Fact{hostFound},
		Detail: []string{t.KindContext + ", else " + t.MgmtKubeconfig}, Deadline: 10 * time.Second,
	})
}

func (t *teardown) suspend() {
	t.phase = "suspend"
	t.add(Step{
		ID: "suspend-flux", Kind: Change, Title: "Suspending Flux Kustomizations to prevent re-reconciliation...",
		Needs: []Fact{hostFound}, Gives: []Fact{"controller/flux-suspended"}, Moot: []Fact{"controller/kustomizations"}, Tolerated: true,
		Cannot:  "cannot list the Flux Kustomizations; aborting before any deletion",
		Already: "No Flux Kustomizations found – skipping suspension", Success: "Flux Kustomizations suspended",
	})
}

// clusters deletes the clusters a fact is about and waits until they are gone.
func (t *teardown) clusters(which Fact, waits, success string) {
	t.phase = "clusters"
	t.add(Step{
		ID: "list-clusters", Kind: Check, Title: "Discovering CAPI Cluster resources...", Needs: []Fact{hostFound}, Gives: []Fact{listed}, Cannot: "cannot list the CAPI Clusters",
		BestEffort: t.ForceKindDelete,
	})
	names, known := t.world.Clusters.Names()
	if !known {
		t.add(Step{
			ID: "delete-clusters", Kind: Delete, Title: "Deleting every Cluster that is found...", Needs: []Fact{listed}, Takes: []Fact{which},
			BestEffort: t.ForceKindDelete,
		})
	}
	about := clusters(which)
	for _, name := range names {
		if about(name) {
			t.deletion(name)
		}
	}
	t.add(Step{
		ID: "wait-clusters", Kind: Wait, Title: "Waiting until the CAPI clusters are deleted...", Waits: waits,
		Needs: []Fact{listed}, Takes: []Fact{which}, Deadline: time.Duration(t.ClusterTimeout) * time.Second, Every: clustersEvery, BestEffort: t.ForceKindDelete,
		Success: success, Already: success,
	})
}

// deletion asks for the deletion of one cluster; the clusters go in parallel.
func (t *teardown) deletion(name string) {
	there := clusterFact + Fact(name)
	t.add(Step{
		ID: "delete-cluster-" + strings.ReplaceAll(name, "/", "-"), Kind: Delete, Title: "Deleting Cluster " + name + "...", Detail: []string{"in the background"},
		Needs: []Fact{there}, Gives: []Fact{"deleting/" + Fact(name)}, Moot: []Fact{there}, BestEffort: t.ForceKindDelete,
	})
}

// host removes the kind cluster if it is what the controllers run on.
func (t *teardown) host(gone ...Fact) {
	t.phase = "host"
	if !t.onKind() {
		return
	}
	t.add(Step{
		ID: "delete-kind", Kind: Delete, Title: "Deleting kind cluster '" + t.KindCluster + "'...", Detail: []string{"when the controllers run on it"},
		Needs: []Fact{hostFound}, Clear: gone, Takes: []Fact{kindCluster}, Moot: []Fact{kindCluster}, Tolerated: true, Forced: t.ForceKindDelete,
		Cannot: "refusing to remove the controller host: the CAPI controllers are left running; run again when 'kubectl get clusters -A' is empty, or set FORCE_KIND_DELETE=1",
	})
}

// onKind tells whether the controllers run on the kind cluster, or may.
func (t *teardown) onKind() bool { return t.world.Host == HostKind || t.world.Host == HostUnknown }

// cloud deletes the clusters of an environment, then what they left in AWS.
func (t *teardown) cloud() {
	e, ns := t.Environment, t.File.Bootstrap.MgmtNamespace
	reachable := t.world.Host != HostUnreachable && !t.AWSOnly
	others := Fact(workloads + ns + "/" + e.MgmtCluster)
	management := cluster(ns, e.MgmtCluster)
	var gone []Fact
	if !t.AWSOnly {
		t.phase = "discovery"
		t.discover()
	}
	if reachable {
		t.suspend()
		t.clusters(others, "every workload Cluster to be gone", "All CAPI workload clusters deleted")
		gone = append(gone, others)
		if t.onKind() {
			t.management(ns+"/"+e.MgmtCluster, others)
			gone = append(gone, management)
		}
	}
	swept := t.sweep(gone)
	if reachable && (t.world.Host != HostSelfManaged || !swept) {
		t.providers(gone)
	}
	if reachable {
		t.host(gone...)
	}
	t.phase = "verify"
	t.add(Step{
		ID: "verify", Kind: Check, Title: "Looking for what is left...", Gives: []Fact{"run/verified"}, EachRun: true, Closing: true, BestEffort: true,
	})
}

// management deletes the management cluster too when its controllers run on kind.
func (t *teardown) management(name string, others Fact) {
	there := clusterFact + Fact(name)
	t.add(Step{
		ID: "delete-management", Kind: Delete, Title: "Deleting Cluster " + name + "...", Detail: []string{"once the workload clusters are gone, when its controllers run on kind"},
		Needs: []Fact{hostFound, there}, Clear: []Fact{others}, Gives: []Fact{"deleting/" + Fact(name)}, Moot: []Fact{there}, BestEffort: t.ForceKindDelete,
	})
	t.add(Step{
		ID: "wait-management", Kind: Wait, Title: "Waiting until the management cluster is deleted...", Waits: "Cluster " + name + " to be gone",
		Takes: []Fact{there}, Moot: []Fact{there}, Deadline: time.Duration(t.ClusterTimeout) * time.Second, Every: clustersEvery, BestEffort: t.ForceKindDelete,
	})
}

// sweep removes what is left in AWS, unit by unit over all clusters. It tells
// whether the management cluster is among them.
func (t *teardown) sweep(gone []Fact) (management bool) {
	t.phase = "sweep"
	e, account := t.Environment, t.File.Teardown
	// The lint has told of a region that cannot be derived.
	targets, _ := e.SweepTargets()
	if len(targets) == 0 {
		return false
	}
	var names, regions []string
	for _, target := range targets {
		names = append(names, fmt.Sprintf("[%s] cluster: %s", target.Region, target.EKSName))
		if region := target.Region; !slices.Contains(regions, region) {
			regions = append(regions, region)
		}
		management = management || target.Management
	}
	t.add(Step{
		ID: "aws-identity", Kind: Check, Title: "Asking AWS who we are...", Gives: []Fact{identity}, EachRun: true,
	})
	unit := func(id, title string, detail []string) {
		there := Fact("aws/" + id)
		t.add(Step{
			ID: "sweep-" + id, Kind: Delete, Title: title, Detail: detail, Needs: []Fact{identity}, Clear: gone,
			Takes: []Fact{there}, Moot: []Fact{there}, BestEffort: true, Tolerated: true, Forced: t.ForceKindDelete,
		})
	}
	unit("nodegroups", "Deleting EKS node groups...", names)
	unit("eks", "Deleting EKS clusters...", names)
	unit("rds", "Deleting RDS instances...", names)
	unit("vpcs", "Deleting VPCs and what is in them...", names)
	unit("eips", "Releasing Elastic IPs...", names)
	if account.S3BucketPattern != "" {
		unit("s3", "Emptying and deleting S3 buckets...", []string{account.S3BucketPattern})
	}
	unit("iam", "Deleting IAM roles and users...", slices.Concat(account.GlobalIAMRoles, account.GlobalIAMUsers))
	if account.CFNStackName != "" {
		unit("cloudformation", "Deleting the CloudFormation stack "+account.CFNStackName+"...", regions)
	}
	return management
}

// providers removes Cluster API and Flux from a host that stays or goes by hand.
func (t *teardown) providers(gone []Fact) {
	t.phase = "providers"
	t.add(Step{
		ID: "delete-providers", Kind: Delete, Title: "Deleting CAPI providers...", Detail: []string{"addon, controlplane, bootstrap, infrastructure, core"},
		Needs: []Fact{hostFound}, Clear: gone, Gives: []Fact{"deleting/providers"}, Moot: []Fact{allProviders}, Forced: t.ForceKindDelete,
		Cannot: "cannot list the CAPI providers", Already: "CAPI Operator CRDs not present – skipping provider deletion",
	})
	t.add(Step{
		ID: "wait-providers", Kind: Wait, Title: "Waiting until the CAPI providers are deleted...", Waits: "no provider to be left",
		Takes: []Fact{allProviders}, Moot: []Fact{allProviders}, Deadline: time.Duration(t.ProviderTimeout) * time.Second, Every: providersEvery, Tolerated: true,
		Success: "All CAPI providers removed",
	})
	b := t.File.Bootstrap
	for _, release := range []string{"flux", "flux-operator"} {
		there := Fact("controller/" + release)
		t.add(Step{
			ID: "uninstall-" + release, Kind: Delete, Title: "Uninstalling Helm release '" + release + "'...", Detail: []string{"from " + b.FluxNamespace},
			Clear: gone, Takes: []Fact{there}, Moot: []Fact{there}, Deadline: uninstallTime, Tolerated: true, Forced: t.ForceKindDelete,
		})
	}
	t.add(Step{
		ID: "delete-secrets", Kind: Delete, Title: "Deleting the secrets of the bootstrap...",
		Detail: []string{b.FluxNamespace + "/" + b.GithubPATSecret, b.FluxNamespace + "/" + b.SopsAgeSecret, "default/" + b.SopsAgeSecret, "capa-system/aws-credentials"},
		Clear:  gone, Takes: []Fact{"controller/secrets"}, Moot: []Fact{"controller/secrets"}, Tolerated: true, Forced: t.ForceKindDelete,
	})
}
