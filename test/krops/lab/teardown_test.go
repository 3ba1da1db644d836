//go:build lab_kube

package lab_test

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/helm"
	"github.com/holdfast-ops/holdfast/internal/krops/kind"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

// inAWS is a world whose environment is aws: clusters on real API servers, what
// they made in a double of AWS.
type inAWS struct {
	*lab.World

	account *awstest.Account
	address string

	mu   sync.Mutex
	lost []string // Clusters that were there when their host was removed
}

const ownCluster = "eu-north-1-management"

func newAWS(t *testing.T) *inAWS {
	t.Helper()
	text, err := os.ReadFile("../../../internal/krops/config/testdata/checked-in.toml")
	if err != nil {
		t.Fatal(err)
	}
	w := &inAWS{World: lab.NewWorld(t, lab.WorldOptions{Files: map[string]string{"aws.toml": string(text)}}), account: awstest.New()}
	w.address = w.account.Serve(t)
	for name, region := range map[string]string{ownCluster: "eu-north-1", "eu-north-1-workload": "eu-north-1", "eu-west-1-workload": "eu-west-1"} {
		w.account.AddCluster(awstest.Cluster{Owner: "me", Region: region, Name: name})
	}
	w.account.AddCluster(awstest.Cluster{Owner: "other", Region: "eu-north-1", Name: "theirs"})
	return w
}

// teardown runs it.
func (w *inAWS) teardown(t *testing.T, env map[string]string) lab.Run {
	t.Helper()
	all := map[string]string{"BOOTSTRAP_CONFIG": "aws.toml", lab.AWSEnv: w.address}
	maps.Copy(all, env)
	return w.Krops(t, all, "teardown", "aws")
}

