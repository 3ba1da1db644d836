package artifact_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact"
)

// commit makes a repository of a tree, on branch main, and returns its commit.
func commit(t *testing.T, root string) (*git.Repository, string) {
	t.Helper()
	r, err := git.PlainInitWithOptions(root, &git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: plumbing.NewBranchReferenceName("main")}})
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
	return r, id.String()
}

func remote(t *testing.T, r *git.Repository, url string) {
	t.Helper()
	if _, err := r.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{url}}); err != nil {
		t.Fatal(err)
	}
}

// fromGit builds without any metadata given.
func fromGit(t *testing.T, root string) *artifact.Artifact {
	t.Helper()
	a, err := artifact.Build(artifact.Source{Root: root, Directories: both})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheMetadataIsThatOfTheCheckout(t *testing.T) {
	t.Parallel()
	root := tree(t, small())
	r, sha := commit(t, root)
	remote(t, r, "git@example.org:site.git")

	a := fromGit(t, root)

	if diff := cmp.Diff(artifact.Meta{SHA: sha, Ref: "main", Source: "git@example.org:site.git"}, a.Meta); diff != "" {
		t.Error(diff)
	}
	if len(a.Changed) != 0 {
		t.Errorf("changed: %v", a.Changed)
	}
}

func TestACheckoutWithoutOriginIsNamedByItsDirectory(t *testing.T) {
	t.Parallel()
	root := tree(t, small())
	commit(t, root)

	if a := fromGit(t, root); a.Source != "file://"+root {
		t.Errorf("source %s", a.Source)
	}
}

func TestADetachedHeadIsCalledSo(t *testing.T) {
	t.Parallel()
	root := tree(t, small())
	_, sha := commit(t, root)
	write(t, filepath.Join(root, ".git/HEAD"), sha+"\n")

	if a := fromGit(t, root); a.Revision() != "detached@sha1:"+sha {
		t.Errorf("revision %s", a.Revision())
	}
}

// link makes a linked checkout of a repository as git worktree add does.
func link(t *testing.T, repository, branch string) string {
	t.Helper()
	linked := tree(t, small())
	data := filepath.Join(repository, ".git/worktrees/linked")
	write(t, filepath.Join(data, "HEAD"), "ref: refs/heads/"+branch+"\n")
	write(t, filepath.Join(data, "commondir"), "../..\n")
	write(t, filepath.Join(data, "gitdir"), filepath.Join(linked, ".git")+"\n")
	write(t, filepath.Join(linked, ".git"), "gitdir: "+data+"\n")
	return linked
}

func TestALinkedCheckoutHasItsOwnBranchAndTheOriginOfItsRepository(t *testing.T) {
	t.Parallel()
	root := tree(t, small())
	r, sha := commit(t, root)
	remote(t, r, "https://example.org/site.git")
	if err := r.Storer.SetReference(plumbing.NewHashReference("refs/heads/topic/one", plumbing.NewHash(sha))); err != nil {
		t.Fatal(err)
	}

	a := fromGit(t, link(t, root, "topic/one"))

	if diff := cmp.Diff(artifact.Meta{SHA: sha, Ref: "topic/one", Source: "https://example.org/site.git"}, a.Meta); diff != "" {
		t.Error(diff)
	}
	if len(a.Changed) != 0 {
		t.Errorf("changed: %v", a.Changed)
	}
}

func TestADirectoryInsideACheckoutIsARepositoryToo(t *testing.T) {
	t.Parallel()
	files := map[string]string{"README.md": "x"}
	for name, text := range small() {
		files["sites/one/"+name] = text
	}
	root := tree(t, files)
	_, sha := commit(t, root)
	site := filepath.Join(root, "sites/one")
	write(t, filepath.Join(site, "mgmt/local-host/clusters/a.yaml"), "kind: Other\n")

	a := fromGit(t, site)

	if a.SHA != sha || a.Source != "file://"+site {
		t.Errorf("%+v", a.Meta)
	}
	if diff := cmp.Diff([]string{"mgmt/local-host/clusters/a.yaml"}, a.Changed); diff != "" {
		t.Error(diff)
	}
}

func TestWhatTheCommitDoesNotHaveIsListed(t *testing.T) {
	t.Parallel()
	root := tree(t, small())
	if err := os.Symlink("clusters/a.yaml", filepath.Join(root, "mgmt/local-host/link.yaml")); err != nil {
		t.Fatal(err)
	}
	commit(t, root)
	clean := fromGit(t, root)
	write(t, filepath.Join(root, ".gitignore"), "*.new\n")
	write(t, filepath.Join(root, "mgmt/local-host/kustomization.yaml"), "resources: []\n")
	write(t, filepath.Join(root, "mgmt/local-host/ignored.new"), "x")
	write(t, filepath.Join(root, "mgmt/aws/secret.yaml"), "of no interest here")
	if err := os.Remove(filepath.Join(root, "workload/local-host/kustomization.yaml")); err != nil {
		t.Fatal(err)
	}

	a := fromGit(t, root)

	if len(clean.Changed) != 0 {
		t.Errorf("changed at once: %v", clean.Changed)
	}
	want := []string{"mgmt/local-host/ignored.new", "mgmt/local-host/kustomization.yaml", "workload/local-host/kustomization.yaml"}
	if diff := cmp.Diff(want, a.Changed); diff != "" {
		t.Error(diff)
	}
}

// Sparse and partial clones say so in an extension that a library may not know.
func TestExtensionsThatDoNotMatterAreNoObstacle(t *testing.T) {
	t.Parallel()
	for _, extension := range []string{"worktreeConfig = true", "partialClone = origin", "relativeWorktrees = true"} {
		root := tree(t, small())
		_, sha := commit(t, root)
		write(t, filepath.Join(root, ".git/config"), "[core]\n\trepositoryformatversion = 1\n[extensions]\n\t"+extension+"\n[remote \"origin\"]\n\turl = ssh://git@example.org/site\n")

		if a := fromGit(t, root); a.SHA != sha || a.Source != "ssh://git@example.org/site" {
			t.Errorf("%s: %+v", extension, a.Meta)
		}
	}
}

func TestAPasswordInTheOriginIsNotPublished(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://ghp_token@example.org/site.git":    "https://example.org/site.git",
		"https://me:ghp_token@example.org/site.git": "https://example.org/site.git",
		"ssh://git:secret@example.org/site.git":     "ssh://git@example.org/site.git",
		"git@example.org:site.git":                  "git@example.org:site.git",
	} {
		root := tree(t, small())
		r, sha := commit(t, root)
		remote(t, r, url)

		asked := fromGit(t, root)
		told, err := artifact.Build(artifact.Source{Root: root, Directories: both, Given: artifact.Meta{SHA: sha, Ref: "main", Source: url}})
		if err != nil {
			t.Fatal(err)
		}

		for _, a := range []*artifact.Artifact{asked, told} {
			if a.Source != want || strings.Contains(string(a.Manifest()), "token") || strings.Contains(string(a.Manifest()), "secret") {
				t.Errorf("source %s: %s", a.Source, a.Manifest())
			}
		}
	}
}

func TestMetadataComesWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	root := tree(t, small())
	for _, c := range []struct {
		given artifact.Meta
		want  string
	}{
		{artifact.Meta{SHA: "a"}, "the metadata of the artifact is incomplete: KROPS_OCI_GIT_REF and KROPS_OCI_SOURCE_URL must be set too"},
		{artifact.Meta{Ref: "a", Source: "b"}, "incomplete: KROPS_OCI_GIT_SHA must be set too"},
		{artifact.Meta{SHA: "a", Ref: "b\nc", Source: "d"}, "KROPS_OCI_GIT_REF has a control character in it"},
		{artifact.Meta{}, "find the commit of " + root + ": it is not in a Git checkout; without Git, set all of KROPS_OCI_GIT_SHA, KROPS_OCI_GIT_REF and KROPS_OCI_SOURCE_URL"},
	} {
		_, err := artifact.Build(artifact.Source{Root: root, Directories: both, Given: c.given})

		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one saying %q", c.given, err, c.want)
		}
	}
}

func TestACheckoutThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, root string)
		want  string
	}{
		"no commit yet": {func(t *testing.T, root string) {
			t.Helper()
			if _, err := git.PlainInit(root, false); err != nil {
				t.Fatal(err)
			}
		}, "branch master has no commit yet"},
		"a repository that stayed elsewhere": {func(t *testing.T, root string) {
			t.Helper()
			write(t, filepath.Join(root, ".git"), "gitdir: /nowhere/.git/worktrees/x\n")
		}, "is a linked checkout, its repository is not here"},
		"a .git that says nothing": {func(t *testing.T, root string) {
			t.Helper()
			write(t, filepath.Join(root, ".git"), "\n")
		}, "does not say where the data of Git are"},
		"reftables": {func(t *testing.T, root string) {
			t.Helper()
			commit(t, root)
			write(t, filepath.Join(root, ".git/config"), "[extensions]\n\trefStorage = reftable\n")
		}, "not supported (refstorage = reftable)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, small())
			c.spoil(t, root)

			_, err := artifact.Build(artifact.Source{Root: root, Directories: both})

			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "set all of KROPS_OCI_GIT_SHA") {
				t.Errorf("error %v, want one saying %q", err, c.want)
			}
			told, err := artifact.Build(artifact.Source{Root: root, Directories: both, Given: given})
			if err != nil || told.Revision() != "main@sha1:"+given.SHA {
				t.Errorf("with metadata given: %v", err)
			}
		})
	}
}
