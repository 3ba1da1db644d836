package kind_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/krops/kind"
)

func kubeconfig(name, server string) []byte {
	return []byte(`apiVersion: v1
kind: Config
clusters: [{name: ` + name + `, cluster: {server: "` + server + `", certificate-authority: ca.crt}}]
users: [{name: ` + name + `, user: {token: t}}]
contexts: [{name: ` + name + `, context: {cluster: ` + name + `, user: ` + name + `}}]
current-context: ` + name + `
`)
}

func put(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, file string) (current string, contexts map[string]string) {
	t.Helper()
	c, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	contexts = map[string]string{}
	for name, at := range c.Contexts {
		contexts[name] = c.Clusters[at.Cluster].Server
	}
	return c.CurrentContext, contexts
}

func TestTheCurrentContextOfTheCallerStays(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	put(t, file, kubeconfig("mine", "https://mine"))

	for range 2 {
		if _, err := kind.Merge(t.Context(), []string{file}, kubeconfig("kind-mgmt", "https://127.0.0.1:1")); err != nil {
			t.Fatal(err)
		}
	}

	current, contexts := names(t, file)
	if diff := cmp.Diff(map[string]string{"mine": "https://mine", "kind-mgmt": "https://127.0.0.1:1"}, contexts); diff != "" || current != "mine" {
		t.Error(current, diff)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "certificate-authority: ca.crt") {
		t.Errorf("a path was rewritten: %s, %v", text, err)
	}
	if _, err := os.Stat(file + ".lock"); err == nil {
		t.Error("the lock is left")
	}
}

func TestANewKubeconfigHasTheContextOfTheCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b", "c")}

	file, err := kind.Merge(t.Context(), files, kubeconfig("kind-mgmt", "https://x"))

	if err != nil || file != files[1] {
		t.Fatal(file, err)
	}
	if current, _ := names(t, file); current != "kind-mgmt" {
		t.Error(current)
	}
}

func TestTheFirstFileThatExistsGetsTheContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")}
	put(t, files[1], kubeconfig("mine", "https://mine"))
	put(t, files[2], kubeconfig("other", "https://other"))
	if file, err := kind.Merge(t.Context(), files, kubeconfig("kind-mgmt", "https://x")); err != nil || file != files[1] {
		t.Error(file, err)
	}
}

func TestALinkToAKubeconfigStaysALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "config")
	put(t, target, kubeconfig("mine", "https://mine"))
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := kind.Merge(t.Context(), []string{link}, kubeconfig("kind-mgmt", "https://x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, contexts := names(t, target); len(contexts) != 2 {
		t.Error(contexts)
	}
}

func TestABrokenKubeconfigIsLeftAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	put(t, file, []byte("{"))
	if _, err := kind.Merge(t.Context(), []string{file}, kubeconfig("kind-mgmt", "https://x")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "{" {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := kind.Merge(t.Context(), nil, nil); err == nil {
		t.Error("no file at all")
	}
}

func TestAClusterLeavesTheKubeconfigs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put(t, a, kubeconfig("kind-mgmt", "https://x"))
	put(t, b, kubeconfig("mine", "https://mine"))

	if err := kind.Unmerge(t.Context(), []string{a, b, filepath.Join(dir, "none")}, "mgmt"); err != nil {
		t.Fatal(err)
	}

	if current, contexts := names(t, a); current != "" || len(contexts) != 0 {
		t.Error(current, contexts)
	}
	if info, err := os.Stat(b); err != nil || info.Mode().Perm() != 0o644 {
		t.Error("a file was rewritten that has nothing to do with it")
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a file was made")
	}
}

func TestAKubeconfigThatIsLockedIsNotChanged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	put(t, file+".lock", nil)
	synctest.Test(t, func(t *testing.T) {
		_, err := kind.Merge(t.Context(), []string{file}, kubeconfig("kind-mgmt", "https://x"))
		if err == nil || !strings.Contains(err.Error(), file+".lock is there: another program changes the kubeconfig") {
			t.Errorf("%v", err)
		}
	})
	if _, err := os.Stat(file); err == nil {
		t.Error("it was written")
	}
}

