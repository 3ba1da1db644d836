// Package store holds the configurations of the objects, of the node and of the
// cluster: ini files under the configuration directory, each the work of one
// atomic and durable commit.
//
// The zero [object.Path] designates node.conf, and object.Cluster() cluster.conf.
// What the agent reads of the node and of the cluster is the merge of the two
// files: a keyword of node.conf hides the same keyword of cluster.conf. Either
// file may be missing, which is the same as empty; a file that cannot be read
// is always an error, never taken for a missing one.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Store gives access to the configurations of a node. It is safe for concurrent use.
type Store struct {
	host     host.Host
	drivers  func(object.Kind) []keyword.Section
	waitLock time.Duration
	degraded bool
	forgets  []secret.String // former secrets of the cluster that a commit drops
	guard    Guard
	step     func(name string) // called along a commit, for tests to stop there
	shared   *shared
}

// shared is what the copies made by [Store.WithWaitLock] have in common.
type shared struct {
	mu      sync.Mutex
	schemas map[object.Kind]*keyword.Schema // "" is that of node.conf
	files   map[string]*cachedFile          // by file name
	site    *site
}

// defaultWaitLock is how long a commit waits for another one, unless told.
const defaultWaitLock = 30 * time.Second

// New returns the store of a host. drivers lists the sections of the resources
// that objects of a kind may hold; nil is none.
func New(h host.Host, drivers func(object.Kind) []keyword.Section) *Store {
	if drivers == nil {
		drivers = func(object.Kind) []keyword.Section { return nil }
	}
	return &Store{
		host: h, drivers: drivers, waitLock: defaultWaitLock, step: func(string) {},
		shared: &shared{schemas: map[object.Kind]*keyword.Schema{}, files: map[string]*cachedFile{}},
	}
}

// WithWaitLock returns the store with commits that wait that long for the lock
// of an object.
func (s *Store) WithWaitLock(d time.Duration) *Store {
	c := *s
	c.waitLock = d
	return &c
}

// Degraded returns the store that goes on when the configurations of the cluster
// and of the node cannot be read: what refers to them fails, and nothing else. As
// far as it knows, the cluster is this node. It serves what must be possible
// then, as to stop what runs, and must not decide where anything starts.
func (s *Store) Degraded() *Store {
	c := *s
	c.degraded = true
	return &c
}

// FileName returns the configuration file of an object.
func (s *Store) FileName(p object.Path) string {
	return filepath.Join(s.host.Paths.Etc(), relativeName(p))
}

func relativeName(p object.Path) string {
	if p.IsZero() {
		return "node.conf"
	}
	return filepath.FromSlash(p.ConfigFile())
}

// name is how messages call an object.
func name(p object.Path) string {
	if p.IsZero() {
		return "node"
	}
	return p.String()
}

// Exists reports whether the object has a configuration here.
func (s *Store) Exists(p object.Path) bool {
	return isFile(s.FileName(p))
}

// isFile tells a file, or a link to one, from anything else of that name.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// List returns the objects that have a configuration here, sorted, the cluster
// among them.
func (s *Store) List() ([]object.Path, error) {
	var paths []object.Path
	etc := s.host.Paths.Etc()
	add := func(dir string) error {
		names, err := entries(filepath.Join(etc, dir))
		for _, name := range names {
			if p, ok := object.FromConfigFile(filepath.ToSlash(filepath.Join(dir, name))); ok && !s.isOther(p) {
				paths = append(paths, p)
			}
		}
		return err
	}
	namespaces, err := entries(filepath.Join(etc, "namespaces"))
	if err != nil {
		return nil, err
	}
	if err := add("."); err != nil {
		return nil, err
	}
	for _, kind := range object.Kinds() {
		if err := add(string(kind)); err != nil {
			return nil, err
		}
		for _, ns := range namespaces {
			if err := add(filepath.Join("namespaces", ns, string(kind))); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(paths, object.Compare)
	return paths, nil
}

// isOther tells what is named as the configuration of an object and is no file:
// a directory. A file that vanished meanwhile is not for the list to tell.
func (s *Store) isOther(p object.Path) bool {
	info, err := os.Stat(s.FileName(p))
	return err == nil && !info.Mode().IsRegular()
}

// entries lists a directory; a missing one is empty.
func entries(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		if missing(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("list the configurations: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list the configurations: %w", err)
	}
	return names, nil
}

// missing tells an absent file, or a path through what is no directory.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir)
}

// Schema returns the keywords an object may hold.
func (s *Store) Schema(p object.Path) *keyword.Schema {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	return s.schema(p.Kind)
}

func (s *Store) schema(kind object.Kind) *keyword.Schema {
	if known, ok := s.shared.schemas[kind]; ok {
		return known
	}
	var fresh *keyword.Schema
	if kind == "" {
		fresh = schema.Node()
	} else {
		fresh = schema.Object(kind, s.drivers(kind))
	}
	s.shared.schemas[kind] = fresh
	return fresh
}

// stateDir is the private directory of an object.
func (s *Store) stateDir(p object.Path) string {
	return filepath.Join(s.host.Paths.Var(), filepath.FromSlash(p.StateDir()))
}

// lockFile is the file whose lock serializes the commits of an object. Names
// hold no underscore, so that no two objects share it.
func (s *Store) lockFile(p object.Path) string {
	base := "node"
	if !p.IsZero() {
		base = strings.ReplaceAll(p.FQN(), "/", "_")
	}
	return filepath.Join(s.host.Paths.Locks(), "objects", base)
}
