package artifact_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact"
	"github.com/holdfast-ops/holdfast/internal/krops/artifact/registrytest"
)

// serve starts a server and returns a reference to an artifact on it.
func serve(t *testing.T, h http.Handler) artifact.Reference {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return artifact.Reference{Host: u.Hostname(), Port: port, Repository: "krops", Tag: "latest"}
}

func TestWhatIsPushedIsThere(t *testing.T) {
	t.Parallel()
	registry := registrytest.New()
	where := serve(t, registry)
	a := build(t, tree(t, small()))

	_, before := where.Digest(t.Context())
	if err := a.Push(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	after, err := where.Digest(t.Context())

	if !errors.Is(before, artifact.ErrAbsent) {
		t.Errorf("before: %v", before)
	}
	if err != nil || after != a.Digest() {
		t.Errorf("after: %s %v, want %s", after, err, a.Digest())
	}
	if got := registry.Manifest("krops", "latest"); string(got) != string(a.Manifest()) {
		t.Errorf("the manifest is %s", got)
	}
}

func TestPushingAgainReplacesTheTag(t *testing.T) {
	t.Parallel()
	where := serve(t, registrytest.New())
	root := tree(t, small())
	one := build(t, root)
	write(t, filepath.Join(root, "mgmt/local-host/new.yaml"), "kind: New\n")
	two := build(t, root)

	for _, a := range []*artifact.Artifact{one, one, two, one, two} {
		if err := a.Push(t.Context(), where); err != nil {
			t.Fatal(err)
		}
		if got, err := where.Digest(t.Context()); err != nil || got != a.Digest() {
			t.Errorf("%s %v, want %s", got, err, a.Digest())
		}
	}
}

func TestOnlyAnAnswerOrAnEmptyPortTellsThatThereIsNone(t *testing.T) {
	t.Parallel()
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	closed := artifact.Reference{Host: "127.0.0.1", Port: 1, Repository: "krops", Tag: "latest"}
	for name, c := range map[string]struct {
		where  artifact.Reference
		absent bool
		want   string
	}{
		"an empty registry":       {serve(t, registrytest.New()), true, "the registry does not have oci://"},
		"nothing listens":         {closed, true, "nothing listens at 127.0.0.1:"},
		"a host without a name":   {artifact.Reference{Host: "krops-registry.invalid", Port: 5000, Repository: "krops", Tag: "latest"}, true, "nothing listens at krops-registry.invalid:5000"},
		"a registry that refuses": {serve(t, status(http.StatusForbidden)), false, "ask the registry for oci://"},
		"a server with a fault":   {serve(t, status(http.StatusNotImplemented)), false, "ask the registry for oci://"},
		"a name that is none":     {artifact.Reference{Host: "localhost", Port: 5001, Repository: "Krops!", Tag: "latest"}, false, "is no name of an artifact (OCI_REPOSITORY, OCI_TAG)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.where.Digest(t.Context())

			if err == nil || errors.Is(err, artifact.ErrAbsent) != c.absent || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, absent is %t, want one saying %q", err, c.absent, c.want)
			}
		})
	}
}

func TestAPushThatFailsNamesTheRegistry(t *testing.T) {
	t.Parallel()
	where := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))

	err := build(t, tree(t, small())).Push(t.Context(), where)

	if err == nil || !strings.Contains(err.Error(), "push the artifact to "+where.String()) {
		t.Errorf("error %v", err)
	}
}
