package artifact_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact"
)

// given is metadata for trees that are no checkout.
var given = artifact.Meta{SHA: "0123456789012345678901234567890123456789", Ref: "main", Source: "https://example.org/site.git"}

var both = []string{"mgmt/local-host", "workload/local-host"}

// tree writes files below a new directory, in the order of the names.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		write(t, filepath.Join(root, name), files[name])
	}
	return root
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func build(t *testing.T, root string) *artifact.Artifact {
	t.Helper()
	a, err := artifact.Build(artifact.Source{Root: root, Directories: both, Given: given})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func small() map[string]string {
	return map[string]string{
		"mgmt/local-host/kustomization.yaml":     "resources: [a.yaml]\n",
		"mgmt/local-host/clusters/a.yaml":        "kind: Cluster\n",
		"workload/local-host/kustomization.yaml": "resources: []\n",
		"mgmt/aws/secret.yaml":                   "not for this environment\n",
		"age.agekey":                             "not for anybody\n",
		"bootstrap.toml":                         "",
	}
}

// unpack returns the content of a layer, and the names in it in their order.
func unpack(t *testing.T, layer []byte) (files map[string]string, names []string) {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(zipped)
	files = map[string]string{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.Typeflag == tar.TypeReg {
			text, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			files[header.Name] = string(text)
		}
	}
}

func TestAnArtifactHoldsItsDirectoriesWithTheirPathsAndNothingElse(t *testing.T) {
	t.Parallel()

	a := build(t, tree(t, small()))

	_, names := unpack(t, a.Layer())
	want := []string{
		"mgmt/", "mgmt/local-host/", "workload/", "workload/local-host/", "mgmt/local-host/clusters/", "mgmt/local-host/clusters/a.yaml",
		"mgmt/local-host/kustomization.yaml", "workload/local-host/kustomization.yaml",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if a.Files != 3 {
		t.Errorf("%d files", a.Files)
	}
}

func TestAManifestIsWhatFluxReads(t *testing.T) {
	t.Parallel()

	a := build(t, tree(t, small()))

	var m struct {
		SchemaVersion int
		MediaType     string
		Config        struct{ MediaType string }
		Layers        []struct{ MediaType string }
		Annotations   map[string]string
	}
	if err := json.Unmarshal(a.Manifest(), &m); err != nil {
		t.Fatal(err)
	}
	if m.SchemaVersion != 2 || m.MediaType != "application/vnd.oci.image.manifest.v1+json" || m.Config.MediaType != "application/vnd.cncf.flux.config.v1+json" ||
		len(m.Layers) != 1 || m.Layers[0].MediaType != "application/vnd.cncf.flux.content.v1.tar+gzip" {
		t.Errorf("manifest %s", a.Manifest())
	}
	want := map[string]string{
		"org.opencontainers.image.created":  "1970-01-01T00:00:00Z",
		"org.opencontainers.image.source":   "https://example.org/site.git",
		"org.opencontainers.image.revision": "main@sha1:0123456789012345678901234567890123456789",
	}
	if diff := cmp.Diff(want, m.Annotations); diff != "" {
		t.Error(diff)
	}
}

// A digest that changes between two builds of the program would publish once
// more; one that changes between two runs never ends.
func TestTheDigestIsThatOfTheContent(t *testing.T) {
	t.Parallel()
	names := rapid.StringMatching(`(mgmt|workload)/local-host/([a-z]{1,3}/){0,2}[a-zé ]{1,8}\.yaml`)
	rapid.Check(t, func(r *rapid.T) {
		files := rapid.MapOfN(names, rapid.StringN(0, 40, 80), 1, 8).Draw(r, "files")
		seed := rapid.Uint64().Draw(r, "order")
		one, other := tree(t, nil), tree(t, nil)
		for _, root := range []string{one, other} {
			for _, d := range both {
				if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
					r.Fatal(err)
				}
			}
		}
		place := func(root, name string) {
			write(t, filepath.Join(root, name), files[name])
		}
		sorted := slices.Sorted(maps.Keys(files))
		for _, name := range sorted {
			place(one, name)
		}
		shuffled := slices.Clone(sorted)
		dice := rand.New(rand.NewPCG(seed, 1))
		dice.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for _, name := range shuffled {
			place(other, name)
			file := filepath.Join(other, name)
			when := time.Unix(dice.Int64N(1<<31), dice.Int64N(1e9))
			if err := errors.Join(os.Chtimes(file, when, when), os.Chmod(file, []os.FileMode{0o600, 0o644, 0o755}[dice.IntN(3)])); err != nil {
				r.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Join(other, "mgmt/local-host/empty"), 0o755); err != nil {
			r.Fatal(err)
		}

		a, b := build(t, one), build(t, other)

		if a.Digest() != b.Digest() {
			r.Fatalf("the same content, two digests: %v", files)
		}
		if got, _ := unpack(t, a.Layer()); !maps.Equal(got, files) {
			r.Fatalf("packed %v, unpacked %v", files, got)
		}
		victim := shuffled[0]
		write(t, filepath.Join(other, victim), files[victim]+"x")
		if c := build(t, other); c.Digest() == a.Digest() {
			r.Fatalf("%s is another, the digest is the same", victim)
		}
		if err := os.Rename(filepath.Join(one, victim), filepath.Join(one, victim+"2")); err != nil {
			r.Fatal(err)
		}
		if c := build(t, one); c.Digest() == a.Digest() {
			r.Fatalf("%s has another name, the digest is the same", victim)
		}
	})
}

func TestTheMetadataIsPartOfTheDigest(t *testing.T) {
	t.Parallel()
	root := tree(t, small())
	a := build(t, root)
	for _, other := range []artifact.Meta{
		{SHA: strings.Repeat("a", 40), Ref: given.Ref, Source: given.Source},
		{SHA: given.SHA, Ref: "next", Source: given.Source},
		{SHA: given.SHA, Ref: given.Ref, Source: "file:///elsewhere"},
	} {
		b, err := artifact.Build(artifact.Source{Root: root, Directories: both, Given: other})
		if err != nil {
			t.Fatal(err)
		}
		if a.Digest() == b.Digest() {
			t.Errorf("%+v has the digest of %+v", other, given)
		}
	}
}

func TestWhatCannotBePackedIsNamed(t *testing.T) {
	t.Parallel()
	link := func(target, name string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			t.Helper()
			if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, root string)
		want  string
	}{
		"a directory that is missing": {func(t *testing.T, root string) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(root, "workload")); err != nil {
				t.Fatal(err)
			}
		}, "has no directory workload/local-host: it is part of the artifact"},
		"a file where a directory should be": {func(t *testing.T, root string) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(root, "workload/local-host")); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(root, "workload/local-host"), "x")
		}, "is no directory"},
		"a link out of the directories": {
			link("../../age.agekey", "mgmt/local-host/key.yaml"),
			"mgmt/local-host/key.yaml is a link to ../../age.agekey, which is outside of mgmt/local-host and workload/local-host: an artifact holds nothing else",
		},
		"an absolute link":    {link("/etc/hostname", "mgmt/local-host/host.yaml"), "mgmt/local-host/host.yaml is a link to /etc/hostname, which is outside"},
		"a link to a sibling": {link("../local-host-other/x.yaml", "mgmt/local-host/x.yaml"), "is outside of"},
		"a link to nothing":   {link("gone.yaml", "mgmt/local-host/x.yaml"), "mgmt/local-host/x.yaml is a link to gone.yaml, which does not exist"},
		"a link to itself":    {link("x.yaml", "mgmt/local-host/x.yaml"), "mgmt/local-host/x.yaml is a link that leads to a link"},
		"a link to a directory": {
			link("clusters", "mgmt/local-host/all"),
			"mgmt/local-host/all is a link to a directory: name mgmt/local-host/clusters itself where it is used",
		},
		"a named pipe": {func(t *testing.T, root string) {
			t.Helper()
			if err := syscall.Mkfifo(filepath.Join(root, "mgmt/local-host/pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "mgmt/local-host/pipe is neither a file nor a directory"},
		"too much": {func(t *testing.T, root string) {
			t.Helper()
			for _, name := range []string{"a", "b"} {
				file := filepath.Join(root, "mgmt/local-host", name)
				write(t, file, "")
				if err := os.Truncate(file, 60<<20); err != nil {
					t.Fatal(err)
				}
			}
		}, "hold more than 100 MiB, the most Flux unpacks: mgmt/local-host/b went over it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, small())
			c.spoil(t, root)

			_, err := artifact.Build(artifact.Source{Root: root, Directories: both, Given: given})

			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one saying %q", err, c.want)
			}
		})
	}
}

