package kube_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

func TestOpenBindsTheContextItIsGiven(t *testing.T) {
	t.Parallel()
	two, err := kube.MergeKubeconfig([]byte(config("https://one.example")), []byte(strings.NewReplacer(
		`"here"`, `"there"`, `"c"`, `"d"`, `"u"`, `"v"`).Replace(config("https://two.example"))))
	if err != nil {
		t.Fatal(err)
	}
	here, err := kube.Open(two, "")
	if err != nil {
		t.Fatal(err)
	}
	there, err := kube.Open(two, "there")
	if err != nil {
		t.Fatal(err)
	}

	if here.Context() != "here" || here.Server() != "https://one.example" {
		t.Errorf("the current context: %s %s", here.Context(), here.Server())
	}
	if there.Context() != "there" || there.Server() != "https://two.example" {
		t.Errorf("a context by its name: %s %s", there.Context(), there.Server())
	}
	if _, err := kube.Open(two, "nowhere"); err == nil || !strings.Contains(err.Error(), `"nowhere"`) {
		t.Errorf("a context that is not there: %v", err)
	}
}

func TestAKubeconfigIsNeverQuoted(t *testing.T) {
	t.Parallel()
	broken := "users:\n- name: sesame\n  user: {token: sesame\n"
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	wrongType := `{"apiVersion":"v1","kind":"Config","users":[{"name":"u","user":{"client-key-data":"sesame sesame"}}]}`
	for name, err := range map[string]error{
		"bytes":  second(kube.Open([]byte(broken), "")),
		"types":  second(kube.Open([]byte(wrongType), "")),
		"file":   second(kube.OpenFile(path, "")),
		"rename": second(kube.RenameContext([]byte(broken), "x")),
		"server": second(kube.SetServer([]byte(wrongType), "c", "x")),
		"merge":  second(kube.MergeKubeconfig([]byte(config("http://x")), []byte(broken))),
	} {
		if err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestFilesOfAKubeconfigAreBesideIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(config("https://one.example"), `"token":"sesame"`, `"tokenFile":"token"`, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	c, err := kube.OpenFile(path, "")
	if err != nil {
		t.Fatal(err)
	}

	if got := c.Config().BearerTokenFile; got != filepath.Join(dir, "token") {
		t.Errorf("the token is looked for in %s", got)
	}
	if !strings.Contains(string(c.Kubeconfig()), filepath.Join(dir, "token")) {
		t.Error("the bytes for other libraries still name a relative file")
	}
	if _, err := kube.OpenFile(filepath.Join(dir, "missing"), ""); err == nil || !strings.Contains(err.Error(), "missing: no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestKubeconfigsAreEdited(t *testing.T) {
	t.Parallel()
	renamed, err := kube.RenameContext([]byte(config("https://one.example")), "krops-mgmt")
	if err != nil {
		t.Fatal(err)
	}
	moved, err := kube.SetServer(renamed, "c", "https://127.0.0.1:4711")
	if err != nil {
		t.Fatal(err)
	}
	current, err := kube.CurrentContext(moved)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kube.Open(moved, "")
	if err != nil {
		t.Fatal(err)
	}

	if current != "krops-mgmt" || c.Context() != "krops-mgmt" || c.Server() != "https://127.0.0.1:4711" || c.Config().BearerToken != "sesame" {
		t.Errorf("%s %s %s", current, c.Context(), c.Server())
	}
	if _, err := kube.Open(moved, "here"); err == nil {
		t.Error("the old name is still there")
	}
	if _, err := kube.SetServer(moved, "other", "x"); err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("a cluster that is not there: %v", err)
	}
}

func FuzzKubeconfig(f *testing.F) {
	f.Add([]byte(config("https://one.example")))
	f.Add([]byte("contexts: [null]\ncurrent-context: a\n"))
	f.Add([]byte("apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := kube.Open(text, ""); err == nil && c.Context() == "" {
			t.Error("opened without a context")
		}
		_, _ = kube.RenameContext(text, "x")
		_, _ = kube.SetServer(text, "c", "x")
		_, _ = kube.MergeKubeconfig(text, text)
	})
}
