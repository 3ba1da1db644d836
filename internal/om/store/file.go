package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

const errNotDir = syscall.ENOTDIR

// File is a configuration as found on disk.
type File struct {
	Path     object.Path // zero: node.conf
	Name     string      // absolute
	Doc      *config.Document
	ModTime  time.Time // the version of the configuration: each commit has a later one
	Checksum string    // hexadecimal, of the bytes
}

// cachedFile is a file with what tells that it was replaced since. Its document
// is shared: never edited.
type cachedFile struct {
	File

	size  int64
	inode uint64
}

// Load reads the configuration of an object. The document is the caller's to
// edit. A missing object is an *[object.NotFoundError]; the node and the
// cluster are never missing, but empty.
func (s *Store) Load(p object.Path) (*File, error) {
	load := s.load
	if isSite(p) {
		load = s.loadOrEmpty
	}
	f, err := load(p)
	if err != nil {
		return nil, err
	}
	own := f.File
	own.Doc = f.Doc.Clone()
	return &own, nil
}

// Text is a configuration as it is written, be it broken.
type Text struct {
	Data    []byte
	ModTime time.Time
}

// Text reads the bytes of the configuration of an object, as [Store.Load] does
// without reading sense into them.
func (s *Store) Text(p object.Path) (Text, error) {
	v, err := s.current(p)
	if err != nil {
		return Text{}, err
	}
	if err := s.mustExist(p, v); err != nil || v == nil {
		return Text{}, err
	}
	return Text{Data: v.data, ModTime: v.info.ModTime()}, nil
}

// load reads through the cache.
func (s *Store) load(p object.Path) (*cachedFile, error) {
	name := s.FileName(p)
	info, err := os.Stat(name)
	if err != nil {
		return nil, s.loadError(p, err)
	}
	s.shared.mu.Lock()
	known, ok := s.shared.files[name]
	s.shared.mu.Unlock()
	if ok && known.is(info) {
		return known, nil
	}
	v, err := read(name)
	if err == nil {
		err = v.broken
	}
	if err != nil {
		return nil, s.loadError(p, err)
	}
	fresh := &cachedFile{
		File: File{Path: p, Name: name, Doc: v.doc, ModTime: v.info.ModTime(), Checksum: v.checksum},
		size: v.info.Size(), inode: inode(v.info),
	}
	s.shared.mu.Lock()
	s.shared.files[name] = fresh
	s.shared.mu.Unlock()
	return fresh, nil
}

// loadOrEmpty is load, for the files whose absence means empty.
func (s *Store) loadOrEmpty(p object.Path) (*cachedFile, error) {
	f, err := s.load(p)
	if isNotFound(err) {
		return &cachedFile{File: File{Path: p, Name: s.FileName(p), Doc: config.NewDocument()}}, nil
	}
	return f, err
}

func (s *Store) loadError(p object.Path, err error) error {
	if !missing(err) {
		return unreadable(p, err)
	}
	s.shared.mu.Lock()
	delete(s.shared.files, s.FileName(p))
	s.shared.mu.Unlock()
	return &object.NotFoundError{What: name(p)}
}

// version is the configuration of an object at one instant.
type version struct {
	data     []byte
	info     os.FileInfo
	checksum string
	doc      *config.Document // nil when it cannot be parsed
	broken   error            // why it cannot
}

// read opens, reads and parses a file. What tells its version is taken from the
// open file, so that it belongs to the bytes read.
func read(name string) (*version, error) {
	f, info, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(io.LimitReader(f, config.MaxSize+1))
	if err != nil {
		return nil, err
	}
	v := &version{data: data, info: info, checksum: checksum(data)}
	if v.doc, err = config.Parse(data); err != nil {
		v.broken = fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// open opens a file, or a link to one, and nothing else: opening a pipe waits for
// whoever writes to it, opening a device does what the device wants. It is looked
// at first, and again once open, for another may have taken its place.
func open(name string) (*os.File, os.FileInfo, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := mustBeFile(name, info); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = mustBeFile(name, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func mustBeFile(name string, info os.FileInfo) error {
	kinds := map[fs.FileMode]string{
		fs.ModeDir: "a directory", fs.ModeNamedPipe: "a named pipe", fs.ModeSocket: "a socket",
		fs.ModeDevice: "a device", fs.ModeDevice | fs.ModeCharDevice: "a device",
	}
	switch {
	case info.Mode().IsRegular() && info.Size() <= config.MaxSize:
		return nil
	case info.Mode().IsRegular():
		return fmt.Errorf("%s holds %d bytes: a configuration has at most %d", name, info.Size(), config.MaxSize)
	default:
		return &NotFileError{Name: name, Is: cmp.Or(kinds[info.Mode().Type()], "something else")}
	}
}

// current reads the configuration of an object, nil when it has none.
func (s *Store) current(p object.Path) (*version, error) {
	v, err := read(s.FileName(p))
	switch {
	case err == nil:
		return v, nil
	case missing(err):
		return nil, nil //nolint:nilnil // nothing is there
	default:
		return nil, unreadable(p, err)
	}
}

// unreadable says which configuration cannot be read, and how to repair it.
func unreadable(p object.Path, err error) error {
	repair := "repair it with om " + name(p) + " config edit"
	if other := (*NotFileError)(nil); errors.As(err, &other) {
		repair = "move it away and put the file back"
	} else if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO) {
		repair = "make it readable"
	}
	return fmt.Errorf("read the configuration of %s: %w: %s", name(p), err, repair)
}

func (f *cachedFile) is(info os.FileInfo) bool {
	return f.ModTime.Equal(info.ModTime()) && f.size == info.Size() && f.inode == inode(info)
}

func inode(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
