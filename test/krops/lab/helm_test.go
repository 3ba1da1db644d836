//go:build lab_kube

package lab_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact/registrytest"
	"github.com/holdfast-ops/holdfast/internal/krops/helm"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

// chartSources serves charts from a registry and from a repository.
func chartSources(t *testing.T, charts ...lab.Chart) (oci, repository string) {
	t.Helper()
	registry := httptest.NewServer(registrytest.New())
	t.Cleanup(registry.Close)
	oci = "oci://" + strings.TrimPrefix(registry.URL, "http://") + "/charts"
	for _, c := range charts {
		if err := c.Push(t.Context(), oci); err != nil {
			t.Fatal(err)
		}
	}
	handler, err := lab.ChartRepository(charts...)
	if err != nil {
		t.Fatal(err)
	}
	files := httptest.NewServer(http.StripPrefix("/charts", handler))
	t.Cleanup(files.Close)
	return oci, files.URL + "/charts"
}

// whole opens a control plane with controllers and a node that is played.
func whole(t *testing.T) *kube.Cluster {
	t.Helper()
	c, err := kube.Open(lab.Planes(t, 1)[0].Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// revisions are the states of the revisions of a release, the oldest first.
func revisions(t *testing.T, c *kube.Cluster, namespace, name string) (*storage.Storage, []*releasev1.Release) {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	store := storage.Init(driver.NewSecrets(client.CoreV1().Secrets(namespace)))
	all, err := store.History(name)
	if err != nil {
		t.Fatal(err)
	}
	var list []*releasev1.Release
	for _, r := range all {
		if one, ok := r.(*releasev1.Release); ok {
			list = append(list, one)
		}
	}
	return store, list
}

func states(t *testing.T, c *kube.Cluster, namespace, name string) []string {
	t.Helper()
	_, list := revisions(t, c, namespace, name)
	var states []string
	slices.SortFunc(list, func(a, b *releasev1.Release) int { return a.Version - b.Version })
	for _, r := range list {
		states = append(states, r.Info.Status.String())
	}
	return states
}

func TestReleasesOnARealServer(t *testing.T) {
	t.Parallel()
	c := whole(t)
	ctx := t.Context()
	oci, repository := chartSources(t, lab.FluxOperatorChart("0.58.0"), lab.FluxOperatorChart("0.61.0"), lab.FluxInstanceChart("0.58.0"), lab.CertManagerChart("v1.21.2"))
	operator := helm.Release{Name: "flux-operator", Namespace: "flux-system", Chart: oci + "/flux-operator", Version: "0.58.0", Wait: helm.Watcher, Timeout: time.Minute}
	values := func(ref string) map[string]any {
		return map[string]any{"instance": map[string]any{
			"cluster": map[string]any{"type": "kubernetes", "multitenant": false},
			"sync":    map[string]any{"kind": "OCIRepository", "url": "oci://registry:5000/krops", "ref": ref, "path": "mgmt"},
		}}
	}
	instance := helm.Release{Name: "flux", Namespace: "flux-system", Chart: oci + "/flux-instance", Version: "0.58.0", Values: values("latest"), Wait: helm.Legacy, Timeout: time.Minute}
	say := func(text string) { t.Log(text) }

	t.Run("a release that is not there is confirmed absent", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		if got := helm.Deployed(ctx, c, operator); !got.Gone() {
			t.Error(got)
		}
		if err := helm.Uninstall(ctx, c, "flux-system", "flux-operator", time.Minute); err != nil {
			t.Error(err)
		}
	})

	t.Run("it is installed from a registry into a namespace of its own, and waited for", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		if err := helm.Ensure(ctx, c, operator, say); err != nil {
			t.Fatal(err)
		}
		if got := helm.Deployed(ctx, c, operator); !got.There() {
			t.Error(got)
		}
		d, err := c.Get(ctx, kube.Deployment, "flux-system", "flux-operator")
		if err != nil {
			t.Fatal(err)
		}
		if ready, _, _ := unstructured.NestedInt64(d.Object, "status", "readyReplicas"); ready != 1 {
			t.Errorf("%d replicas are ready", ready)
		}
	})

	t.Run("another version, or other values, are not the release that is wanted", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		newer, other := operator, operator
		newer.Version, other.Values = "0.61.0", map[string]any{"a": 1}
		if got := helm.Deployed(ctx, c, newer); got.Evidence() != "release flux-operator has version 0.58.0, 0.61.0 is wanted" {
			t.Errorf("%v: %s", got, got.Evidence())
		}
		if got := helm.Deployed(ctx, c, other); got.Evidence() != "release flux-operator has other values than are wanted" {
			t.Errorf("%v: %s", got, got.Evidence())
		}
		other.Loose = true
		if got := helm.Deployed(ctx, c, other); !got.There() {
			t.Errorf("whatever its values are: %v", got)
		}
		if err := helm.Ensure(ctx, c, newer, say); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"superseded", "deployed"}, states(t, c, "flux-system", "flux-operator")); diff != "" {
			t.Error(diff)
		}
		if got := helm.Deployed(ctx, c, newer); !got.There() {
			t.Error(got)
		}
	})

	t.Run("an object of a kind Helm does not know is not waited for by the legacy way", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		began := time.Now()
		if err := helm.Ensure(ctx, c, instance, say); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %v", took)
		}
		tagged := instance
		tagged.Values = values("v2")
		if got := helm.Deployed(ctx, c, tagged); !got.Gone() {
			t.Errorf("other values: %v", got)
		}
		if err := helm.Ensure(ctx, c, tagged, say); err != nil {
			t.Fatal(err)
		}
		u, err := c.Get(ctx, kube.FluxInstance, "flux-system", "flux")
		if err != nil {
			t.Fatal(err)
		}
		if ref, _, _ := unstructured.NestedString(u.Object, "spec", "sync", "ref"); ref != "v2" {
			t.Errorf("ref is %q", ref)
		}
	})

	t.Run("it is installed from a repository, definitions included", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		cert := helm.Release{
			Name: "cert-manager", Namespace: "cert-manager", Chart: repository + "/cert-manager", Version: "1.21.2",
			Values: map[string]any{"crds": map[string]any{"enabled": true}}, Wait: helm.Watcher, Timeout: time.Minute,
		}
		if err := helm.Ensure(ctx, c, cert, say); err != nil {
			t.Fatal(err)
		}
		if got := helm.Deployed(ctx, c, cert); !got.There() {
			t.Error(got)
		}
		if got := c.Listing(ctx, schema.GroupKind{Group: "cert-manager.io", Kind: "Issuer"}, "", nil); !got.Known().There() {
			t.Error(got)
		}
	})

	t.Run("it is removed with what it made", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		for range 2 {
			if err := helm.Uninstall(ctx, c, "flux-system", "flux", time.Minute); err != nil {
				t.Fatal(err)
			}
			if got := helm.Exists(ctx, c, "flux-system", "flux"); !got.Gone() {
				t.Error(got)
			}
			if got := c.Lookup(ctx, kube.FluxInstance, "flux-system", "flux"); !got.Gone() {
				t.Error(got)
			}
		}
	})
}

