package registrytest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact/registrytest"
)

func TestARegistryRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registrytest.New())
	t.Cleanup(server.Close)
	do := func(method, path, mediaType, body string) (int, string) {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", mediaType)
		w, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Body.Close() }()
		text, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.StatusCode, w.Header.Get("Location") + string(text)
	}
	blob := digest.FromString("x")
	manifest := `{"mediaType":"m","layers":[{"digest":"` + blob.String() + `"}]}`

	for _, step := range []struct {
		name, method, path, mediaType, body string
		status                              int
		want                                string
	}{
		{"it answers", "GET", "/v2/", "", "", 200, ""},
		{"no such route", "GET", "/v3/", "", "", 404, "NAME_INVALID"},
		{"a blob that is not there", "GET", "/v2/a/b/blobs/" + blob.String(), "", "", 404, "BLOB_UNKNOWN"},
		{"a manifest before its blob", "PUT", "/v2/a/b/manifests/t", "m", manifest, 400, "MANIFEST_BLOB_UNKNOWN"},
		{"no tag yet", "GET", "/v2/a/b/tags/list", "", "", 404, "NAME_UNKNOWN"},
		{"a chunk of nothing", "PATCH", "/v2/a/b/blobs/uploads/none", "", "x", 404, "BLOB_UPLOAD_UNKNOWN"},
		{"a blob with another digest", "POST", "/v2/a/b/blobs/uploads/?digest=" + blob.String(), "", "y", 400, "DIGEST_INVALID"},
		{"a blob", "POST", "/v2/a/b/blobs/uploads/?digest=" + blob.String(), "", "x", 201, ""},
		{"the blob", "GET", "/v2/a/b/blobs/" + blob.String(), "", "", 200, "x"},
		{"a manifest of another type", "PUT", "/v2/a/b/manifests/t", "n", manifest, 400, "MANIFEST_INVALID"},
		{"a manifest of another digest", "PUT", "/v2/a/b/manifests/" + blob.String(), "m", manifest, 400, "DIGEST_INVALID"},
		{"a manifest", "PUT", "/v2/a/b/manifests/t", "m", manifest, 201, ""},
		{"the manifest", "GET", "/v2/a/b/manifests/" + digest.FromString(manifest).String(), "", "", 200, manifest},
		{"its tag", "GET", "/v2/a/b/tags/list", "", "", 200, `{"name":"a/b","tags":["t"]}`},
		{"another repository", "GET", "/v2/a/c/manifests/t", "", "", 404, "MANIFEST_UNKNOWN"},
	} {
		status, text := do(step.method, step.path, step.mediaType, step.body)
		if status != step.status || !strings.Contains(text, step.want) {
			t.Errorf("%s: %d %s, want %d %s", step.name, status, text, step.status, step.want)
		}
	}

	_, location := do("POST", "/v2/a/b/blobs/uploads/", "", "")
	_, location = do("PATCH", location, "", "in ")
	if status, text := do("PUT", location, "", "parts"); status != 400 {
		t.Errorf("a blob without a digest: %d %s", status, text)
	}
	if status, _ := do("PUT", location+"?digest="+digest.FromString("in parts").String(), "", ""); status != 201 {
		t.Errorf("a blob in parts: %d", status)
	}
}
