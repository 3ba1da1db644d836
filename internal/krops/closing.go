package krops

import (
	"fmt"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// closing says what a run has come to, where the phases of its plan end.
type closing struct{ *config.Settings }

// pivoting is the first phase of a pivot.
const pivoting = "definition"

func (c closing) milestone(phase string, r run.Report, v run.Voice) {
	switch {
	case r.Verb == "teardown":
		if phase == run.End {
			v.Print("✓ Teardown complete.")
		}
	case phase == pivoting, phase == run.End && !c.Pivot:
		c.bootstrapped(r, v)
	case phase == run.End:
		c.pivoted(v)
	}
}

// bootstrapped says that Flux is at work on the kind cluster. When the inventory has
// left it there is nothing to say.
func (c closing) bootstrapped(r run.Report, v run.Voice) {
	if r.World.Of("target/inventory").There() && !r.World.Of("source/inventory").There() {
		return
	}
	v.Print("")
	if slices.Contains(r.Failed, "flux-controllers") {
		v.Print(">>> Bootstrap finished WITH WARNINGS: not all Flux controllers are ready")
	}
	if c.NeedsGithub() {
		v.Print(">>> Bootstrap complete! Flux is now reconciling from " + c.GitRepoURL)
		v.Print(">>>   Watch it with: flux get kustomizations --watch")
		return
	}
	v.Print(">>> Bootstrap complete: Flux is reconciling from the local OCI artifact")
	v.Print(fmt.Sprintf(">>>   Registry: localhost:%d", c.RegistryPort))
	v.Print(fmt.Sprintf(">>>   OCI source: oci://%s:5000/%s:%s (path: %s)", c.RegistryName, c.OCIRepository, c.OCITag, c.Environment.SyncPath))
	v.Print(">>>   Watch it with: flux get kustomizations --watch")
	v.Print(">>> No AWS resources were provisioned")
}

// pivoted says that the management cluster stands alone, and how to reach it. The
// context of the caller is his.
func (c closing) pivoted(v run.Voice) {
	if c.KeepKind {
		v.Print(">>> PIVOT_SKIP_DELETE=1: keeping the kind bootstrap cluster for inspection")
		return
	}
	v.Print(">>> Pivot complete: the management cluster is self-managed.")
	v.Print(">>>   Kubeconfig: " + c.MgmtKubeconfig)
	v.Print(">>>   Use it with: kubectl --kubeconfig " + c.MgmtKubeconfig + " get clusters -A")
	v.Print(">>>   or: export KUBECONFIG=" + c.MgmtKubeconfig)
}