// small is a chart without definitions: a server that removes and makes them again
// and again takes minutes to settle.
func small(version string) lab.Chart {
	return lab.Chart{Name: "flux-operator", Version: version, Templates: map[string]string{"deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: flux-operator, namespace: "{{ .Release.Namespace }}"}
spec:
  selector: {matchLabels: {app: flux-operator}}
  template:
    metadata: {labels: {app: flux-operator}}
    spec: {containers: [{name: main, image: lab.invalid/flux-operator}]}
`}}
}

func TestAReleaseThatWasLeftUnfinishedIsHealed(t *testing.T) {
	t.Parallel()
	c := whole(t)
	ctx := t.Context()
	oci, _ := chartSources(t, small("0.58.0"), small("0.61.0"))
	for name, test := range map[string]struct { //nolint:paralleltest // they are about the same release
		upgraded bool // it was upgraded before
		left     common.Status
		want     []string
	}{
		"pending-install":          {false, common.StatusPendingInstall, []string{"deployed"}},
		"failed-install":           {false, common.StatusFailed, []string{"superseded", "deployed"}},
		"uninstalling":             {false, common.StatusUninstalling, []string{"superseded", "deployed"}},
		"pending-upgrade":          {true, common.StatusPendingUpgrade, []string{"superseded", "failed", "deployed"}},
		"failed-upgrade":           {true, common.StatusFailed, []string{"superseded", "failed", "deployed"}},
		"pending-rollback":         {true, common.StatusPendingRollback, []string{"superseded", "failed", "deployed"}},
		"pending-install-partial":  {false, common.StatusPendingInstall, []string{"deployed"}},
		"uninstalling-half-way":    {false, common.StatusUninstalling, []string{"superseded", "deployed"}},
		"uninstalled-with-history": {false, common.StatusUninstalled, []string{"deployed"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := helm.Release{Name: "flux-operator", Namespace: "flux-system", Chart: oci + "/flux-operator", Version: "0.58.0", Wait: helm.Watcher, Timeout: time.Minute}
			ensure := func() {
				t.Helper()
				if err := helm.Ensure(ctx, c, r, func(text string) { t.Log(text) }); err != nil {
					t.Fatal(err)
				}
			}
			ensure()
			if test.upgraded {
				r.Version = "0.61.0"
				ensure()
			}
			store, list := revisions(t, c, "flux-system", "flux-operator")
			last := list[len(list)-1]
			last.SetStatus(test.left, "left by a test")
			if err := store.Update(last); err != nil {
				t.Fatal(err)
			}
			if test.upgraded { // what was deployed before is superseded at the very end only
				list[0].SetStatus(common.StatusDeployed, "as it was")
				if err := store.Update(list[0]); err != nil {
					t.Fatal(err)
				}
			}
			if strings.HasSuffix(name, "partial") || strings.HasSuffix(name, "half-way") {
				if err := c.Delete(ctx, kube.Deployment, "flux-system", "flux-operator"); err != nil {
					t.Fatal(err)
				}
			}
			if got := helm.Deployed(ctx, c, r); !got.Gone() || got.Evidence() != "release flux-operator is "+test.left.String() {
				t.Errorf("%v: %s", got, got.Evidence())
			}
			if got := helm.Exists(ctx, c, "flux-system", "flux-operator"); !got.There() {
				t.Error(got)
			}

			ensure()

			if diff := cmp.Diff(test.want, states(t, c, "flux-system", "flux-operator")); diff != "" {
				t.Error(diff)
			}
			if got := helm.Deployed(ctx, c, r); !got.There() {
				t.Error(got)
			}
			if err := helm.Uninstall(ctx, c, "flux-system", "flux-operator", time.Minute); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAnInstallationThatFailsSaysWhyAndIsDoneAgain(t *testing.T) {
	t.Parallel()
	c := whole(t)
	stuck := lab.Chart{Name: "app", Version: "1.0.0", Templates: map[string]string{"job.yaml": `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: app}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`}}
	good := lab.Chart{Name: "app", Version: "1.0.1", Templates: map[string]string{"map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n"}}
	oci, _ := chartSources(t, stuck, good)
	r := helm.Release{Name: "app", Namespace: "apps", Chart: oci + "/app", Version: "1.0.0", Wait: helm.Watcher, Timeout: 2 * time.Second}

	t.Run("a wait that runs out of time", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		err := helm.Ensure(t.Context(), c, r, func(string) {})
		if err == nil || !strings.Contains(err.Error(), "release apps/app: ") || !strings.Contains(err.Error(), "app") {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"failed"}, states(t, c, "apps", "app")); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a wait that is cancelled ends soon, and the release is no riddle", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		r := r
		r.Timeout = time.Minute
		began := time.Now()
		err := helm.Ensure(ctx, c, r, func(string) {})
		if took := time.Since(began); err == nil || took > 45*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		if got := helm.Deployed(t.Context(), c, r); !got.Gone() {
			t.Error(got)
		}
	})

	t.Run("the next one succeeds", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		r := r
		r.Version = "1.0.1"
		if err := helm.Ensure(t.Context(), c, r, func(string) {}); err != nil {
			t.Fatal(err)
		}
		if got := helm.Deployed(t.Context(), c, r); !got.There() {
			t.Error(got)
		}
	})
}

func TestAReleaseOnAServerThatFailsIsUnknown(t *testing.T) {
	t.Parallel()
	plane, _ := server(t)
	front := plane.Front(t)
	c, err := kube.Open(front.Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	front.Fail(func(*http.Request) lab.Fault { return lab.Forbidden })

	exists := helm.Exists(t.Context(), c, "flux-system", "flux")
	deployed := helm.Deployed(t.Context(), c, helm.Release{Name: "flux", Namespace: "flux-system", Version: "1"})
	err = helm.Uninstall(t.Context(), c, "flux-system", "flux", time.Minute)

	if !exists.Unknown() || !deployed.Unknown() {
		t.Errorf("%v, %v", exists, deployed)
	}
	if err == nil || !strings.Contains(err.Error(), "cannot tell whether it is there: forbidden") {
		t.Error(err)
	}
}