func TestAContextThatLeadsElsewhereIsNone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	put(t, file, kubeconfig("kind-mgmt", "https://127.0.0.1:1"))
	for server, want := range map[string]bool{"https://127.0.0.1:1": true, "https://127.0.0.1:2": false} {
		if has, err := kind.HasContext([]string{file}, "mgmt", kubeconfig("kind-mgmt", server)); err != nil || has != want {
			t.Errorf("%s: %v, %v", server, has, err)
		}
	}
	if has, err := kind.HasContext([]string{file + "x"}, "mgmt", kubeconfig("kind-mgmt", "https://x")); err != nil || has {
		t.Errorf("%v, %v", has, err)
	}
}

func TestTheFilesOfACaller(t *testing.T) {
	t.Parallel()
	for env, want := range map[string][]string{"": {"/home/op/.kube/config"}, "/a:/b": {"/a", "/b"}, ":/a:": {"/a"}, ":": {"/home/op/.kube/config"}} {
		if diff := cmp.Diff(want, kind.Files(env, "/home/op")); diff != "" {
			t.Errorf("%q: %s", env, diff)
		}
	}
	if files := kind.Files("", ""); files != nil {
		t.Error(files)
	}
}

func TestTheFileOfTheToolboxIsForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a", "kind.yaml")
	for range 2 {
		if err := kind.Write(file, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A merge is undone by removing the cluster, and never switches the context of the
// caller.
func TestMergingIsUndoneByRemoving(t *testing.T) {
	t.Parallel()
	law := func(t *rapid.T, dir string, merge func(file string, added []byte) error) (broken string) {
		name := rapid.SampledFrom([]string{"mine", "other", "kind-a", ""})
		file := filepath.Join(dir, "config")
		_ = os.Remove(file)
		current := name.Draw(t, "current context of the caller")
		if current != "" {
			if err := os.WriteFile(file, kubeconfig(current, "https://mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before, err := clientcmd.Load(read(file))
		if err != nil {
			t.Fatal(err)
		}
		if err := merge(file, kubeconfig("kind-mgmt", "https://127.0.0.1:1")); err != nil {
			t.Fatal(err)
		}
		merged, err := clientcmd.Load(read(file))
		if err != nil {
			t.Fatal(err)
		}
		if current != "" && merged.CurrentContext != current {
			return "the context was switched"
		}
		if merged.Contexts["kind-mgmt"] == nil {
			return "the context is missing"
		}
		if err := kind.Unmerge(context.Background(), []string{file}, "mgmt"); err != nil {
			t.Fatal(err)
		}
		after, err := clientcmd.Load(read(file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			return diff
		}
		return ""
	}
	dir := t.TempDir()
	right := func(file string, added []byte) error {
		_, err := kind.Merge(context.Background(), []string{file}, added)
		return err
	}
	rapid.Check(t, func(r *rapid.T) {
		if broken := law(r, dir, right); broken != "" {
			r.Error(broken)
		}
	})

	// A law that nothing breaks is none: kind itself switches the context.
	switching := func(file string, added []byte) error {
		if err := right(file, added); err != nil {
			return err
		}
		c, err := clientcmd.Load(read(file))
		if err != nil {
			return err
		}
		c.CurrentContext = "kind-mgmt"
		return clientcmd.WriteToFile(*c, file)
	}
	caught := false
	rapid.Check(t, func(r *rapid.T) { caught = law(r, dir, switching) != "" || caught })
	if !caught {
		t.Error("a merge that switches the context breaks no law")
	}
}

// read returns a file, nothing when there is none.
func read(file string) []byte {
	text, _ := os.ReadFile(file)
	return text
}

func FuzzKubeconfigOfANode(f *testing.F) {
	f.Add(admin)
	f.Add("{}")
	f.Add("current-context: a\ncontexts: [{name: a}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		made, err := kind.Own([]byte(text), "mgmt", "https://127.0.0.1:1")
		if err != nil {
			return
		}
		c, err := clientcmd.Load(made)
		if err != nil {
			t.Fatal(err)
		}
		if at := c.Contexts[c.CurrentContext]; c.CurrentContext != "kind-mgmt" || at == nil || c.Clusters[at.Cluster].Server != "https://127.0.0.1:1" {
			t.Errorf("%s", made)
		}
	})
}
