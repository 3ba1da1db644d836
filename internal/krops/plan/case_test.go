package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

func same(t *testing.T, pairs ...any) {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if diff := cmp.Diff(pairs[i+1], pairs[i]); diff != "" {
			t.Errorf("value %d (-want +got):\n%s", i/2, diff)
		}
	}
}

func find(t *testing.T, p plan.Plan, id string) plan.Step {
	t.Helper()
	for _, s := range p.Steps {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no step %s in %v", id, ids(p.Steps))
	return plan.Step{}
}

func TestWhatAnswersMean(t *testing.T) {
	t.Parallel()
	const there, gone, unknown = "present", "confirmed absent", "unknown"
	for name, c := range map[string]struct {
		answer       plan.Answer
		lookup, list string
	}{
		"D1 success, nothing":               {plan.Answer{}, gone, "[]"},
		"D1 success, something":             {plan.Answer{Items: []string{"a"}}, there, "[a]"},
		"D1 not found":                      {plan.Answer{Failure: plan.NotFound}, gone, unknown},
		"D1 a listing that fails":           {plan.Answer{Failure: plan.Unavailable}, unknown, unknown},
		"D2 no such type":                   {plan.Answer{Failure: plan.NoSuchKind}, gone, "[]"},
		"no such type, but types are lost":  {plan.Answer{Failure: plan.NoSuchKind, Incomplete: true}, unknown, unknown},
		"not authenticated":                 {plan.Answer{Failure: plan.Unauthorized}, unknown, unknown},
		"forbidden":                         {plan.Answer{Failure: plan.Forbidden}, unknown, unknown},
		"timeout":                           {plan.Answer{Failure: plan.TimedOut}, unknown, unknown},
		"reset":                             {plan.Answer{Failure: plan.Reset}, unknown, unknown},
		"nonsense":                          {plan.Answer{Failure: plan.Undecodable}, unknown, unknown},
		"a failure nobody has heard of":     {plan.Answer{Failure: 99}, unknown, unknown},
		"a failure that came with an item":  {plan.Answer{Failure: plan.Reset, Items: []string{"a"}}, unknown, unknown},
		"a failure that came with no items": {plan.Answer{Failure: plan.Forbidden, Items: []string{}}, unknown, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lookup, _, _ := strings.Cut(plan.Lookup(c.answer).String(), ":")
			list, _, _ := strings.Cut(plan.List(c.answer).String(), ":")
			same(t, lookup, c.lookup, list, c.list, plan.Lookup(c.answer).Gone(), c.lookup == gone)
		})
	}
	var zero plan.Presence
	same(t, zero.Gone(), false, zero.There(), false, zero.Unknown(), true)
}

func TestAFailedQueryStopsATeardown(t *testing.T) {
	t.Parallel()
	forbidden := plan.List(plan.Answer{Failure: plan.Forbidden})
	for name, c := range map[string]struct {
		profile    string
		change     func(plan.World) plan.World
		step, want string
	}{
		"D4 a workload cluster": {
			"local-host", func(w plan.World) plan.World { w.Clusters = forbidden; return w }, "delete-cluster-local-workload",
			"cannot confirm the state of CAPD workload cluster 'local-workload'; leaving the management cluster intact",
		},
		"D5 the clusters": {"aws", func(w plan.World) plan.World { w.Clusters = forbidden; return w }, "list-clusters", "teardown aborted: cannot list the CAPI Clusters; the management cluster and its controllers have been left intact: forbidden"},
		"D5 the clusters of hardware": {
			"local-talos", func(w plan.World) plan.World { w.Clusters = forbidden; return w }, "list-clusters", "cannot list the CAPI Clusters; the Hardware is not released and the management cluster was left intact: forbidden",
		},
		"D11 the Kustomizations": {
			"aws", func(w plan.World) plan.World { return w.With("controller/kustomizations", plan.Failed("timed out")) }, "suspend-flux",
			"cannot list the Flux Kustomizations; aborting before any deletion: timed out",
		},
		"D12 the providers": {"aws", func(w plan.World) plan.World {
			w.Providers = plan.Unlisted("cannot list the CAPI addonproviders providers: forbidden")
			return w
		}, "delete-providers", "teardown aborted: cannot list the CAPI addonproviders providers: forbidden"},
		"Q7 the kind clusters": {
			"local-host", func(w plan.World) plan.World { return w.With("host/kind-cluster", plan.Failed("no engine")) }, "delete-kind",
			"cannot confirm the state of kind cluster of this host: no engine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := c.change(controlled(plan.HostKind, "default/local-workload", "default/w"))

			p := plan.Teardown(settings(t, config.VerbTeardown, c.profile), w)

			step := find(t, p, c.step)
			if step.Verdict != plan.Refused || !strings.HasPrefix(step.Why, c.want) {
				t.Errorf("%s: %s", step.Verdict, step.Why)
			}
			behind := false
			for _, s := range p.Steps {
				if behind && s.Kind == plan.Delete && s.Verdict != plan.Blocked && s.Verdict != plan.Done {
					t.Errorf("%s is %s", s.ID, s.Verdict)
				}
				behind = behind || s.ID == c.step
			}
		})
	}
}

