// Package whole writes files that are there with all of their content or not at
// all, whatever ends the process meanwhile. Where the system can, a file has no
// name until it is whole; elsewhere its name begins with .koc- until then.
package whole

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file that is written. Commit gives it its name; Discard, which does
// nothing after it, drops it.
type File struct {
	path    string
	replace bool
	file    *os.File // nil when it is done
	temp    string   // its name for the time being, "" for none
	direct  bool     // the path is no file, and is written as it is
}

// Create begins a file. With replace it takes the place of one that is there when
// it is whole; without it, one that is there is an error now, and one that appears
// later is an error of [File.Commit]. A path that leads to a device or a pipe is
// written to at once.
func Create(path string, mode fs.FileMode, replace bool) (*File, error) {
	f := &File{path: path, replace: replace}
	info, err := os.Lstat(path)
	switch {
	case err == nil && !replace:
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		if target, err := filepath.EvalSymlinks(path); err == nil {
			f.path = target // the link stays, and leads to the new file
		}
		info, err = os.Stat(f.path)
	}
	if err == nil && info.IsDir() {
		return nil, &fs.PathError{Op: "create", Path: path, Err: errors.New("is a directory")}
	}
	if f.direct = err == nil && !info.Mode().IsRegular(); f.direct {
		f.file, err = os.OpenFile(f.path, os.O_WRONLY, 0)
	} else if f.file, err = nameless(filepath.Dir(f.path), mode); err != nil {
		if f.file, err = named(filepath.Dir(f.path), mode); err == nil {
			f.temp = f.file.Name()
		}
	}
	if bad, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, &fs.PathError{Op: "create", Path: path, Err: bad.Err} // without the name for the time being
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// named opens a new file with a name for the time being. The umask holds for its
// mode, as it does for a file without a name.
func named(dir string, mode fs.FileMode) (*os.File, error) {
	for {
		f, err := os.OpenFile(filepath.Join(dir, ".koc-"+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode.Perm())
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Write implements [io.Writer].
func (f *File) Write(p []byte) (int, error) { return f.file.Write(p) }

// Sync waits until the content is on the disk.
func (f *File) Sync() error {
	if f.direct {
		return nil
	}
	return f.file.Sync()
}

// Commit gives the file its name.
func (f *File) Commit() (err error) {
	defer f.Discard()
	if f.direct {
		return f.file.Close()
	}
	if f.temp == "" {
		if err := f.link(); err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		// It can have no name after all: another file gets the content.
		if err := f.copy(); err != nil {
			return err
		}
	}
	if f.replace {
		return os.Rename(f.temp, f.path)
	}
	if err := os.Link(f.temp, f.path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// There are no links: an empty file, if nothing has the name, is replaced.
	empty, err := os.OpenFile(f.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_ = empty.Close()
	return os.Rename(f.temp, f.path)
}

// link gives a file without a name its own.
func (f *File) link() error {
	if !f.replace {
		return name(f.file, f.path)
	}
	if err := name(f.file, f.path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	// A link replaces nothing: it gets a name that replaces the other.
	beside, err := os.MkdirTemp(filepath.Dir(f.path), ".koc-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(beside) }()
	temp := filepath.Join(beside, "new")
	if err := name(f.file, temp); err != nil {
		return err
	}
	return os.Rename(temp, f.path)
}

func (f *File) copy() error {
	other, err := os.CreateTemp(filepath.Dir(f.path), ".koc-*")
	if err != nil {
		return err
	}
	f.temp = other.Name()
	info, err := f.file.Stat()
	if err == nil {
		err = other.Chmod(info.Mode())
	}
	if err == nil {
		_, err = io.Copy(other, io.NewSectionReader(f.file, 0, info.Size()))
	}
	if err == nil {
		err = other.Sync()
	}
	return errors.Join(err, other.Close())
}

// Discard drops a file that was not committed.
func (f *File) Discard() {
	if f.file == nil {
		return
	}
	_ = f.file.Close()
	f.file = nil
	if f.temp != "" {
		_ = os.Remove(f.temp)
	}
}
