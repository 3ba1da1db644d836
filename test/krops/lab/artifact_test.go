//go:build lab_kube

package lab_test

import (
	"context"
	"io/fs"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact"
	"github.com/holdfast-ops/holdfast/internal/krops/artifact/registrytest"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

const exampleSite = "../../../examples/site-local"

// The library that source-controller pulls with reads what was pushed: all of it,
// to the byte, with the commit it is of.
func TestTheClientOfFluxReadsTheArtifact(t *testing.T) {
	t.Parallel()
	client := filepath.Join(t.TempDir(), "fluxclient")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", client, ".")
	build.Dir = "fluxclient"
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the client: %v\n%s", err, text)
	}
	server := httptest.NewServer(registrytest.New())
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(exampleSite)
	if err != nil {
		t.Fatal(err)
	}
	directories, err := artifact.Directories("mgmt/local-host")
	if err != nil {
		t.Fatal(err)
	}
	made, err := artifact.Build(artifact.Source{Root: root, Directories: directories})
	if err != nil {
		t.Fatal(err)
	}

	if err := made.Push(t.Context(), artifact.Reference{Host: at.Hostname(), Port: port, Repository: "krops", Tag: "latest"}); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	text, err := exec.CommandContext(t.Context(), client, at.Host+"/krops:latest", out).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}

	for _, want := range []string{"revision " + made.Revision() + "\n", "source " + made.Source + "\n", "created 1970-01-01T00:00:00Z\n", made.Digest() + "\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the client says %q, want %q", text, want)
		}
	}
	wanted := map[string]string{}
	for _, d := range directories {
		sub := contents(t, filepath.Join(root, d))
		for name, text := range sub {
			wanted[d+"/"+name] = text
		}
	}
	if diff := cmp.Diff(wanted, contents(t, out)); diff != "" {
		t.Error(diff)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// helmReleases is where the module of the Flux operator, which the assets are
// taken from as well, has the definition of HelmRelease.
const helmReleases = "github.com/controlplaneio-fluxcd/flux-operator@v0.59.0/config/data/flux/v2.9.5/helm-controller.yaml"

// definition returns the definition of HelmRelease.
func definition(t *testing.T) *lab.Object {
	t.Helper()
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(cache)), helmReleases))
	if err != nil {
		t.Fatalf("test/krops/lab/assets downloads it: %v", err)
	}
	objects, err := lab.Objects(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			return o
		}
	}
	t.Fatal("no definition in " + helmReleases)
	return nil
}

// Every object of the example is what a real API server takes with the real
// definitions: known fields only, of the right types.
func TestTheExampleIsWhatAnAPIServerTakes(t *testing.T) {
	t.Parallel()
	plane := lab.Planes(t, 1, func(o *lab.Options) { o.NoManager = true })[0]
	ctx := t.Context()
	if err := plane.Install(ctx, lab.CAPICore, lab.CAPIKubeadm, lab.CAPIDev, lab.CAPIOperator, lab.Flux); err != nil {
		t.Fatal(err)
	}
	if err := plane.Apply(ctx, definition(t)); err != nil {
		t.Fatal(err)
	}
	cluster, err := kube.Open(plane.Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{"flux-system", "capi-system", "capd-system"} {
		if err := cluster.Apply(ctx, kube.NewNamespace(ns)); err != nil {
			t.Fatal(err)
		}
	}
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	asked, err := discovery.NewDiscoveryClientForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(asked))
	dryRun := func(o *unstructured.Unstructured) error {
		gvk := o.GroupVersionKind()
		m, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			mapper.Reset()
			return err
		}
		var r dynamic.ResourceInterface = client.Resource(m.Resource)
		if m.Scope.Name() == "namespace" {
			r = client.Resource(m.Resource).Namespace(o.GetNamespace())
		}
		_, err = r.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "lab", Force: true, DryRun: []string{metav1.DryRunAll}})
		return err
	}

	taken := 0
	for name, text := range contents(t, exampleSite) {
		if filepath.Ext(name) != ".yaml" || filepath.Base(name) == "kustomization.yaml" {
			continue
		}
		objects, err := kube.Decode([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, o := range objects {
			var err error
			lab.Until(t, "an answer about "+name, func(ctx context.Context) (bool, error) {
				err = dryRun(o)
				return !meta.IsNoMatchError(err), nil
			})
			if err != nil {
				t.Errorf("%s: %s %s: %v", name, o.GetKind(), o.GetName(), err)
			}
			taken++
		}
	}
	if taken < 20 {
		t.Errorf("only %d objects were looked at", taken)
	}

	// A check that cannot fail is no check.
	wrong := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"suspendd": true}}}
	wrong.SetGroupVersionKind(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
	wrong.SetName("wrong")
	wrong.SetNamespace("flux-system")
	if err := dryRun(wrong); err == nil || !strings.Contains(err.Error(), "suspendd") {
		t.Errorf("a field that is none: %v", err)
	}
}