func TestD7OnlyTheManagementClusterLeftIsConfirmedGone(t *testing.T) {
	t.Parallel()
	w := controlled(plan.HostSelfManaged, "default/eu-north-1-management")
	p := plan.Teardown(settings(t, config.VerbTeardown, "aws"), w)
	same(t, find(t, p, "wait-clusters").Verdict, plan.Done)
	if slices.Contains(ids(p.Steps), "delete-management") {
		t.Error("the management cluster is told to delete itself")
	}
}

func TestD13AManualTeardownIsRefused(t *testing.T) {
	t.Parallel()
	p := plan.Teardown(settings(t, config.VerbTeardown, "azure"), plan.World{})
	same(t, p.Refusal, "teardown is manual for the 'azure' environment:\nDelete the clusters and their resource groups by hand.", len(p.Steps), 0)
	same(t, plan.Teardown(settings(t, config.VerbTeardown, "aws"), plan.World{}).Refusal, "")
}

func TestAWSOnly(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]string{
		"local-host":  "AWS_ONLY=1 cannot be combined with the local-host profile\nUse the AWS profile for AWS-only orphan cleanup",
		"local-talos": "AWS_ONLY=1 cannot be combined with the local-talos profile\nThere is no AWS orphan sweep for operator-owned hardware",
	} {
		same(t, plan.Teardown(settings(t, config.VerbTeardown, profile, "AWS_ONLY=1"), plan.World{}).Refusal, want)
	}
	p := plan.Teardown(settings(t, config.VerbTeardown, "aws", "AWS_ONLY=1"), controlled(plan.HostKind, "default/w"))
	for _, s := range p.Steps {
		if s.Phase != "sweep" && s.Phase != "verify" {
			t.Errorf("%s is no sweep", s.ID)
		}
	}
	same(t, p.Incomplete, "")
}

func TestD15TheGuardOfTheHost(t *testing.T) {
	t.Parallel()
	guard := find(t, plan.Teardown(settings(t, config.VerbTeardown, "aws"), controlled(plan.HostKind, "default/w")), "delete-kind")
	for _, word := range []string{"controller host", "FORCE_KIND_DELETE=1", "kubectl get clusters -A' is empty"} {
		if !strings.Contains(guard.Guard, word) {
			t.Errorf("%q does not say %q", guard.Guard, word)
		}
	}
}

func TestQ4ForceRemovesAHostWhoseClustersAreUnknownAndEndsWithAnError(t *testing.T) {
	t.Parallel()
	w := controlled(plan.HostKind, "default/w")
	w.Clusters = plan.List(plan.Answer{Failure: plan.TimedOut})

	p := plan.Teardown(settings(t, config.VerbTeardown, "aws", "FORCE_KIND_DELETE=1"), w)

	if v := find(t, p, "delete-kind").Verdict; v != plan.Ready {
		t.Errorf("the host is %s", v)
	}
	if p.Incomplete == "" {
		t.Error("the run would end well")
	}
	if v := find(t, plan.Teardown(settings(t, config.VerbTeardown, "aws"), w), "delete-kind").Verdict; v != plan.Blocked {
		t.Errorf("without force the host is %s", v)
	}
}

func TestQ16AFailedQueryOfAWSStopsItsUnitOnlyAndIsNoSuccess(t *testing.T) {
	t.Parallel()
	w := controlled(plan.HostKind).With("aws/rds", plan.Failed("expired credentials")).With("run/aws-identity", plan.Present())

	p := plan.Teardown(settings(t, config.VerbTeardown, "aws"), w)

	same(t, find(t, p, "sweep-rds").Verdict, plan.Refused)
	if v := find(t, p, "sweep-vpcs").Verdict; v == plan.Blocked || v == plan.Done {
		t.Errorf("the next unit is %s", v)
	}
	same(t, p.Incomplete, "teardown incomplete: sweep-rds: cannot confirm the state of rds in AWS: expired credentials")
}

