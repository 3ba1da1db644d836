package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

func TestNoRivalIsMadeOfAManagementClusterThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbBootstrap, "aws")
	silent := empty().With("host/mgmt-kubeconfig", plan.Present()).With("target/inventory", plan.Failed("no connection"))
	refused := find(t, plan.Bootstrap(s, silent), "create-kind")
	same(t, refused.Verdict, plan.Refused)
	for _, word := range []string{"/home/op/.kube/krops-mgmt.yaml", "eu-north-1-management", "move the file away", "no connection"} {
		if !strings.Contains(refused.Why, word) {
			t.Errorf("%q does not say %q", refused.Why, word)
		}
	}
	same(t, find(t, plan.Bootstrap(s, empty()), "create-kind").Verdict, plan.After)

	// The kind cluster still has the inventory: that one cannot manage itself yet.
	young := built(t, "aws", "BOOTSTRAP_PIVOT=0").With("host/mgmt-kubeconfig", plan.Present()).
		With("source/inventory", plan.Present()).With("target/inventory", plan.Failed("no connection"))
	same(t, find(t, plan.Bootstrap(s, young), "pivot-source").Verdict, plan.Ready)
	// It has none, and the one that may have it does not answer.
	lost := young.With("source/inventory", plan.Absent("looked"))
	same(t, find(t, plan.Bootstrap(s, lost), "cluster-definition").Verdict, plan.Blocked, find(t, plan.Bootstrap(s, lost), "pivot-source").Verdict, plan.Refused)
}

func TestAMoveThatTookTheSecretAlongIsTakenUp(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbBootstrap, "aws")
	w := empty()
	for _, step := range plan.Bootstrap(s, w).Steps {
		if step.ID == "move" {
			break
		}
		w = w.After(step)
	}
	w = w.With("target/inventory", plan.Present()).With("source/mgmt-kubeconfig", plan.Absent("moved")).With("source/kubeconfig-exported", plan.Absent("moved"))
	same(t, find(t, plan.Bootstrap(s, w), "cluster-kubeconfig").Verdict, plan.Done, find(t, plan.Bootstrap(s, w), "export-kubeconfig").Verdict, plan.Done)
	left := plan.Bootstrap(s, w.Forget()).Left()
	same(t, slices.Contains(ids(left), "move"), true, slices.Contains(ids(left), "cluster-kubeconfig"), false)
}

func TestTheFileOfAnotherClusterIsNotTakenForTheOneThatIsMade(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbBootstrap, "aws")
	w := empty().With("host/mgmt-kubeconfig", plan.Present()).With("target/inventory", plan.Absent("it manages another one")).
		With("target/nodes-ready", plan.Present())
	p := plan.Bootstrap(s, w)
	same(t, find(t, p, "export-kubeconfig").Verdict, plan.After, find(t, p, "target-nodes").Verdict, plan.After)
}

func TestAClusterIsReplacedOnceInARun(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbBootstrap, "local-host", "BOOTSTRAP_PIVOT=0")
	s.Recreate = true
	for name, w := range map[string]plan.World{"one that exists": built(t, "local-host", "BOOTSTRAP_PIVOT=0"), "none": empty()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps, end, err := drive(plan.Bootstrap, do, s, w, 0)
			deleted := 0
			for _, step := range steps {
				if step.ID == "recreate-kind" {
					deleted++
				}
			}
			same(t, err, nil, deleted, map[string]int{"none": 0, "one that exists": 1}[name])
			same(t, ids(plan.Bootstrap(s, end).Left()), []string{})
		})
	}
}

func TestARerunDoesNotWaitForWhatIsSuspendedForTheMove(t *testing.T) {
	t.Parallel()
	s := settings(t, config.VerbBootstrap, "local-host")
	w := empty()
	for _, step := range plan.Bootstrap(s, w).Steps {
		if step.ID == "move" {
			break
		}
		w = w.After(step)
	}
	w = w.With("source/flux-apps-ready", plan.Absent("its state is of before")).With("source/workload-flux-controllers", plan.Absent("the same"))
	same(t, find(t, plan.Bootstrap(s, w), "flux-apps-ready").Verdict, plan.Done, find(t, plan.Bootstrap(s, w), "workload-flux-controllers").Verdict, plan.Done)

	nothing := w.With("source/flux-apps", plan.Absent("looked"))
	if v := find(t, plan.Bootstrap(s, nothing), "flux-apps-created").Verdict; v == plan.Done {
		t.Error("nothing was created, and nothing is waited for")
	}
}
