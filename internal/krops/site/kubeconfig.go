package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// filePart is the exported kubeconfig of the management cluster as a file.
func (s *Site) filePart() part {
	return part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{"host/mgmt-kubeconfig-own": s.ownKubeconfig},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{"forget-kubeconfig": s.forgetKubeconfig},
	}
}

// ownKubeconfig tells whether the file leads to the management cluster of this
// environment. Environments have one path by default: another one's file stays.
func (s *Site) ownKubeconfig(context.Context, plan.Fact) plan.Presence {
	path := s.mgmtFile()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return plan.Absent(path + " does not exist")
	}
	if err != nil {
		return plan.Failed(err.Error())
	}
	loaded, err := clientcmd.Load(text)
	if err != nil {
		return plan.Failed(fmt.Sprintf("%s is no kubeconfig: %v", path, err))
	}
	e := s.Settings.Environment
	names := []string{e.MgmtCluster, e.Teardown.MgmtEKSClusterName}
	if current := loaded.Contexts[loaded.CurrentContext]; current != nil && current.Cluster != "" && slices.Contains(names, current.Cluster) {
		return plan.Present()
	}
	return plan.Absent(path + " leads to another cluster")
}

// forgetKubeconfig keeps the file under another name: a bootstrap must not take it
// for a cluster that lives.
func (s *Site) forgetKubeconfig(_ context.Context, _ plan.Step, v run.Voice) error {
	path := s.mgmtFile()
	err := os.Rename(path, path+".old")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("set the kubeconfig aside: %w", err)
	}
	v.Detail("%s is kept as %s.old", path, path)
	return nil
}
