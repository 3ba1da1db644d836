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
	sweeping = Fact("run/sweeping")
	forced   = Fact("run/forced")

	ownKubeconfig = Fact("host/mgmt-kubeconfig-own")
)

// Teardown plans the removal of all that an environment has made.
//
// One law is above all others: the host of the controllers is only removed once it
// is confirmed that the Clusters they look after are gone. What else is left of
// them in a cloud costs money, and nobody is there any more who knows of it.
func Teardown(s *config.Settings, w World) Plan {
	p := Plan{Verb: "teardown", Environment: s.Environment.Name, Refusal: refusal(s)}
	if p.Refusal != "" {
		return p
	}
	if w.Of(forced).There() {
		p.Incomplete = "teardown incomplete: FORCE_KIND_DELETE=1 went on although it was not confirmed that the Clusters are gone; what they made may be left behind"
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
	for i, step := range p.Steps {
		if step.Verdict == Ready && step.Why != "" {
			p.Steps[i].Gives = append(slices.Clone(step.Gives), forced)
		}
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
	if _, err := e.SweepTargets(); err != nil && !s.Local() && !e.Teardown.HardwareRelease {
		// Nothing at all would be swept, and the controllers would be gone.
		return "it is not known what to sweep in AWS: " + err.Error() + "; set mgmt-region"
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
	// With neither a kind cluster nor a management cluster there is no controller to
	// ask. A kubeconfig may be older than the cluster it led to: whether that is gone,
	// the engine knows.
	bare := t.world.Of(mgmtKubeconfig).Gone() || t.world.Of(containers).Gone()
	headless := t.world.Host == HostRemoved || t.world.Host == HostUnreachable && bare
	prefix := t.Environment.Teardown.MgmtContainerPrefix
	t.discover()
	if t.world.Host == HostUnreachable {
		t.steps[0].Looks = []Fact{kindCluster, mgmtKubeconfig}
		if prefix != "" {
			t.steps[0].Looks = append(t.steps[0].Looks, containers)
		}
	}
	var gone []Fact
	if !headless {
		gone = t.inventory()
	}
	t.phase = "host"
	t.kind(gone)
	// From here on the cluster is taken apart. A run that finds half of it must not
	// take the silence of the rest for something to wait for.
	t.add(Step{
		ID: "forget-kubeconfig", Kind: Delete, Title: "Setting the kubeconfig of the management cluster aside...", Detail: []string{"as " + t.MgmtKubeconfig + ".old"},
		Clear: gone, Takes: []Fact{ownKubeconfig}, Moot: []Fact{ownKubeconfig}, Forced: t.ForceKindDelete, Guard: guard,
	})
	if prefix != "" {
		t.add(Step{
			ID: "delete-containers", Kind: Delete, Title: "Removing self-managed management cluster containers: " + prefix + "*",
			Clear: gone, Takes: []Fact{containers}, Moot: []Fact{containers}, Forced: t.ForceKindDelete, Guard: guard,
			Already: "No '" + prefix + "*' containers found – management cluster already gone",
		})
	}
	for _, name := range t.Environment.Teardown.CAPIWorkloads {
		left := Fact("host/containers/" + name)
		t.add(Step{
			ID: "delete-workload-containers-" + name, Kind: Delete, Title: "Removing the containers that are left of workload cluster '" + name + "'...",
			Clear: gone, Takes: []Fact{left}, Moot: []Fact{left}, Forced: t.ForceKindDelete,
		})
	}
	t.phase = "registry"
	t.add(Step{
		ID: "delete-registry", Kind: Delete, Title: "Removing the local registry '" + t.RegistryName + "'...",
		Clear: gone, Takes: []Fact{registry}, Moot: []Fact{registry}, Forced: t.ForceKindDelete,
	})
}

// inventory deletes the clusters an environment of this host declares, and returns
// what must be gone before their controllers are: Clusters of others count too.
func (t *teardown) inventory() []Fact {
	own := t.own()
	t.phase = "clusters"
	t.add(Step{
		ID: "suspend-workload", Kind: Change, Title: "Suspending the Flux Kustomization of the workload clusters...",
		Needs: []Fact{hostFound}, Gives: []Fact{"run/workload-suspended"}, EachRun: true, Tolerated: true, BestEffort: t.ForceKindDelete,
	})
	if t.onKind() {
		// The management cluster goes too: whatever part of the repository declares it
		// would make it again.
		t.suspend()
		t.phase = "clusters"
	}
	for _, name := range t.Environment.Teardown.CAPIWorkloads {
		t.workload(t.File.Bootstrap.MgmtNamespace, name)
	}
	others := workloads + Fact(own)
	if t.onKind() {
		// On a cluster that manages itself the management cluster is what the rest runs on.
		t.management(own, others)
		return []Fact{allClusters}
	}
	return []Fact{others}
}

// workload deletes one cluster and waits until it is gone.
func (t *teardown) workload(ns, name string) {
	there := cluster(ns, name)
	const left = "; leaving the management cluster intact"
	cannot := t.stops("", "cannot confirm the state of CAPD workload cluster '"+name+"'", left+" (re-run once the query works)")
	t.add(Step{
		ID: "delete-cluster-" + name, Kind: Delete, Title: "Deleting CAPD workload cluster '" + name + "'...",
		Needs: []Fact{there}, Gives: []Fact{Fact("deleting/" + ns + "/" + name)}, Moot: []Fact{there}, BestEffort: t.ForceKindDelete,
		Already: "Cluster '" + name + "' not found – skipping",
		Cannot:  cannot,
	})
	deleted := "CAPD workload cluster '" + name + "' deleted"
	already := ""
	if t.met("deleting/" + ns + "/" + name) {
		already = deleted
	}
	t.add(Step{
		ID: "wait-cluster-" + name, Kind: Wait, Title: "Waiting until CAPD workload cluster '" + name + "' is deleted...", Waits: "Cluster " + ns + "/" + name + " to be gone",
		Takes: []Fact{there}, Moot: []Fact{there}, Deadline: workloadBudget, Every: workloadEvery, BestEffort: t.ForceKindDelete,
		Success: deleted, Already: already,
		Cannot:  cannot,
		Overdue: t.stops("", "CAPD workload cluster '"+name+"' did not finish deleting within "+seconds(workloadBudget), left),
	})
}

// met tells whether there were Clusters in this run: it was asked whether they are
// being deleted.
func (t *teardown) met(prefix string) bool {
	return slices.ContainsFunc(t.world.Facts(), func(f Fact) bool { return strings.HasPrefix(string(f), prefix) })
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0fs", d.Seconds()) }

// release hands machines back: the deletion of the clusters is the release.
func (t *teardown) release() {
	t.discover()
	if t.world.Host == HostUnreachable {
		t.steps[0].Already = "No reachable controller host; nothing to release"
		return
	}
	if t.reachable() {
		t.everyCluster()
	}
	t.phase = "verify"
	t.add(Step{
		ID: "not-wiped", Kind: Check, Title: "The machine was NOT wiped: it still runs Talos.", Detail: []string{"its disks hold what they held; wipe it before others get it"},
		Gives: []Fact{"run/told"}, EachRun: true, Closing: true,
	})
}

// everyCluster deletes every Cluster, that of the management cluster among them.
func (t *teardown) everyCluster() {
	t.suspend()
	t.clusters(allClusters, wording{
		waits:   "every Cluster to be gone, which releases the Hardware to the pool",
		none:    "No CAPI clusters found; nothing to release",
		gone:    "All CAPI clusters deleted; Hardware released to the pool",
		cannot:  t.stops("", "cannot list the CAPI Clusters; the Hardware is not released", " and the management cluster was left intact"),
		overdue: t.stops("", "the CAPI clusters did not finish deleting; the Hardware is not released", " and the management cluster was left intact"),
	})
	t.host([]Fact{allClusters})
}

// discover finds where the controllers run.
func (t *teardown) discover() {
	t.phase = "discovery"
	t.add(Step{
		ID: "discover-host", Kind: Check, Title: "Looking for the controller host...", Needs: []Fact{hostFound}, Gives: []Fact{"run/discovered"}, EachRun: true,
		Detail: []string{t.KindContext + ", else " + t.MgmtKubeconfig}, BestEffort: t.ForceKindDelete,
		Cannot: t.stops("", "cannot tell where the CAPI controllers run", "; nothing was touched"),
	})
}

const aborted = "teardown aborted: "

// words is what is said of something that ends a teardown, and what is said of it
// when the teardown is forced to go on.
func (t *teardown) words(ends, forced string) string {
	if t.ForceKindDelete {
		return forced + "; FORCE_KIND_DELETE=1 goes on all the same"
	}
	return ends
}

// stops are the words for something that ends a teardown, with what is only true
// if it does end.
func (t *teardown) stops(begin, what, end string) string { return t.words(begin+what+end, what) }

// reachable tells whether there is a host of controllers, or may be.
func (t *teardown) reachable() bool {
	return t.world.Host != HostUnreachable && t.world.Host != HostRemoved && !t.AWSOnly
}

func (t *teardown) suspend() {
	t.phase = "suspend"
	t.add(Step{
		ID: "suspend-flux", Kind: Change, Title: "Suspending Flux Kustomizations to prevent re-reconciliation...",
		Needs: []Fact{hostFound}, Gives: []Fact{"run/flux-suspended"}, Moot: []Fact{"controller/kustomizations"}, EachRun: true, BestEffort: t.ForceKindDelete,
		Cannot:  t.stops("", "cannot list the Flux Kustomizations", "; aborting before any deletion"),
		Already: "No Flux Kustomizations found – skipping suspension", Success: "Flux Kustomizations suspended",
	})
}

// wording is what is said of the deletion of clusters.
type wording struct{ waits, none, gone, cannot, overdue string }

// clusters deletes the clusters a fact is about and waits until they are gone.
func (t *teardown) clusters(which Fact, say wording) {
	t.phase = "clusters"
	t.add(Step{
		ID: "list-clusters", Kind: Check, Title: "Discovering CAPI Cluster resources...", Needs: []Fact{hostFound}, Gives: []Fact{listed}, Cannot: say.cannot,
		BestEffort: t.ForceKindDelete,
	})
	names, known := t.world.Clusters.Names()
	if !known {
		t.add(Step{
			ID: "delete-clusters", Kind: Delete, Title: "Deleting every Cluster that is found...", Needs: []Fact{listed}, Takes: []Fact{which},
			BestEffort: t.ForceKindDelete, Cannot: say.cannot,
		})
	}
	about := clusters(which)
	for _, name := range names {
		if about(name) {
			t.deletion(name)
		}
	}
	if t.met("deleting/") {
		say.none = say.gone
	}
	t.add(Step{
		ID: "wait-clusters", Kind: Wait, Title: "Waiting until the CAPI clusters are deleted...", Waits: say.waits,
		Needs: []Fact{listed}, Takes: []Fact{which}, Deadline: time.Duration(t.ClusterTimeout) * time.Second, Every: clustersEvery, BestEffort: t.ForceKindDelete,
		Success: say.gone, Already: say.none, Cannot: say.cannot, Overdue: say.overdue,
	})
}

// deletion asks for the deletion of one cluster; the clusters go in parallel.
func (t *teardown) deletion(name string) {
	there := clusterFact + Fact(name)
	t.add(Step{
		// A namespace has no dot: the first one ends it.
		ID: "delete-cluster-" + strings.Replace(name, "/", ".", 1), Kind: Delete, Title: "Deleting Cluster " + name + "...", Detail: []string{"in the background"},
		Needs: []Fact{there}, Gives: []Fact{"deleting/" + Fact(name)}, Moot: []Fact{there}, BestEffort: t.ForceKindDelete,
	})
}

// guard is what is said when the controller host cannot be removed.
const guard = "refusing to remove the controller host: the CAPI controllers are left running; run again when 'kubectl get clusters -A' is empty, or set FORCE_KIND_DELETE=1"

// host removes the kind cluster if it is what the controllers run on, or if it was
// kept although they have moved.
func (t *teardown) host(gone []Fact) {
	t.phase = "host"
	if t.onKind() || t.kept() {
		t.kind(gone)
	}
}

// kind removes the kind cluster.
func (t *teardown) kind(gone []Fact) {
	s := Step{
		ID: "delete-kind", Kind: Delete, Title: "Deleting kind cluster '" + t.KindCluster + "'...",
		Clear: gone, Takes: []Fact{kindCluster}, Moot: []Fact{kindCluster}, Tolerated: true, Forced: t.ForceKindDelete, Guard: guard,
	}
	switch {
	case t.kept():
		s.Detail, s.Clear = []string{"it was kept after the pivot"}, append(slices.Clone(gone), sourceInventory)
	case !t.Local():
		s.Detail = []string{"when the controllers run on it"}
	}
	t.add(s)
}

// kept tells whether there is a kind cluster although the controllers have moved.
func (t *teardown) kept() bool {
	return t.world.Host == HostSelfManaged && t.world.Of(kindCluster).There()
}

// own is the Cluster of the management cluster itself.
func (t *teardown) own() string {
	return t.File.Bootstrap.MgmtNamespace + "/" + t.Environment.MgmtCluster
}

// onKind tells whether the controllers run on the kind cluster, or may.
func (t *teardown) onKind() bool { return t.world.Host == HostKind || t.world.Host == HostUnknown }

// cloud deletes the clusters of an environment, then what they left in AWS.
func (t *teardown) cloud() {
	targets, management := t.targets()
	// Where the management cluster manages itself the sweep removes what could be
	// asked, too: what was confirmed right before its first act holds for the rest.
	last := t.world.Host == HostSelfManaged && management && !t.AWSOnly
	if !t.AWSOnly {
		t.discover()
	}
	t.identity(targets)
	var gone []Fact
	if t.reachable() && (!last || !t.world.Of(sweeping).There()) {
		gone = t.everything()
	}
	switch {
	case last:
		if t.kept() {
			t.host(gone)
		}
		t.sweep(targets, gone)
		t.skipProviders()
	case t.reachable():
		t.sweep(targets, gone)
		t.providers(gone)
		t.host(gone)
	default:
		t.sweep(targets, nil)
	}
	t.phase = "verify"
	if management {
		// A file that names a cluster which is gone would stop the next bootstrap.
		const eks = Fact("aws/eks")
		t.add(Step{
			ID: "forget-kubeconfig", Kind: Delete, Title: "Setting the kubeconfig of the management cluster aside...", Detail: []string{"as " + t.MgmtKubeconfig + ".old"},
			Clear: []Fact{eks}, Takes: []Fact{ownKubeconfig}, Moot: []Fact{ownKubeconfig}, Tolerated: true, BestEffort: true,
		})
	}
	t.add(Step{
		ID: "verify", Kind: Check, Title: "Looking for what is left...", Gives: []Fact{"run/verified"}, EachRun: true, Closing: true, BestEffort: true,
	})
}

// everything deletes the workload clusters, and the management cluster where
// another one hosts its controllers. It returns what must be gone afterwards.
func (t *teardown) everything() []Fact {
	others := Fact(workloads + t.own())
	t.suspend()
	t.clusters(others, wording{
		waits:   "every workload Cluster to be gone",
		none:    "No CAPI workload clusters found – skipping cluster deletion",
		gone:    "All CAPI workload clusters deleted",
		cannot:  t.stops(aborted, "cannot list the CAPI Clusters", "; the management cluster and its controllers have been left intact"),
		overdue: t.stops(aborted, "CAPI workload clusters did not finish deleting", "; the management cluster and its controllers have been left intact"),
	})
	if !t.onKind() {
		return []Fact{others}
	}
	t.management(t.own(), others)
	return []Fact{allClusters}
}

// management deletes the management cluster too when its controllers run on kind.
func (t *teardown) management(name string, others Fact) {
	there := clusterFact + Fact(name)
	t.add(Step{
		ID: "delete-management", Kind: Delete, Title: "Deleting Cluster " + name + "...", Detail: []string{"once the workload clusters are gone, when its controllers run on kind"},
		Needs: []Fact{hostFound, there}, Clear: []Fact{others}, Gives: []Fact{"deleting/" + Fact(name)}, Moot: []Fact{there}, BestEffort: t.ForceKindDelete, Guard: t.words(guard, "Cluster "+name+" is not deleted"),
	})
	t.add(Step{
		ID: "wait-management", Kind: Wait, Title: "Waiting until the management cluster is deleted...", Waits: "Cluster " + name + " to be gone",
		Takes: []Fact{there}, Moot: []Fact{there}, Deadline: time.Duration(t.ClusterTimeout) * time.Second, Every: clustersEvery, BestEffort: t.ForceKindDelete,
		Overdue: t.stops(aborted, "Cluster "+name+" did not finish deleting", "; its controllers have been left intact"),
	})
}

// targets are the clusters to sweep, and whether the management cluster is one.
func (t *teardown) targets() ([]config.SweepTarget, bool) {
	targets, _ := t.Environment.SweepTargets() // its error is a refusal
	return targets, slices.ContainsFunc(targets, func(t config.SweepTarget) bool { return t.Management })
}

// identity asks who we are in AWS before anything is touched: who is nobody there
// learns it now, not after the clusters are gone.
func (t *teardown) identity(targets []config.SweepTarget) {
	if len(targets) == 0 {
		return
	}
	if t.AWSOnly {
		t.phase = "sweep"
	}
	t.add(Step{
		ID: "aws-identity", Kind: Check, Title: "Asking AWS who we are...", Gives: []Fact{identity}, EachRun: true, BestEffort: !t.AWSOnly,
	})
}

// skipProviders says why the providers are not asked for.
func (t *teardown) skipProviders() {
	why := "The sweep has not removed the management cluster – provider and Helm cleanup skipped"
	if t.world.Of("aws/eks").Gone() {
		why = "Management cluster removed by the sweep – provider and Helm cleanup skipped"
	}
	t.phase = "host"
	t.add(Step{ID: "skip-providers", Kind: Check, Title: why, Gives: []Fact{"run/providers-skipped"}, EachRun: true, Closing: true, BestEffort: true})
}

// sweep removes what is left in AWS, unit by unit over all clusters.
func (t *teardown) sweep(targets []config.SweepTarget, gone []Fact) {
	t.phase = "sweep"
	account := t.File.Teardown
	if len(targets) == 0 {
		return
	}
	var names, regions []string
	for _, target := range targets {
		names = append(names, fmt.Sprintf("[%s] cluster: %s", target.Region, target.EKSName))
		if region := target.Region; !slices.Contains(regions, region) {
			regions = append(regions, region)
		}
	}
	unit := func(id, title string, detail []string) {
		there := Fact("aws/" + id)
		t.add(Step{
			ID: "sweep-" + id, Kind: Delete, Title: title, Detail: detail, Needs: []Fact{identity}, Clear: gone, Gives: []Fact{sweeping},
			Takes: []Fact{there}, Moot: []Fact{there}, BestEffort: true, Tolerated: true, Forced: t.ForceKindDelete, Guard: guard,
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
}

// providers removes Cluster API and Flux from a host that stays or goes by hand.
func (t *teardown) providers(gone []Fact) {
	t.phase = "providers"
	t.add(Step{
		ID: "delete-providers", Kind: Delete, Title: "Deleting CAPI providers...", Detail: []string{"addon, controlplane, bootstrap, infrastructure, core"},
		Needs: []Fact{hostFound}, Clear: gone, Gives: []Fact{"run/providers-deleted"}, Moot: []Fact{allProviders}, EachRun: true, Forced: t.ForceKindDelete,
		BestEffort: t.ForceKindDelete, Cannot: t.words("teardown aborted", "the CAPI providers are not deleted"), Already: "CAPI Operator CRDs not present – skipping provider deletion",
	})
	removed := "All CAPI providers removed"
	already := ""
	if t.world.Of("run/providers-deleted").There() {
		already = removed
	}
	t.add(Step{
		ID: "wait-providers", Kind: Wait, Title: "Waiting until the CAPI providers are deleted...", Waits: "no provider to be left",
		Takes: []Fact{allProviders}, Moot: []Fact{allProviders}, Deadline: time.Duration(t.ProviderTimeout) * time.Second, Every: providersEvery, Tolerated: true,
		BestEffort: t.ForceKindDelete, Success: removed, Already: already, Cannot: t.words("teardown aborted", "the CAPI providers are not deleted"),
		Overdue: "CAPI providers did not finish deleting within " + seconds(time.Duration(t.ProviderTimeout)*time.Second) + " – continuing",
	})
	b := t.File.Bootstrap
	for _, release := range []string{"flux", "flux-operator"} {
		there := Fact("controller/" + release)
		t.add(Step{
			ID: "uninstall-" + release, Kind: Delete, Title: "Uninstalling Helm release '" + release + "'...", Detail: []string{"from " + b.FluxNamespace},
			Clear: gone, Takes: []Fact{there}, Moot: []Fact{there}, Deadline: uninstallTime, Tolerated: true, Forced: t.ForceKindDelete, BestEffort: true, Guard: guard,
			Already: "Helm release '" + release + "' not found – skipping",
		})
	}
	t.add(Step{
		ID: "delete-secrets", Kind: Delete, Title: "Deleting the secrets of the bootstrap...",
		Detail: []string{b.FluxNamespace + "/" + b.GithubPATSecret, b.FluxNamespace + "/" + b.SopsAgeSecret, "default/" + b.SopsAgeSecret, "capa-system/aws-credentials"},
		Clear:  gone, Takes: []Fact{"controller/secrets"}, Moot: []Fact{"controller/secrets"}, Tolerated: true, Forced: t.ForceKindDelete, BestEffort: true, Guard: guard,
	})
}
