package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// A checkout is a directory in the working tree of a Git repository. Only what
// names its commit is read from the repository, and the trees of that commit. So
// sparse, partial and linked checkouts are fine: a library that opens the whole
// repository refuses them.
type checkout struct {
	Meta

	prefix string // of the directory in the working tree, with a slash at its end
	store  *filesystem.Storage
}

// open finds the checkout that a directory is in.
func open(directory string) (*checkout, error) {
	top, git, err := findGit(directory)
	if err != nil {
		return nil, err
	}
	common := git
	if text, err := os.ReadFile(filepath.Join(git, "commondir")); err == nil {
		common = strings.TrimSpace(string(text))
		if !filepath.IsAbs(common) {
			common = filepath.Join(git, common)
		}
	}
	settings, err := readConfig(filepath.Join(common, "config"))
	if err != nil {
		return nil, err
	}
	prefix, err := filepath.Rel(top, directory)
	if err != nil {
		return nil, err
	}
	c := &checkout{Meta: Meta{Source: origin(settings, directory)}}
	if prefix != "." {
		c.prefix = filepath.ToSlash(prefix) + "/"
	}
	// With two file systems the objects and branches of a linked checkout are those
	// of the repository it is linked to.
	files := dotgit.NewRepositoryFilesystem(osfs.New(git), osfs.New(common))
	c.store = filesystem.NewStorage(files, cache.NewObjectLRUDefault())
	if c.SHA, c.Ref, err = head(c.store); err != nil {
		return nil, err
	}
	return c, nil
}

// findGit finds the working tree around a directory and the data of Git for it.
func findGit(directory string) (top, git string, err error) {
	for top = filepath.Clean(directory); ; top = filepath.Dir(top) {
		name := filepath.Join(top, ".git")
		info, err := os.Stat(name)
		switch {
		case err == nil && info.IsDir():
			return top, name, nil
		case err == nil:
			// Of a linked checkout, or a submodule: it says where the data are.
			text, err := os.ReadFile(name)
			if err != nil {
				return "", "", err
			}
			git, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
			if !ok {
				return "", "", fmt.Errorf("%s does not say where the data of Git are", name)
			}
			if !filepath.IsAbs(git) {
				git = filepath.Join(top, git)
			}
			if _, err := os.Stat(git); err != nil { //nolint:gosec // G703: where Git keeps its data is what a checkout says
				return "", "", fmt.Errorf("%s is a linked checkout, its repository is not here: %w", top, err)
			}
			return top, git, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", "", err
		case top == filepath.Dir(top):
			return "", "", errors.New("it is not in a Git checkout")
		}
	}
}

func readConfig(name string) (*config.Config, error) {
	text, err := os.ReadFile(name) //nolint:gosec // G703: the same
	if err != nil {
		return nil, fmt.Errorf("read the settings of the repository: %w", err)
	}
	c := config.New()
	if err := config.NewDecoder(bytes.NewReader(text)).Decode(c); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	for _, o := range c.Section("extensions").Options {
		switch name, value := strings.ToLower(o.Key), strings.ToLower(o.Value); {
		case name == "refstorage" && value != "files", name == "objectformat" && value != "sha1":
			return nil, fmt.Errorf("the repository keeps its data in a way that is not supported (%s = %s)", name, value)
		}
	}
	return c, nil
}

// origin is the URL of the remote origin, else that of the directory.
func origin(c *config.Config, directory string) string {
	if u := c.Section("remote").Subsection("origin").Option("url"); u != "" {
		return withoutPassword(u)
	}
	return "file://" + filepath.ToSlash(directory)
}

func head(s *filesystem.Storage) (sha, ref string, err error) {
	symbolic, err := s.Reference(plumbing.HEAD)
	if err != nil {
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	resolved, err := storer.ResolveReference(s, plumbing.HEAD)
	switch {
	case errors.Is(err, plumbing.ErrReferenceNotFound):
		return "", "", fmt.Errorf("branch %s has no commit yet", symbolic.Target().Short())
	case err != nil:
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	ref = detached
	if symbolic.Type() == plumbing.SymbolicReference {
		ref = symbolic.Target().Short()
	}
	return resolved.Hash().String(), ref, nil
}

// changed lists the files that are not as the commit has them: other content,
// unknown to the commit, or gone. It is for people: where the commit cannot be
// read nothing is listed.
func (c *checkout) changed(directories []string, files []file) []string {
	committed, err := c.committed(directories)
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range files {
		if committed.within(f.name) {
			continue
		}
		data := f.data
		if f.link != "" {
			data = []byte(f.link)
		}
		if committed.files[f.name] != plumbing.ComputeHash(plumbing.BlobObject, data) {
			names = append(names, f.name)
		}
		delete(committed.files, f.name)
	}
	for name := range committed.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A snapshot is what a commit says of some directories.
type snapshot struct {
	files   map[string]plumbing.Hash
	modules []string // have commits of their own
}

func (s snapshot) within(name string) bool {
	return slices.ContainsFunc(s.modules, func(m string) bool { return strings.HasPrefix(name, m+"/") })
}

func (c *checkout) committed(directories []string) (snapshot, error) {
	s := snapshot{files: map[string]plumbing.Hash{}}
	commit, err := object.GetCommit(c.store, plumbing.NewHash(c.SHA))
	if err != nil {
		return s, err
	}
	whole, err := commit.Tree()
	if err != nil {
		return s, err
	}
	for _, directory := range directories {
		sub, err := whole.Tree(c.prefix + directory)
		switch {
		case errors.Is(err, object.ErrDirectoryNotFound):
			continue
		case err != nil:
			return s, err
		}
		if err := s.add(directory, sub); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *snapshot) add(directory string, t *object.Tree) error {
	walker := object.NewTreeWalker(t, true, nil)
	defer walker.Close()
	for {
		name, entry, err := walker.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case entry.Mode == filemode.Submodule:
			s.modules = append(s.modules, directory+"/"+name)
		case entry.Mode != filemode.Dir:
			s.files[directory+"/"+name] = entry.Hash
		}
	}
}
