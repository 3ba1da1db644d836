package resource

import (
	"context"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Keys gives access to the keys of the cfg and sec objects.
type Keys interface {
	// Keys lists the names of the keys of an object.
	Keys(p object.Path) ([]string, error)
	// Decode reads a key.
	Decode(p object.Path, key string) ([]byte, error)
	// Add makes a key that does not exist.
	Add(ctx context.Context, p object.Path, key string, value []byte) error
	// MayDecode tells whether the objects of a namespace may read the keys.
	MayDecode(p object.Path, namespace string) (bool, error)
}

// Installation is what a resource that lays down keys as files is given: where
// it reads, and whom it tells.
type Installation struct {
	Keys Keys // nil: there are none
	// Version names the state of an object: another one after each change of its
	// keys, empty when the object is not there.
	Version func(p object.Path) string
	// Values are the evaluated options of the env section of the object, and why
	// those that are missing could not be evaluated.
	Values func() (values map[string]string, failed map[string]error)
	// Ref is the value of a reference written without its braces.
	Ref func(name string) (string, error)
	// Networks are those of the node.
	Networks func() ([]Network, error)
	// Signal sends a signal to the processes of a resource of the object, if it has any.
	Signal func(ctx context.Context, rid string, sig syscall.Signal) error
	// Installed tells that files were written.
	Installed func(ctx context.Context, files []string)
	// MaxKeySize bounds what a key holds, in bytes; 0 when it is not known.
	MaxKeySize func() int64
}

// Network is a cluster network, as a node sees it.
type Network struct {
	Name    string
	Type    string // bridge, routed_bridge, lo
	Network string // its addresses, as 10.22.0.0/16
	Subnet  string // those this node draws from
	Dev     string // its bridge
	Peers   []Peer
}

// Peer is another node of a routed network.
type Peer struct {
	Nodename string
	Subnet   string  // the addresses routed to it
	Local    string  // the address of this node it is reached from
	Remote   string  // its own
	Tunnel   *Tunnel // nil: it is reached without
}

// Tunnel is how packets reach a peer that is on another link.
type Tunnel struct {
	Nodename, Local, Remote string
	Mode                    string // ipip, ip6ip6 or gre
	Dev                     string
}

// Signaler has processes that a signal can be sent to.
type Signaler interface {
	// Signal sends sig, and says to what, as "process 1234"; nothing when there
	// is none.
	Signal(ctx context.Context, sig syscall.Signal) (to string, err error)
}

// Installer lays keys down as files in what the resource holds.
type Installer interface {
	// Install brings the files up to date. It is not called when the resource is down.
	Install(ctx context.Context) error
}
