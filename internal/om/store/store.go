// Package store holds the configurations of the objects, of the node and of the
// cluster: files under the configuration directory, each the work of one atomic
// and durable commit.
package store

import (
	"context"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// Store gives access to the configurations of a node. It is safe for concurrent use.
type Store struct{}

// New returns the store of a host; drivers lists the sections of the resources
// that objects of a kind may hold.
func New(h host.Host, drivers func(object.Kind) []keyword.Section) *Store { panic("to write") }

// WithWaitLock returns a store whose commits wait that long for the lock of an object.
func (s *Store) WithWaitLock(d time.Duration) *Store { panic("to write") }

// File is a configuration as found on disk.
type File struct {
	Path     object.Path // zero: node.conf
	Name     string      // absolute file name
	Doc      *config.Document
	ModTime  time.Time
	Checksum string // hexadecimal, of the bytes
}

// Committed tells what a commit did.
type Committed struct {
	Changed  bool // false: the configuration was already that one, nothing was written
	ModTime  time.Time
	Checksum string
	Warnings []keyword.Alert
}

// CreateOptions tell how an object is created.
type CreateOptions struct {
	Force     bool              // replace an existing object
	Restore   bool              // keep the recorded keywords, the id among them
	Env       map[string]string // options of the env section to override
	Namespace string            // override the namespace of the path
}

// List returns the objects having a configuration here, sorted.
func (s *Store) List() ([]object.Path, error) { panic("to write") }

// Exists reports whether the object has a configuration here.
func (s *Store) Exists(p object.Path) bool { panic("to write") }

// FileName returns the configuration file of an object; that of the node for the zero path.
func (s *Store) FileName(p object.Path) string { panic("to write") }

// Load reads the configuration of an object; that of the node for the zero
// path. A missing object is an *object.NotFoundError.
func (s *Store) Load(p object.Path) (*File, error) { panic("to write") }

// Create writes the configuration of a new object.
func (s *Store) Create(ctx context.Context, p object.Path, doc *config.Document, o CreateOptions) (Committed, error) {
	panic("to write")
}

// Update applies a change to the configuration of an object, in one commit.
func (s *Store) Update(ctx context.Context, p object.Path, c config.Change) (Committed, error) {
	panic("to write")
}

// Replace puts another configuration in place of that of an object.
func (s *Store) Replace(ctx context.Context, p object.Path, data []byte) (Committed, error) {
	panic("to write")
}

// Delete removes the configuration and the state of an object.
func (s *Store) Delete(ctx context.Context, p object.Path) error { panic("to write") }

// Schema returns the keywords an object may hold; those of the node for the zero path.
func (s *Store) Schema(p object.Path) *keyword.Schema { panic("to write") }

// Evaluator evaluates a configuration as a node would; the local one when asNode is empty.
func (s *Store) Evaluator(p object.Path, doc *config.Document, asNode string) (*config.Evaluator, error) {
	panic("to write")
}

// Validate reports what is wrong in a configuration, on any of its nodes.
func (s *Store) Validate(p object.Path, doc *config.Document) []keyword.Alert { panic("to write") }

// Context gives the keyword converters the nodes of the cluster.
func (s *Store) Context() keyword.Context { panic("to write") }

// Object returns the settings of an object, on this node.
func (s *Store) Object(p object.Path) (*schema.ObjectSettings, error) { panic("to write") }

// Cluster returns the cluster settings: cluster.conf under node.conf.
func (s *Store) Cluster() (*schema.ClusterSettings, error) { panic("to write") }

// Node returns the node settings: cluster.conf under node.conf.
func (s *Store) Node() (*schema.NodeSettings, error) { panic("to write") }

// Listener returns the listener settings.
func (s *Store) Listener() (*schema.ListenerSettings, error) { panic("to write") }

// Heartbeats returns the settings of every hb section, in the order of the configuration.
func (s *Store) Heartbeats() ([]schema.HeartbeatSettings, error) { panic("to write") }

// Labels returns the labels of this node.
func (s *Store) Labels() (map[string]string, error) { panic("to write") }

// Nodes returns the nodes of the cluster; this one when there is no cluster configuration.
func (s *Store) Nodes() []string { panic("to write") }

// Configs gives selectors the configurations.
func (s *Store) Configs() object.Configs { panic("to write") }