// furnish installs what a management cluster has: Clusters in two namespaces that
// controllers look after, Flux, providers, secrets.
func furnish(t *testing.T, p *lab.Plane) {
	t.Helper()
	ctx := t.Context()
	if err := p.Install(ctx, lab.CAPICore, lab.CAPIKubeadm, lab.CAPIDev, lab.CAPIOperator, lab.Flux, lab.Clusterctl); err != nil {
		t.Fatal(err)
	}
	manifest := lab.Providers("v1.14.2") + lab.Cluster("default", ownCluster) + lab.Cluster("default", "eu-north-1-workload") + `---
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
` + lab.Cluster("team-a", ownCluster) + `---
apiVersion: v1
kind: Namespace
metadata: {name: flux-system}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-apps, namespace: flux-system}
spec: {interval: 10m, path: none, prune: false, sourceRef: {kind: OCIRepository, name: none}}
---
apiVersion: v1
kind: Secret
metadata: {name: sops-age, namespace: default}
`
	objects, err := lab.Objects(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(ctx, objects...); err != nil {
		t.Fatal(err)
	}
	lab.Until(t, "the Clusters to have controllers", func(ctx context.Context) (bool, error) {
		list, err := p.List(ctx, lab.Kind(lab.CAPI, "Cluster"), "")
		if err != nil {
			return false, err
		}
		return len(list) == 3 && !slices.ContainsFunc(list, func(o lab.Object) bool { return len(o.GetFinalizers()) == 0 }), nil
	})
}

// onKind makes the kind cluster, with releases of Helm, and watches what is there
// when it is removed.
func (w *inAWS) onKind(t *testing.T) *lab.Plane {
	t.Helper()
	if err := (lab.Kinds{Socket: w.Kinds.Socket}).Create(t.Context(), "mgmt", kind.Config{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	p := w.Kind()
	furnish(t, p)
	c, err := kube.Open(p.Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	oci, _ := chartSources(t, lab.FluxOperatorChart("0.61.0"))
	release := helm.Release{Name: "flux-operator", Namespace: "flux-system", Chart: oci + "/flux-operator", Version: "0.61.0", Wait: helm.None, Timeout: time.Minute}
	if err := helm.Ensure(t.Context(), c, release, func(string) {}); err != nil {
		t.Fatal(err)
	}
	w.Kinds.Fail(func(verb, _ string) error {
		if verb != "delete" {
			return nil
		}
		left := clustersOf(t, p)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lost = append(w.lost, left...)
		return nil
	})
	return p
}

func clustersOf(t *testing.T, p *lab.Plane) []string {
	t.Helper()
	list, err := p.List(context.WithoutCancel(t.Context()), lab.Kind(lab.CAPI, "Cluster"), "")
	if err != nil {
		return []string{"unknown: " + err.Error()}
	}
	var found []string
	for i := range list {
		found = append(found, list[i].GetNamespace()+"/"+list[i].GetName())
	}
	slices.Sort(found)
	return found
}

// swept checks that nothing of ours is left in AWS, and all of others.
func (w *inAWS) swept(t *testing.T) {
	t.Helper()
	if left := w.account.Owned("me"); len(left) > 0 {
		t.Errorf("left in AWS: %v", left)
	}
	if theirs := w.account.Owned("other"); len(theirs) == 0 {
		t.Error("the cluster of others was swept, too")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lost) > 0 {
		t.Errorf("Clusters without controllers: %v", w.lost)
	}
}

func TestATeardownInAWSThatIsKilledAfterEveryStepGetsThere(t *testing.T) {
	t.Parallel()
	w := newAWS(t)
	w.onKind(t)

	deaths, steps := 0, []string{}
	var r lab.Run
	for deaths = range 50 {
		if r = w.teardown(t, map[string]string{lab.DieEnv: "done:1"}); !r.Killed {
			break
		}
		steps = append(steps, r.Done()...)
	}

	t.Logf("killed %d times, after %v", deaths, steps)
	if deaths < 10 {
		t.Errorf("killed only %d times\n%s", deaths, r)
	}
	// The last process may find that its host is gone: that is no success.
	if r.Code != 0 {
		says(t, r.Err, "teardown incomplete: no controller host answers")
		good(t, w.teardown(t, map[string]string{"AWS_ONLY": "1"}))
	}
	if left := w.Kinds.Names(); len(left) > 0 {
		t.Errorf("kind clusters that are left: %v", left)
	}
	w.swept(t)
}

func TestATeardownInAWSRemovesReleasesProvidersAndSecrets(t *testing.T) {
	t.Parallel()
	w := newAWS(t)
	p := w.onKind(t)
	// The kind cluster stays, to be looked at.
	var once sync.Once
	state := map[string][]string{}
	w.Kinds.Fail(func(verb, _ string) error {
		if verb == "delete" {
			once.Do(func() {
				ctx := context.WithoutCancel(t.Context())
				for _, what := range []struct{ group, kind, namespace string }{
					{lab.CAPI, "Cluster", ""},
					{"operator.cluster.x-k8s.io", "CoreProvider", ""},
					{"operator.cluster.x-k8s.io", "InfrastructureProvider", ""},
					{"apps", "Deployment", "flux-system"},
					{"", "Secret", "default"},
				} {
					list, err := p.List(ctx, lab.Kind(what.group, what.kind), what.namespace)
					if err != nil {
						t.Error(err)
					}
					for i := range list {
						state[what.kind] = append(state[what.kind], list[i].GetName())
					}
				}
			})
		}
		return nil
	})

	r := good(t, w.teardown(t, nil))

	says(t, r.Out, ">>> Suspending Flux Kustomizations", "✓   Flux Kustomizations suspended", "✓   All CAPI workload clusters deleted", ">>>   Deleting coreprovider: cluster-api (namespace: capi-system)",
		"✓   All CAPI providers removed", ">>> Uninstalling Helm release 'flux-operator'", "Helm release 'flux' not found – skipping", "cluster(s) still deleting... (", "✓ Teardown complete.")
	if diff := cmp.Diff(map[string][]string{}, state); diff != "" {
		t.Errorf("on the kind cluster at its end (-want +got):\n%s", diff)
	}
	w.swept(t)
}

func TestAnAPIThatFallsSilentInTheMiddleCostsNothing(t *testing.T) {
	t.Parallel()
	w := newAWS(t)
	p := w.onKind(t)
	w.Hold(func(o *lab.Object) bool { return o.GetKind() == "DevCluster" })
	var mu sync.Mutex
	deleted := false
	w.Kinds.Front("mgmt").Fail(func(r *http.Request) lab.Fault {
		mu.Lock()
		defer mu.Unlock()
		if deleted {
			return lab.Reset
		}
		deleted = r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/clusters/")
		return lab.NoFault
	})

	r := w.teardown(t, nil)

	if r.Code == 0 || len(w.Kinds.Names()) == 0 || len(w.account.Changes()) > 0 {
		t.Errorf("in AWS: %v\n%s", w.account.Changes(), r)
	}
	if left := clustersOf(t, p); len(left) != 3 {
		t.Errorf("the Clusters are %v", left)
	}
	w.Hold(nil)
	w.Kinds.Front("mgmt").Fail(nil)
	good(t, w.teardown(t, nil))
	w.swept(t)
}

func TestAManagementClusterThatManagesItselfIsSweptAndNotAskedAfterwards(t *testing.T) {
	t.Parallel()
	w := newAWS(t)
	furnish(t, w.Mgmt)
	if err := os.MkdirAll(filepath.Dir(w.Kubeconfig()), 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig := strings.ReplaceAll(string(w.MgmtFront.Kubeconfig), lab.Management, ownCluster)
	if err := os.WriteFile(w.Kubeconfig(), []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var left, late []string
	dead := false
	w.account.OnCall(func(_ int, call string) {
		mu.Lock()
		defer mu.Unlock()
		if call == "eks:DeleteNodegroup" && !dead {
			// The controllers run on these nodes: webhooks, and with them the API of
			// Clusters, end here.
			left, dead = clustersOf(t, w.Mgmt), true
		}
	})
	w.MgmtFront.Fail(func(r *http.Request) lab.Fault {
		mu.Lock()
		defer mu.Unlock()
		if dead {
			late = append(late, r.Method+" "+r.URL.Path)
			return lab.Reset
		}
		return lab.NoFault
	})

	r := good(t, w.teardown(t, nil))

	if diff := cmp.Diff([]string{"default/" + ownCluster}, left); diff != "" {
		t.Errorf("Clusters when the sweep began (-want +got):\n%s", diff)
	}
	if len(late) > 0 {
		t.Errorf("asked of a cluster that is gone: %v", late)
	}
	says(t, r.Out, "Management cluster removed by the sweep – provider and Helm cleanup skipped", "✓ Teardown complete.")
	w.swept(t)
	if _, err := os.Stat(w.Kubeconfig()); err == nil {
		t.Error("the kubeconfig of a cluster that is gone is still there")
	}
}
