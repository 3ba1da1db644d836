package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// fresh is how long the kubeconfig of the kind cluster is used before it is asked
// for again, which takes a look into a container.
const fresh = 30 * time.Second

// servers are the API servers of a run.
type servers struct{ source, target, workload server }

// server is an API server, and what it was opened with.
type server struct {
	kubeconfig []byte
	read       time.Time
	cluster    *kube.Cluster
}

// open returns the API server of a kubeconfig, the one opened before when nothing
// has changed.
func (r *server) open(kubeconfig []byte, now time.Time, open func([]byte) (*kube.Cluster, error)) (*kube.Cluster, error) {
	if r.cluster == nil || !bytes.Equal(r.kubeconfig, kubeconfig) {
		c, err := open(kubeconfig)
		if err != nil {
			return nil, err
		}
		r.cluster, r.kubeconfig = c, bytes.Clone(kubeconfig)
	}
	r.read = now
	return r.cluster, nil
}

// reopen forgets the API servers: the kind cluster was made, or removed.
func (s *Site) reopen() { s.servers = servers{} }

func (s *Site) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

func openCurrent(kubeconfig []byte) (*kube.Cluster, error) { return kube.Open(kubeconfig, "") }

// source returns the API server of the kind cluster. It is found by the name of
// the cluster, whatever contexts the user has.
func (s *Site) source(ctx context.Context) (*kube.Cluster, error) {
	known := &s.servers.source
	if known.cluster != nil && s.now().Sub(known.read) < fresh {
		return known.cluster, nil
	}
	kinds, err := s.kinds(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := kinds.Kubeconfig(ctx, s.Settings.KindCluster, s.Settings.Toolbox)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of kind cluster '%s': %w", s.Settings.KindCluster, err)
	}
	c, err := known.open(kubeconfig, s.now(), openCurrent)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of kind cluster '%s': %w", s.Settings.KindCluster, err)
	}
	return c, nil
}

// target returns the API server of the management cluster, which the file
// MGMT_KUBECONFIG leads to: by the context that was written into it, else by its
// current one.
func (s *Site) target(context.Context) (*kube.Cluster, error) {
	path := s.mgmtFile()
	kubeconfig, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of the management cluster: %w", err)
	}
	return s.servers.target.open(kubeconfig, s.now(), func([]byte) (*kube.Cluster, error) {
		if c, err := kube.OpenFile(path, s.Settings.File.Bootstrap.MgmtContext); err == nil {
			return c, nil
		}
		return kube.OpenFile(path, "")
	})
}

// mgmtFile is the absolute path of the kubeconfig of the management cluster.
func (s *Site) mgmtFile() string { return s.callers(s.Settings.MgmtKubeconfig) }

// callers is a path of a variable: relative to where the caller is.
func (s *Site) callers(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.Dir, path)
}

// workloadName is the workload cluster that is made of containers.
func (s *Site) workloadName() string {
	if names := s.Settings.Environment.Teardown.CAPIWorkloads; len(names) > 0 {
		return names[0]
	}
	return "local-workload"
}

// workload returns the API server of the workload cluster that is made of containers.
func (s *Site) workload(ctx context.Context) (*kube.Cluster, error) {
	known := &s.servers.workload
	if known.cluster != nil && s.now().Sub(known.read) < fresh {
		return known.cluster, nil
	}
	source, err := s.source(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := s.clusterKubeconfig(ctx, source, s.workloadName())
	if err != nil {
		return nil, err
	}
	return known.open(kubeconfig, s.now(), openCurrent)
}

// clusterKubeconfig returns how this process reaches a cluster of Cluster API.
func (s *Site) clusterKubeconfig(ctx context.Context, host *kube.Cluster, name string) ([]byte, error) {
	secret := name + "-kubeconfig"
	data, err := host.SecretData(ctx, s.Settings.File.Bootstrap.MgmtNamespace, secret)
	if err != nil {
		return nil, err
	}
	if len(data["value"]) == 0 {
		return nil, fmt.Errorf("Secret %s/%s has no kubeconfig under the key value", s.Settings.File.Bootstrap.MgmtNamespace, secret) //nolint:staticcheck // ST1005: Secret is a kind
	}
	return s.outside(ctx, data["value"], name)
}

// outside returns a kubeconfig that works on this host for a cluster of
// containers, whose own address is one of the network of containers.
func (s *Site) outside(ctx context.Context, kubeconfig []byte, cluster string) ([]byte, error) {
	if !s.Settings.RewritesEndpoints() {
		return kubeconfig, nil
	}
	engine, err := s.engine(ctx)
	if err != nil {
		return nil, err
	}
	port, err := engine.Port(ctx, cluster+"-lb", 6443)
	if err != nil {
		return nil, fmt.Errorf("cannot determine the %s API server port: %w", cluster, err)
	}
	return kube.SetServer(kubeconfig, cluster, fmt.Sprintf("https://127.0.0.1:%d", port))
}

// managementKubeconfig returns what the file MGMT_KUBECONFIG has to hold.
func (s *Site) managementKubeconfig(ctx context.Context) ([]byte, error) {
	source, err := s.source(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := s.clusterKubeconfig(ctx, source, s.Settings.Environment.MgmtCluster)
	if err != nil {
		return nil, err
	}
	return kube.RenameContext(kubeconfig, s.Settings.File.Bootstrap.MgmtContext)
}

// serverPart answers whether the management cluster that is reached is the one the
// kind cluster describes.
func (s *Site) serverPart() part {
	return part{facts: map[string]func(context.Context, plan.Fact) plan.Presence{"source/kubeconfig-exported": s.kubeconfigExported}}
}

func (s *Site) kubeconfigExported(ctx context.Context, _ plan.Fact) plan.Presence {
	have, err := os.ReadFile(s.mgmtFile())
	if errors.Is(err, fs.ErrNotExist) {
		return plan.Absent(s.mgmtFile() + " does not exist")
	}
	if err != nil {
		return plan.Failed(err.Error())
	}
	want, err := s.managementKubeconfig(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	if same, err := kube.SameAccess(have, want); err != nil || !same {
		return plan.Absent(s.mgmtFile() + " leads elsewhere, or its credentials are not those of the cluster")
	}
	return plan.Present()
}
