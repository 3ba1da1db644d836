package helm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact/registrytest"
	"github.com/holdfast-ops/holdfast/internal/krops/helm"
)

// packed is the archive of a chart.
func packed(t *testing.T, name, version string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	text := fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version)
	if err := archive.WriteHeader(&tar.Header{Name: name + "/Chart.yaml", Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// registry serves a registry without TLS, and remembers the credentials that were sent.
func registry(t *testing.T) (address string, sent func() []string) {
	t.Helper()
	r := registrytest.New()
	var credentials []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if a := q.Header.Get("Authorization"); a != "" {
			credentials = append(credentials, a)
		}
		r.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), func() []string { return credentials }
}

// push puts a chart into a registry; media is the type of its layer.
func push(t *testing.T, address, name, tag, media string, archive []byte) {
	t.Helper()
	ctx, store := t.Context(), memory.New()
	layer, err := oras.PushBytes(ctx, store, media, archive)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, "application/vnd.cncf.helm.config.v1+json",
		oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Tag(ctx, manifest, tag); err != nil {
		t.Fatal(err)
	}
	repository, err := remote.NewRepository(address + "/charts/" + name)
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	if _, err := oras.Copy(ctx, store, tag, repository, tag, oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
}

const layerType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

func TestChartsArePulledFromARegistry(t *testing.T) {
	t.Parallel()
	address, _ := registry(t)
	push(t, address, "plain", "1.2.3", layerType, packed(t, "plain", "1.2.3"))
	push(t, address, "vee", "v1.2.3", layerType, packed(t, "vee", "v1.2.3"))
	push(t, address, "build", "1.2.3_4", layerType, packed(t, "build", "1.2.3+4"))
	push(t, address, "image", "1.2.3", "application/vnd.oci.image.layer.v1.tar+gzip", packed(t, "image", "1.2.3"))
	push(t, address, "liar", "1.2.3", layerType, packed(t, "liar", "1.2.4"))
	for _, test := range []struct{ chart, version, want string }{
		{"plain", "1.2.3", ""},
		{"plain", "v1.2.3", ""},
		{"vee", "1.2.3", ""},
		{"build", "1.2.3+4", ""},
		{"plain", "1.2.4", "no such version"},
		{"none", "1.2.3", "no such version"},
		{"image", "1.2.3", "the artifact is no chart"},
		{"liar", "1.2.3", "the chart says it is version 1.2.4"},
	} {
		for _, scheme := range []string{"oci://", "oci+http://"} {
			c, err := helm.Pull(t.Context(), scheme+address+"/charts/"+test.chart, test.version)

			switch {
			case test.want == "" && (err != nil || c.Metadata.Name != test.chart):
				t.Errorf("%s %s: %v", test.chart, test.version, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s %s: %v, want %s", test.chart, test.version, err, test.want)
			}
		}
	}
}

// repository serves charts as files beside an index.
func repository(t *testing.T, entries map[string]any, files map[string][]byte) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "generated": "2026-01-01T00:00:00Z", "entries": entries})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/charts/", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/charts/")
		if name == "index.yaml" {
			_, _ = w.Write(text)
			return
		}
		file, ok := files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(file)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/charts"
}

func TestChartsArePulledFromARepository(t *testing.T) {
	t.Parallel()
	good := packed(t, "cert", "v1.2.3")
	version := func(version, file, digest string) map[string]any {
		return map[string]any{"name": "cert", "version": version, "urls": []string{file}, "digest": digest}
	}
	address := repository(t, map[string]any{
		"cert":    []any{version("v2.0.0", "new.tgz", ""), version("v1.2.3", "files/cert.tgz", digest.FromBytes(good).Encoded())},
		"forged":  []any{version("1.2.3", "files/cert.tgz", strings.Repeat("0", 64))},
		"missing": []any{version("1.2.3", "nowhere.tgz", "")},
		"empty":   []any{map[string]any{"name": "cert", "version": "1.2.3"}},
	}, map[string][]byte{"files/cert.tgz": good})
	for _, test := range []struct{ chart, version, want string }{
		{"cert", "1.2.3", ""},
		{"cert", "v1.2.3", ""},
		{"cert", "1.2", "no such version"},
		{"other", "1.2.3", "there is no such chart"},
		{"empty", "1.2.3", "no such version"},
		{"forged", "1.2.3", "the index says 000000"},
		{"missing", "1.2.3", "HTTP 404"},
	} {
		c, err := helm.Pull(t.Context(), address+"/"+test.chart, test.version)

		switch {
		case test.want == "" && (err != nil || c.Metadata.Version != "v1.2.3"):
			t.Errorf("%s %s: %v", test.chart, test.version, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s %s: %v, want %s", test.chart, test.version, err, test.want)
		}
	}
}

func TestAnAddressIsThatOfASource(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"ghcr.io/charts/flux":  "the name of a chart",
		"oci://ghcr.io":        "the name of a chart",
		"https://host/charts/": "the name of a chart",
		"file:///etc/chart":    "no source of charts",
		"ftp://host/chart":     "no source of charts",
	} {
		if _, err := helm.Pull(t.Context(), address, "1.0.0"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
}

// Not parallel: it sets variables.
func TestNoCredentialsAreSentAndNoFilesAreWritten(t *testing.T) {
	home := t.TempDir()
	address, sent := registry(t)
	push(t, address, "plain", "1.2.3", layerType, packed(t, "plain", "1.2.3"))
	docker := filepath.Join(home, ".docker")
	if err := os.MkdirAll(docker, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docker, "config.json"), fmt.Appendf(nil, `{"auths":{%q:{"auth":"c2VzYW1lOnNlc2FtZQ=="}}}`, address), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("DOCKER_CONFIG", docker)
	t.Setenv("HELM_REGISTRY_CONFIG", filepath.Join(docker, "config.json"))
	t.Setenv("TMPDIR", home)

	if _, err := helm.Pull(t.Context(), "oci://"+address+"/charts/plain", "1.2.3"); err != nil {
		t.Fatal(err)
	}

	if got := sent(); len(got) > 0 {
		t.Errorf("credentials were sent: %d times", len(got))
	}
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != 1 {
		t.Errorf("something was written into the home directory: %v %v", entries, err)
	}
}