func TestAnUnreachableHost(t *testing.T) {
	t.Parallel()
	w := controlled(plan.HostUnreachable)
	p := plan.Teardown(settings(t, config.VerbTeardown, "aws"), w)
	if p.Incomplete == "" || !strings.Contains(p.Incomplete, "AWS_ONLY=1") {
		t.Errorf("%q", p.Incomplete)
	}
	same(t, ids(plan.Teardown(settings(t, config.VerbTeardown, "local-talos"), w).Left()), []string{})
}

func TestV4TheOrderOfWhatIsAppliedToTheTarget(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbBootstrap, "azure")
	s.Environment.PivotSopsSecrets = []string{"a.sops.yaml"}
	names := ids(plan.Bootstrap(s, empty()).Steps)
	var order []int
	for _, id := range []string{"capi-operator", "provider-manifests", "pivot-manifests", "pivot-sops-secrets", "target-providers", "suspend-source", "move"} {
		order = append(order, slices.Index(names, id))
	}
	if !slices.IsSorted(order) || order[0] < 0 {
		t.Errorf("%v in %v", order, names)
	}
}

func TestAnInterruptedMoveIsTakenUpAndKindIsNotReplaced(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbBootstrap, "aws")
	w := empty()
	for _, step := range plan.Bootstrap(s, w).Steps {
		if step.ID == "move" {
			step.Takes = nil // killed between the creation and the deletion
			w = w.After(step)
			break
		}
		w = w.After(step)
	}
	same(t, ids(plan.Bootstrap(s, w.Forget()).Left())[0:6], []string{"preflight-github", "preflight-age", "preflight-eip-quota", "preflight-engine", "pivot-source", "move"})

	s.Recreate = true
	same(t, find(t, plan.Bootstrap(s, w.Forget()), "recreate-kind").Verdict, plan.Refused)
}

func TestRecreate(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbBootstrap, "local-host", "BOOTSTRAP_PIVOT=0")
	w := built(t, "local-host", "BOOTSTRAP_PIVOT=0")
	s.Recreate = true
	same(t, ids(plan.Bootstrap(s, w).Left())[:4], []string{"preflight-engine", "recreate-kind", "create-kind", "kind-ready"})
	same(t, find(t, plan.Bootstrap(s, w), "registry").Verdict, plan.Done)
	same(t, find(t, plan.Bootstrap(s, w), "flux-operator").Verdict, plan.After)
	same(t, find(t, plan.Bootstrap(s, empty()), "recreate-kind").Verdict, plan.Done)
	same(t, find(t, plan.Bootstrap(s, plan.World{}), "recreate-kind").Verdict, plan.Ask)
}

func TestAClusterThatIsGoneIsNotBuiltAgainBesideTheOneItMovedTo(t *testing.T) {
	t.Parallel()
	w := built(t, "aws").With("target/flux-operator", plan.Absent("looked"))
	left := ids(plan.Bootstrap(settings(t, config.VerbBootstrap, "aws"), w).Left())
	same(t, slices.Contains(left, "create-kind"), false, slices.Contains(left, "target-flux-operator"), true)
}

func TestPlansHoldNoSecret(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := plan.Bootstrap(settings(t, config.VerbBootstrap, "aws"), empty()).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "hunter2") {
		t.Error("the token is in the plan")
	}
}

func TestNoKindClusterIsMadeBeforeTheManagementClusterIsAsked(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbBootstrap, "aws")
	w := empty().With("host/mgmt-kubeconfig", plan.Present())
	same(t, find(t, plan.Bootstrap(s, w), "create-kind").Verdict, plan.Ask)
	same(t, find(t, plan.Bootstrap(s, w.With("target/inventory", plan.Present())), "create-kind").Verdict, plan.Done)
	same(t, find(t, plan.Bootstrap(s, w.With("target/inventory", plan.Absent("looked"))), "create-kind").Verdict, plan.After)
	same(t, find(t, plan.Bootstrap(s, empty()), "create-kind").Verdict, plan.After)
}

