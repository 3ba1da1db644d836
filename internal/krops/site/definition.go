package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/move"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// definitionPart is the management cluster as the kind cluster describes it, until
// its kubeconfig is a file.
func (s *Site) definitionPart() part {
	return part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"source/inventory":       s.sourceInventory,
			"source/mgmt-kubeconfig": s.mgmtSecret,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"pivot-source":      s.pivotSource,
			"export-kubeconfig": s.exportKubeconfig,
		},
		holds: map[string]func(context.Context, plan.Step) (string, error){
			"cluster-definition": s.definitionHold(&patience{now: s.now}),
			"cluster-kubeconfig": s.clusterHold,
		},
		diagnoses: map[string]func(context.Context, plan.Step, run.Voice){
			"cluster-definition": s.diagnoseDefinition,
			"cluster-kubeconfig": s.diagnoseCluster,
		},
	}
}

func (s *Site) mgmtNamespace() string { return s.Settings.File.Bootstrap.MgmtNamespace }

// sourceInventory tells whether the kind cluster has what is to be moved. Without
// the Cluster of the management cluster the rest counts only where a move may have
// taken that: until then it is yet to come.
func (s *Site) sourceInventory(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.source(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	mgmt := c.Lookup(ctx, kube.CAPICluster, s.mgmtNamespace(), s.Settings.Environment.MgmtCluster)
	if !mgmt.Gone() {
		return mgmt
	}
	left, err := move.Look(ctx, c, s.mgmtNamespace())
	switch {
	case err != nil:
		return plan.Failed(err.Error())
	case left.Empty():
		return plan.Absent("the kind cluster has nothing that a move would take")
	case left.Unfinished:
		return plan.Present()
	}
	if s.mgmtKubeconfig(ctx, "").Gone() {
		return mgmt
	}
	switch moved := s.targetInventory(ctx, ""); {
	case moved.There():
		return plan.Present()
	case moved.Gone():
		return mgmt
	default:
		return moved
	}
}

func (s *Site) mgmtSecret(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.source(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	return c.Lookup(ctx, kube.Secret, s.mgmtNamespace(), s.Settings.Environment.MgmtCluster+"-kubeconfig")
}

// pivotSource makes sure that the kind cluster is the one to move from, and that
// its controllers can work: an earlier run may have stopped in the middle of a
// move and left Clusters paused.
func (s *Site) pivotSource(ctx context.Context, _ plan.Step, v run.Voice) error {
	c, err := s.source(ctx)
	if err != nil {
		return err
	}
	if have, want := c.Context(), s.Settings.KindContext; have != want {
		v.Trouble("current kubectl context: %s\nexpected:                %s\nThe kind bootstrap cluster must be the move SOURCE.\n"+
			"Unset BOOTSTRAP_KUBECONTEXT, or let KROPS_KIND_CLUSTER name the cluster of that context.", have, want)
		return fmt.Errorf("current kubectl context is '%s', expected '%s'", have, want)
	}
	if err := c.Answers(ctx); err != nil {
		return err
	}
	lifted, err := move.Release(ctx, c, s.mgmtNamespace())
	if err != nil {
		return err
	}
	if lifted {
		v.Detail("an earlier move was interrupted: the Clusters it had paused run again")
	}
	return nil
}

// exportKubeconfig writes the kubeconfig of the management cluster. A file that
// leads elsewhere is kept beside it.
func (s *Site) exportKubeconfig(ctx context.Context, _ plan.Step, v run.Voice) error {
	if c, err := s.source(ctx); err == nil {
		s.showTree(ctx, c, v)
	}
	want, err := s.managementKubeconfig(ctx)
	if err != nil {
		return err
	}
	path := s.mgmtFile()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("export the kubeconfig: %w", err)
	}
	have, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("export the kubeconfig: %w", err)
	default:
		if same, err := kube.SameAccess(have, want); err != nil || !same {
			if err := renameio.WriteFile(path+".old", have, 0o600, renameio.WithStaticPermissions(0o600)); err != nil {
				return fmt.Errorf("keep the kubeconfig that was there: %w", err)
			}
			v.Detail("what was there before is kept as %s.old", path)
		}
	}
	if err := renameio.WriteFile(path, want, 0o600, renameio.WithStaticPermissions(0o600)); err != nil {
		return fmt.Errorf("export the kubeconfig: %w", err)
	}
	return nil
}

// definitionHold says what Flux says of its work, until there is a Cluster. Any of
// its Kustomizations may be the one that makes it.
func (s *Site) definitionHold(p *patience) func(context.Context, plan.Step) (string, error) {
	return func(ctx context.Context, _ plan.Step) (string, error) {
		c, err := s.source(ctx)
		if err != nil {
			return waiting(err)
		}
		list, err := c.List(ctx, kube.Kustomization, s.fluxNamespace())
		if err != nil {
			return waiting(err)
		}
		seen := &trouble{}
		for i := range list {
			seen.look(&list[i])
		}
		return seen.why(), p.with(seen)
	}
}

func (s *Site) diagnoseDefinition(ctx context.Context, _ plan.Step, v run.Voice) {
	if c, err := s.source(ctx); err == nil {
		showKustomizations(ctx, c, v)
	}
}

// clusterHold says how far the management cluster is.
func (s *Site) clusterHold(ctx context.Context, _ plan.Step) (string, error) {
	c, err := s.source(ctx)
	if err != nil {
		return "", nil //nolint:nilerr // waiting on may help
	}
	u, err := c.Get(ctx, kube.CAPICluster, s.mgmtNamespace(), s.Settings.Environment.MgmtCluster)
	if err != nil {
		return "", nil //nolint:nilerr // waiting on may help
	}
	for _, name := range []string{"InfrastructureReady", "ControlPlaneInitialized", "ControlPlaneAvailable", "Available"} {
		status, reason, message, ok := kube.Condition(u, name)
		if !ok || status == "True" {
			continue
		}
		if message == "" {
			message = reason
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(message), "* "), "\n")
		return name + ": " + first, nil
	}
	return "", nil
}

func (s *Site) diagnoseCluster(ctx context.Context, _ plan.Step, v run.Voice) {
	c, err := s.source(ctx)
	if err != nil {
		return
	}
	s.showTree(ctx, c, v)
}

// showTree prints the management cluster with what hangs on it, if it can.
func (s *Site) showTree(ctx context.Context, c *kube.Cluster, v run.Voice) {
	if text, err := move.Tree(ctx, c, s.mgmtNamespace(), s.Settings.Environment.MgmtCluster); err == nil {
		v.Print(text)
	}
}