func TestAnUnreadableFileIsNamed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	root := tree(t, small())
	if err := os.Chmod(filepath.Join(root, "mgmt/local-host/clusters/a.yaml"), 0); err != nil {
		t.Fatal(err)
	}

	_, err := artifact.Build(artifact.Source{Root: root, Directories: both, Given: given})

	if err == nil || !strings.Contains(err.Error(), "read mgmt/local-host/clusters/a.yaml: ") || !errors.Is(err, os.ErrPermission) {
		t.Errorf("error %v", err)
	}
}

func TestALinkWithinIsPackedAsWhatItLeadsTo(t *testing.T) {
	t.Parallel()
	root := tree(t, small())
	for name, target := range map[string]string{
		"mgmt/local-host/clusters/b.yaml": "../../../workload/local-host/kustomization.yaml",
		"mgmt/local-host/c.yaml":          "clusters/b.yaml",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}

	files, _ := unpack(t, build(t, root).Layer())

	for _, name := range []string{"mgmt/local-host/clusters/b.yaml", "mgmt/local-host/c.yaml"} {
		if files[name] != "resources: []\n" {
			t.Errorf("%s is %q", name, files[name])
		}
	}
}

func TestDirectoriesFollowTheSyncPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][]string{
		"mgmt/local-host":    both,
		"./mgmt/local-host/": both,
		"mgmt/laptop":        {"mgmt/laptop", "workload/laptop"},
		"clusters/laptop":    {"clusters/laptop"},
		"mgmt":               {"mgmt"},
		".":                  nil,
		"../mgmt/x":          nil,
		"/mgmt/x":            nil,
	} {
		got, err := artifact.Directories(path)

		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("%s: %v %s", path, err, diff)
		}
	}
}