func TestWhatIsSaidOfWhatIsDone(t *testing.T) {
	t.Parallel()
	before := plan.Bootstrap(settings(t, config.VerbBootstrap, "aws"), built(t, "aws", "BOOTSTRAP_PIVOT=0"))
	same(t, find(t, before, "create-kind").Why, "Reusing existing kind cluster 'mgmt' (pass --recreate to replace it)...")
	after := plan.Bootstrap(settings(t, config.VerbBootstrap, "aws"), built(t, "aws"))
	same(t, find(t, after, "create-kind").Why, "the inventory is on the management cluster")

	w := controlled(plan.HostKind)
	p := plan.Teardown(settings(t, config.VerbTeardown, "aws"), w.With("controller/kustomizations", plan.Absent("empty")))
	same(t, find(t, p, "suspend-flux").Why, "No Flux Kustomizations found – skipping suspension", find(t, p, "wait-clusters").Why, "No CAPI workload clusters found – skipping cluster deletion")
	local := plan.Teardown(settings(t, config.VerbTeardown, "local-host"), w)
	same(t, find(t, local, "delete-cluster-local-workload").Why, "Cluster 'local-workload' not found – skipping")
}

func TestWhatIsForcedDoesNotSayThatItStopped(t *testing.T) {
	t.Parallel()
	untrue := func(s *config.Settings, w plan.World) string {
		for _, step := range plan.Teardown(s, w).Steps {
			for _, text := range []string{step.Why, step.Overdue, step.Cannot, step.Guard} {
				goesOn := step.BestEffort || step.Forced || step.Tolerated
				for _, lie := range []string{"intact", "abort", "nothing was touched", "left running"} {
					// The guard of a step that is forced is never said.
					if goesOn && strings.Contains(text, lie) && (text != step.Guard || !step.Forced) {
						return step.ID + ": " + text
					}
				}
			}
		}
		return ""
	}
	forbidden := plan.List(plan.Answer{Failure: plan.Forbidden})
	for _, profile := range []string{"aws", "local-host", "local-talos"} {
		forced := settings(t, config.VerbTeardown, profile, "FORCE_KIND_DELETE=1")
		for _, host := range []plan.Host{plan.HostKind, plan.HostSelfManaged} {
			known := controlled(host, inventory(t, profile)...)
			lost := known
			lost.Clusters, lost.Providers = forbidden, plan.Unlisted("forbidden")
			nowhere := lost.With("controller/host", plan.Failed("no connection"))
			nowhere.Host = plan.HostUnknown
			for _, w := range []plan.World{{}, known, lost, nowhere, known.With("controller/kustomizations", plan.Failed("timed out"))} {
				same(t, untrue(forced, w), "")
			}
		}
	}
	w := plan.World{}.With("controller/host", plan.Failed("no connection"))
	step := find(t, plan.Teardown(settings(t, config.VerbTeardown, "aws", "FORCE_KIND_DELETE=1"), w), "discover-host")
	same(t, step.Why, "cannot tell where the CAPI controllers run; FORCE_KIND_DELETE=1 goes on all the same: no connection")
	step = find(t, plan.Teardown(settings(t, config.VerbTeardown, "aws"), w), "discover-host")
	same(t, step.Why, "cannot tell where the CAPI controllers run; nothing was touched: no connection")
}

// A Cluster of the same name in another namespace is that of somebody else.
func TestAWorkloadClusterIsThatOfTheNamespaceOfTheConfiguration(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbTeardown, "local-host")
	s.File.Bootstrap.MgmtNamespace = "fleet"
	p := plan.Teardown(s, controlled(plan.HostKind, "fleet/local-workload", "default/local-workload"))
	same(t, find(t, p, "delete-cluster-local-workload").Needs, []plan.Fact{"cluster/fleet/local-workload"},
		find(t, p, "wait-cluster-local-workload").Takes, []plan.Fact{"cluster/fleet/local-workload"}, find(t, p, "delete-kind").Verdict, plan.Refused)
}

// Without the region of one cluster nothing is swept, of the others neither: that is
// told before the controllers are gone.
func TestARegionThatIsNotKnownIsNotSkipped(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"AWS_ONLY=0", "AWS_ONLY=1"} {
		s := settings(t, config.VerbTeardown, "aws", env)
		s.Environment.MgmtCluster = "north"
		p := plan.Teardown(s, controlled(plan.HostKind, "default/w"))
		same(t, p.Refusal, "it is not known what to sweep in AWS: mgmt-cluster 'north' does not end with '-management'; cannot derive its AWS region; set mgmt-region", len(p.Steps), 0)
	}
}
