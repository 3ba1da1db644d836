package artifact

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// maxSize is how much an artifact may hold: Flux unpacks no more.
const maxSize = 100 << 20

// maxLinks is how many links may follow each other.
const maxLinks = 10

// A file is one of the directories of an artifact.
type file struct {
	name string // from the root of the repository
	link string // what the link says, for a link
	data []byte
}

// read reads the files of directories, in the order of their names. Links lead to
// files of these directories or are refused: nothing else gets into an artifact
// by accident, and nothing is left out in silence.
func read(root string, directories []string) (files []file, err error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open the repository: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	t := &tree{root: r, directories: directories}
	for _, name := range directories {
		info, err := r.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s has no directory %s: it is part of the artifact", root, name)
		case err != nil:
			return nil, fmt.Errorf("look at %s: %w", name, err)
		case !info.IsDir():
			return nil, fmt.Errorf("%s of %s is no directory: it is part of the artifact", name, root)
		}
		if err := fs.WalkDir(r.FS(), name, t.visit); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(t.files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return t.files, nil
}

type tree struct {
	root        *os.Root
	directories []string
	files       []file
	size        int64
}

func (t *tree) visit(name string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case entry.Name() == ".git":
		// Of a submodule: what Git keeps for itself is no content.
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	case entry.IsDir():
		return nil
	}
	f := file{name: name}
	target := name
	if entry.Type() == fs.ModeSymlink {
		if f.link, err = t.root.Readlink(name); err != nil {
			return fmt.Errorf("read link %s: %w", name, err)
		}
		if target, err = t.follow(name); err != nil {
			return err
		}
	}
	if f.data, err = t.content(target); err != nil {
		return err
	}
	t.size += int64(len(f.data))
	if t.size > maxSize {
		return fmt.Errorf("the directories %s hold more than %d MiB, the most Flux unpacks: %s went over it",
			strings.Join(t.directories, " and "), maxSize>>20, name)
	}
	t.files = append(t.files, f)
	return nil
}

// follow returns the name a link leads to.
func (t *tree) follow(link string) (string, error) {
	name := link
	for range maxLinks {
		text, err := t.root.Readlink(name)
		if err != nil {
			return "", fmt.Errorf("read link %s: %w", link, err)
		}
		next := path.Join(path.Dir(name), text)
		if path.IsAbs(text) || !t.holds(next) {
			return "", fmt.Errorf("%s is a link to %s, which is outside of %s: an artifact holds nothing else", link, text, strings.Join(t.directories, " and "))
		}
		info, err := t.root.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("%s is a link to %s, which does not exist", link, text)
		case err != nil:
			return "", fmt.Errorf("follow link %s: %w", link, err)
		case info.IsDir():
			return "", fmt.Errorf("%s is a link to a directory: name %s itself where it is used", link, next)
		case info.Mode().Type() != fs.ModeSymlink:
			return next, nil
		}
		name = next
	}
	return "", fmt.Errorf("%s is a link that leads to a link, more than %d times", link, maxLinks)
}

func (t *tree) holds(name string) bool {
	return slices.ContainsFunc(t.directories, func(d string) bool { return strings.HasPrefix(name, d+"/") })
}

// content reads a file whole: its size is then what was read, whoever writes to it.
func (t *tree) content(name string) (data []byte, err error) {
	info, err := t.root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is neither a file nor a directory (%s): an artifact cannot hold it", name, info.Mode().Type())
	}
	f, err := t.root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}
