package install

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/linux/launch"
)

// tree is the directory of a resource. What is done in it stays in it, whatever
// links it holds: it may belong to somebody who is not to be trusted.
type tree struct {
	root *os.Root
	head string // its name, for messages
	say  func(format string, a ...any)
}

// ownership is who a file or a directory is to belong to: -1 for as it is.
type ownership struct {
	uid, gid    int
	user, group string // as written
}

func owner(user, group string) (o ownership, err error) {
	o = ownership{uid: -1, gid: -1, user: user, group: group}
	if user != "" {
		if o.uid, err = launch.UserID(user); err != nil {
			return o, err
		}
	}
	if group != "" {
		if o.gid, err = launch.GroupID(group); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o ownership) holds(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (o.uid < 0 || int(st.Uid) == o.uid) && (o.gid < 0 || int(st.Gid) == o.gid)
}

// modeBits are the bits of a mode that chmod sets.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// name is how a message calls a file of the tree.
func (t tree) name(rel string) string { return path.Join(t.head, rel) }

// directory makes a directory and those it is in, and gives it its mode and its
// owner. Without a mode, one that is there keeps its own.
func (t tree) directory(rel string, mode *fs.FileMode, parents fs.FileMode, own ownership) error {
	if rel == "" {
		rel = "."
	}
	if err := t.parents(rel, parents, own, ""); err != nil {
		return err
	}
	fresh := parents
	if mode != nil {
		fresh = *mode
	}
	made, err := t.makeDirectory(rel, fresh, own, "")
	if made || err != nil || mode == nil && own.uid < 0 && own.gid < 0 {
		return err
	}
	return t.adjust(rel, mode, own)
}

// parents makes the directories a name is in.
func (t tree) parents(rel string, mode fs.FileMode, own ownership, why string) error {
	dir := path.Dir(rel)
	if dir == "." {
		return nil
	}
	if err := t.parents(dir, mode, own, why); err != nil {
		return err
	}
	_, err := t.makeDirectory(dir, mode, own, why)
	return err
}

// makeDirectory makes one directory if it is not there. A link to a directory of
// the tree is one.
func (t tree) makeDirectory(rel string, mode fs.FileMode, own ownership, why string) (made bool, err error) {
	info, err := t.root.Stat(rel)
	if err == nil {
		if !info.IsDir() {
			return false, fmt.Errorf("%s is not a directory", t.name(rel))
		}
		return false, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, t.escaped(rel, err)
	}
	if info, err := t.root.Lstat(rel); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return false, fmt.Errorf("%s is a link to nothing: remove it", t.name(rel))
	}
	t.say("create directory %s%s", t.name(rel), why)
	if err := t.root.Mkdir(rel, 0o700); err != nil {
		return false, t.escaped(rel, err)
	}
	return true, t.adjust(rel, &mode, own)
}

// adjust gives a directory its mode and its owner, through a descriptor: it is
// not a link, and nobody can put one in its place meanwhile.
func (t tree) adjust(rel string, mode *fs.FileMode, own ownership) (err error) {
	seen, err := t.root.Lstat(rel)
	if err != nil {
		return t.escaped(rel, err)
	}
	if !seen.IsDir() {
		return fmt.Errorf("%s is not a directory: neither its mode nor its owner is set through a link", t.name(rel))
	}
	dir, err := t.root.OpenFile(rel, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return t.escaped(rel, err)
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	info, err := dir.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(seen, info) {
		return fmt.Errorf("%s was replaced meanwhile", t.name(rel))
	}
	if !own.holds(info) {
		if err := dir.Chown(own.uid, own.gid); err != nil {
			return fmt.Errorf("set the owner of %s: %w", t.name(rel), plain(err))
		}
	}
	if mode != nil && (info.Mode()&modeBits != *mode&modeBits || !own.holds(info)) {
		return dir.Chmod(*mode)
	}
	return nil
}

// same tells whether a file has the content, the mode and the owner it is to
// have, and whether it has the content.
func (t tree) same(rel string, content []byte, mode fs.FileMode, own ownership) (all, data, there bool) {
	seen, err := t.root.Lstat(rel)
	if err != nil {
		return false, false, false
	}
	if !seen.Mode().IsRegular() || seen.Size() != int64(len(content)) {
		return false, false, true
	}
	// It may be something else by now, that must not hold the agent up.
	file, err := t.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false, false, true
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil || !os.SameFile(seen, info) {
		return false, false, true
	}
	is, err := io.ReadAll(io.LimitReader(file, int64(len(content))+1))
	if err != nil || !bytes.Equal(is, content) {
		return false, false, true
	}
	return info.Mode()&modeBits == mode&modeBits && own.holds(info), true, true
}

// file puts a file in place at once: who reads it sees the former one or the
// whole of this one, and what is there, be it a link, is replaced and not
// written to. It is not made durable: the start that follows a crash of the node
// installs again what is not as it should be.
func (t tree) file(rel string, content []byte, mode fs.FileMode, own ownership) (err error) {
	temporary := path.Join(path.Dir(rel), "."+path.Base(rel)+"."+rand.Text()[:8])
	f, err := t.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return t.escaped(rel, err)
	}
	placed := false
	defer func() {
		if !placed {
			err = errors.Join(err, f.Close(), t.root.Remove(temporary))
		}
	}()
	if _, err := f.Write(content); err != nil {
		return fmt.Errorf("write %s: %w", t.name(rel), plain(err))
	}
	if own.uid >= 0 || own.gid >= 0 {
		if err := f.Chown(own.uid, own.gid); err != nil {
			return fmt.Errorf("set the owner of %s: %w", t.name(rel), plain(err))
		}
	}
	// After the owner, whose change drops bits.
	if err := f.Chmod(mode); err != nil {
		return fmt.Errorf("set the mode of %s: %w", t.name(rel), plain(err))
	}
	if info, err := t.root.Lstat(rel); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory", t.name(rel))
	}
	if err := t.root.Rename(temporary, rel); err != nil {
		return t.escaped(rel, err)
	}
	placed = true
	return f.Close()
}

// escaped explains the refusal to leave the tree.
func (t tree) escaped(rel string, err error) error {
	if strings.Contains(err.Error(), "escapes from parent") {
		return fmt.Errorf("%s: a link on the way leads out of %s, and is not followed", t.name(rel), t.head)
	}
	return fmt.Errorf("%s: %w", t.name(rel), plain(err))
}

// plain is an error of the system without the name of a temporary file.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
