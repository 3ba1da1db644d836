// Package krops_test looks at what of krops-bootstrap is no code: the site that
// newcomers begin with.
package krops_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kind/pkg/apis/config/defaults"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

const site = "../../examples/site-local"

// environment is the one of the site.
func environment(t *testing.T) *config.Environment {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(site, "bootstrap.toml"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse("bootstrap.toml", text, func(string, []string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Environment("local-host")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// unpacked is the artifact of the site, as Flux has it on its disk.
func unpacked(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(site)
	if err != nil {
		t.Fatal(err)
	}
	directories, err := artifact.Directories(environment(t).SyncPath)
	if err != nil {
		t.Fatal(err)
	}
	a, err := artifact.Build(artifact.Source{Root: root, Directories: directories, Given: artifact.Meta{SHA: "0", Ref: "main", Source: "file:///"}})
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(a.Layer()))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(name, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// kustomized is what Flux applies of a directory.
func kustomized(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := kube.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func names(objects []*unstructured.Unstructured, kind string) []string {
	var list []string
	for _, o := range objects {
		if o.GetKind() == kind {
			list = append(list, o.GetNamespace()+"/"+o.GetName())
		}
	}
	slices.Sort(list)
	return list
}

func text(o *unstructured.Unstructured, fields ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, fields...)
	return s
}

func TestTheSiteHoldsWhatTheProgramKnowsByName(t *testing.T) {
	t.Parallel()
	dir, e := unpacked(t), environment(t)
	parts := kustomized(t, filepath.Join(dir, e.SyncPath))
	want := []string{"flux-system/docker-workload-cluster", "flux-system/flux-apps", "flux-system/management-cluster", "flux-system/operators", "flux-system/providers"}
	if diff := cmp.Diff(want, names(parts, "Kustomization")); diff != "" {
		t.Error(diff)
	}

	var all []*unstructured.Unstructured
	before := map[string]bool{}
	for _, part := range parts {
		needs, _, _ := unstructured.NestedSlice(part.Object, "spec", "dependsOn")
		for _, n := range needs {
			m, _ := n.(map[string]any)
			if name, ok := m["name"].(string); !ok || !before[name] {
				t.Errorf("%s depends on %v, which is not written before it", part.GetName(), n)
			}
		}
		before[part.GetName()] = true
		objects := kustomized(t, filepath.Join(dir, text(part, "spec", "path")))
		prune, _, _ := unstructured.NestedBool(part.Object, "spec", "prune")
		if len(names(objects, "Cluster")) > 0 && prune {
			t.Errorf("%s deletes a cluster when a file is gone", part.GetName())
		}
		all = append(all, objects...)
	}
	clusters := []string{"default/" + e.MgmtCluster}
	for _, w := range e.Teardown.CAPIWorkloads {
		clusters = append(clusters, "default/"+w)
	}
	if diff := cmp.Diff(clusters, names(all, "Cluster")); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(e.MgmtCluster, e.Teardown.MgmtContainerPrefix) {
		t.Errorf("the containers of %s do not begin with %s", e.MgmtCluster, e.Teardown.MgmtContainerPrefix)
	}
	if diff := cmp.Diff([]string{e.InfraProviderNamespace + "/" + e.InfraProviderName}, names(all, "InfrastructureProvider")); diff != "" {
		t.Error(diff)
	}
	references(t, all)
}

// references checks that what a cluster is made of is there, and that the pods of
// each have addresses of their own.
func references(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	there := map[string]bool{}
	for _, o := range objects {
		there[o.GetKind()+" "+o.GetName()] = true
	}
	var find func(owner string, v any)
	find = func(owner string, v any) {
		switch v := v.(type) {
		case map[string]any:
			kind, hasKind := v["kind"].(string)
			name, hasName := v["name"].(string)
			if _, grouped := v["apiGroup"]; grouped && hasKind && hasName && !there[kind+" "+name] {
				t.Errorf("%s names %s %s, which is not there", owner, kind, name)
			}
			for _, inner := range v {
				find(owner, inner)
			}
		case []any:
			for _, inner := range v {
				find(owner, inner)
			}
		}
	}
	taken := map[string]string{}
	for _, o := range objects {
		find(o.GetName(), o.Object["spec"])
		if o.GetKind() != "Cluster" {
			continue
		}
		for _, of := range []string{"pods", "services"} {
			blocks, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "clusterNetwork", of, "cidrBlocks")
			for _, block := range blocks {
				if taken[block] != "" {
					t.Errorf("%s and %s have addresses %s", taken[block], o.GetName(), block)
				}
				taken[block] = o.GetName()
			}
		}
	}
}

func TestThePivotAppliesTheProvidersThatFluxApplies(t *testing.T) {
	t.Parallel()
	dir, e := unpacked(t), environment(t)
	var manifests []*unstructured.Unstructured
	for _, name := range e.ProviderManifests {
		text, err := os.ReadFile(filepath.Join(site, name))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := kube.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, objects...)
	}
	byFlux := kustomized(t, filepath.Join(dir, e.SyncPath, "providers"))
	order := func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetKind()+a.GetName(), b.GetKind()+b.GetName())
	}
	slices.SortFunc(manifests, order)
	slices.SortFunc(byFlux, order)

	if diff := cmp.Diff(manifests, byFlux); diff != "" {
		t.Error(diff)
	}
}

func TestTheWorkloadClusterReadsWhatTheArtifactHolds(t *testing.T) {
	t.Parallel()
	dir, e := unpacked(t), environment(t)
	apps := kustomized(t, filepath.Join(dir, e.SyncPath, "apps"))
	found := false
	for _, o := range apps {
		if secret := text(o, "spec", "kubeConfig", "secretRef", "name"); secret != e.Teardown.CAPIWorkloads[0]+"-kubeconfig" {
			t.Errorf("%s goes to %q", o.GetName(), secret)
		}
		if path := text(o, "spec", "values", "instance", "sync", "path"); path != "" {
			found = true
			if len(kustomized(t, filepath.Join(dir, path))) == 0 {
				t.Errorf("%s holds nothing", path)
			}
		}
	}
	if !found {
		t.Error("nothing names the path of the workload cluster")
	}
}

// The host pulls one image for all clusters, and it is the one of the version that
// the clusters ask for.
func TestTheMachinesAreMadeOfTheImageOfKind(t *testing.T) {
	t.Parallel()
	dir, e := unpacked(t), environment(t)
	_, version, _ := strings.Cut(defaults.Image, ":")
	version, _, _ = strings.Cut(version, "@")
	images, versions := 0, 0
	for _, part := range kustomized(t, filepath.Join(dir, e.SyncPath)) {
		for _, o := range kustomized(t, filepath.Join(dir, text(part, "spec", "path"))) {
			if image := text(o, "spec", "template", "spec", "customImage"); image != "" {
				images++
				if image != defaults.Image {
					t.Errorf("%s %s has image %s, kind has %s", o.GetKind(), o.GetName(), image, defaults.Image)
				}
			}
			for _, at := range [][]string{{"spec", "version"}, {"spec", "template", "spec", "version"}} {
				if got := text(o, at...); got != "" && !strings.HasSuffix(o.GetKind(), "Provider") {
					versions++
					if got != version {
						t.Errorf("%s %s is of version %s, its image of %s", o.GetKind(), o.GetName(), got, version)
					}
				}
			}
		}
	}
	if images != 2 || versions != 3 {
		t.Errorf("%d images and %d versions were compared", images, versions)
	}
}
