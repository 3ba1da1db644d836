package site_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact/registrytest"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
)

// publishing is a voice that remembers.
type publishing []string

func (l *publishing) Say(string, ...any) {}
func (l *publishing) Detail(format string, a ...any) {
	*l = append(*l, "detail: "+fmt.Sprintf(format, a...))
}

func (l *publishing) Done(format string, a ...any) {
	*l = append(*l, "done: "+fmt.Sprintf(format, a...))
}

func (l *publishing) Warn(format string, a ...any) {
	*l = append(*l, "warn: "+fmt.Sprintf(format, a...))
}

func (l *publishing) Trouble(format string, a ...any) {
	*l = append(*l, "trouble: "+fmt.Sprintf(format, a...))
}
func (l *publishing) Print(text string) { *l = append(*l, "print: "+text) }

const publishingSite = `
[bootstrap]
default-environment = "local-host"
git-branch = "main"
kind-cluster = "mgmt"
kind-context = "kind-mgmt"
registry-name = "krops-registry"
flux-namespace = "flux-system"
github-pat-secret = "flux-github-pat"
sops-age-secret = "sops-age"
mgmt-namespace = "default"
mgmt-context = "krops-mgmt"
[charts]
[environments.local-host]
kind = "local-host"
sync = "oci"
sync-path = "mgmt/local-host"
mgmt-cluster = "local-management"
mgmt-ready-timeout = "15m"
infra-provider-namespace = "capd-system"
infra-provider-name = "docker"
provider-manifests = []
`

func place(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkout makes a committed repository and returns its commit.
func checkout(t *testing.T) (root, sha string) {
	t.Helper()
	root = t.TempDir()
	place(t, root, "mgmt/local-host/kustomization.yaml", "resources: []\n")
	place(t, root, "workload/local-host/kustomization.yaml", "resources: []\n")
	r, err := git.PlainInit(root, false)
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddWithOptions(&git.AddOptions{All: true}); err != nil {
		t.Fatal(err)
	}
	id, err := w.Commit("a site", &git.CommitOptions{Author: &object.Signature{Name: "n", Email: "e", When: time.Unix(0, 0)}})
	if err != nil {
		t.Fatal(err)
	}
	return root, id.String()
}

// publisher is a site of a checkout whose registry is served by a handler.
func publisher(t *testing.T, root string, h http.Handler, environment map[string]string) *site.Site {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse("bootstrap.toml", []byte(publishingSite), func(string, []string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Resolve(config.VerbBootstrap, "", func(name string) (string, bool) {
		switch name {
		case "REGISTRY_PORT":
			return u.Port(), true
		case "HOME":
			return "/home/op", true
		}
		value, ok := environment[name]
		return value, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	return site.New(site.Options{Settings: s, Root: root, Dir: root})
}

func presence(ctx context.Context, s *site.Site, fact plan.Fact) plan.Presence {
	return s.Observe(ctx, plan.World{}, fact).Of(fact)
}

func TestTheArtifactIsThereOnceItIsPublished(t *testing.T) {
	t.Parallel()
	root, sha := checkout(t)
	registry := registrytest.New()
	s := publisher(t, root, registry, nil)
	for _, step := range []struct {
		id   string
		fact plan.Fact
	}{{"publish", "source/artifact"}, {"target-publish", "target/artifact"}} {
		place(t, root, "mgmt/local-host/"+step.id+".yaml", "kind: New\n")
		before := presence(t.Context(), s, step.fact)
		var said publishing

		if err := s.Do(t.Context(), plan.Step{ID: step.id}, &said); err != nil {
			t.Fatal(err)
		}

		if after := presence(t.Context(), s, step.fact); !before.Gone() || !after.There() {
			t.Errorf("%s: %v before, %v after", step.id, before, after)
		}
		if len(said) != 2 || !strings.HasPrefix(said[0], "detail: not as in commit "+sha[:12]+", published as it is here: mgmt/local-host/") ||
			!strings.Contains(said[1], " files of master@sha1:"+sha+", sha256:") {
			t.Errorf("%s said %q", step.id, said)
		}
	}
	if !strings.Contains(string(registry.Manifest("krops", "latest")), "master@sha1:"+sha) {
		t.Error("the registry does not have it")
	}
	if got := presence(t.Context(), s, "source/artifact"); !got.There() {
		t.Errorf("both clusters read the same artifact, the first one: %v", got)
	}
}

func TestNamesAndMetadataOfTheCallerAreUsed(t *testing.T) {
	t.Parallel()
	root, _ := checkout(t)
	registry := registrytest.New()
	s := publisher(t, root, registry, map[string]string{
		"OCI_REPOSITORY": "site/one", "OCI_TAG": "next", "KROPS_OCI_GIT_SHA": "abc", "KROPS_OCI_GIT_REF": "topic", "KROPS_OCI_SOURCE_URL": "https://example.org/r",
	})

	if err := s.Do(t.Context(), plan.Step{ID: "publish"}, &publishing{}); err != nil {
		t.Fatal(err)
	}

	if m := string(registry.Manifest("site/one", "next")); !strings.Contains(m, "topic@sha1:abc") || !strings.Contains(m, "https://example.org/r") {
		t.Errorf("manifest %s", m)
	}
}

func TestAnArtifactIsUnknownWhenTheRegistryOrTheCheckoutDoesNotTell(t *testing.T) {
	t.Parallel()
	root, _ := checkout(t)
	refuses := publisher(t, root, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }), nil)
	nowhere := publisher(t, t.TempDir(), registrytest.New(), nil)
	incomplete := publisher(t, root, registrytest.New(), nil)
	incomplete.Settings.OCIGitSHA = "abc"
	for s, want := range map[*site.Site]string{
		refuses: "ask the registry for oci://localhost:", nowhere: "it is not in a Git checkout", incomplete: "the metadata of the artifact is incomplete",
	} {
		why, failed := presence(t.Context(), s, "source/artifact").Failed()

		if !failed || !strings.Contains(why, want) {
			t.Errorf("%t %s, want %s", failed, why, want)
		}
		if err := s.Do(t.Context(), plan.Step{ID: "publish"}, &publishing{}); err == nil {
			t.Errorf("it is published although %s", want)
		}
	}
}

func TestAnArtifactOfAnotherContentIsNone(t *testing.T) {
	t.Parallel()
	root, _ := checkout(t)
	s := publisher(t, root, registrytest.New(), nil)
	if err := s.Do(t.Context(), plan.Step{ID: "publish"}, &publishing{}); err != nil {
		t.Fatal(err)
	}
	place(t, root, "workload/local-host/kustomization.yaml", "resources: [x.yaml]\n")

	got := presence(t.Context(), s, "target/artifact")

	if !got.Gone() || !strings.Contains(got.Evidence(), "the registry has another artifact: sha256:") {
		t.Errorf("%v %s", got, got.Evidence())
	}
}
