package move_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// bare moves by the library alone, as clusterctl does.
func bare(ctx context.Context, t *testing.T, source, target *server) error {
	t.Helper()
	log.SetLogger(logr.New(log.NullLogSink{}))
	file := func(s *server) client.Kubeconfig {
		path := filepath.Join(t.TempDir(), s.name)
		text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: x, cluster: {server: %q}}]\ncontexts: [{name: x, context: {cluster: x}}]\n", s.http.URL)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return client.Kubeconfig{Path: path}
	}
	memory, err := config.New(ctx, "", config.InjectReader(config.NewMemoryReader()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(ctx, "", client.InjectConfig(memory))
	if err != nil {
		t.Fatal(err)
	}
	return c.Move(ctx, client.MoveOptions{FromKubeconfig: file(source), ToKubeconfig: file(target), Namespace: ns})
}

// The laws are no tautology: the library alone breaks them.
func TestTheLibraryAloneBreaksTheLaws(t *testing.T) {
	t.Parallel()
	t.Run("its deletions are seen by controllers", func(t *testing.T) {
		t.Parallel()
		source, target := pair(t)
		l := watch(source, target)
		if err := bare(context.Background(), t, source, target); err != nil {
			t.Fatal(err)
		}
		if l.moved() == nil {
			t.Error("the laws hold")
		}
	})
	t.Run("it loses what a kind without the label holds", func(t *testing.T) {
		t.Parallel()
		source, target := pair(t)
		source.put(crd("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "kubeadmcontrolplanes", "bare"))
		l := watch(source, target)
		if err := bare(context.Background(), t, source, target); err != nil {
			t.Fatal(err)
		}
		l.broken = nil
		if l.moved() == nil {
			t.Error("nothing is lost")
		}
	})
}
