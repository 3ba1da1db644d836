// Package state owns what the daemon knows of the cluster.
//
// There is one owner, [State], and any number of readers of immutable
// [cluster.View] values:
//
//	discover, evaluate, monitor, httpd --Set…--> State --atomic--> View --> everybody
//	                                               └--events--> bus
//
// A change replaces the changed object and shares the rest: an object that did
// not change keeps its pointer from one view to the next, so readers can cache by
// pointer. A view is made when one is asked for and something changed since the
// last one: a burst of changes that nobody looks at in between costs one copy of
// the maps. A reader that got an event sees at least what it announced. What did
// not change announces nothing.
package state

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// State is the owner of the view. Its methods are safe for concurrent use and
// return once the view includes what they did.
type State struct {
	node string
	bus  *bus.Bus

	gen  atomic.Uint64 // of now
	view atomic.Pointer[cluster.View]

	mu  sync.Mutex
	now cluster.View // guarded by mu, its maps are never shared

	told told // guarded by mu
}

// New returns the state as a daemon starting on node knows it: the node alone.
func New(node string, b *bus.Bus) *State {
	s := &State{node: node, bus: b, now: cluster.View{
		Nodes:   map[string]*cluster.Node{node: {}},
		Objects: map[object.Path]*cluster.Object{},
		Peers:   map[string]cluster.Peer{},
		Health:  cluster.Health{IsCompat: true},
	}, told: newTold()}
	s.publish()
	return s
}

// View returns the state as it is now.
func (s *State) View() *cluster.View {
	if v := s.view.Load(); v.Gen == s.gen.Load() {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.view.Load(); v.Gen == s.now.Gen {
		return v
	}
	return s.publish()
}

// publish makes the view of now.
func (s *State) publish() *cluster.View {
	v := s.now
	v.Nodes, v.Objects, v.Peers = maps.Clone(v.Nodes), maps.Clone(v.Objects), maps.Clone(v.Peers)
	s.view.Store(&v)
	return &v
}

// Node is the local node.
func (s *State) Node() string { return s.node }

// change is a change of the state, and the events that will announce it.
type change struct {
	view    *cluster.View // the state itself
	self    string
	now     time.Time
	events  []event.Event
	touched []string // keys of this node that have another value
	gone    []string // those of them that have none
	dirty   bool
	from    string // the peer that told of it; empty: this node
}

// apply runs f on the state, then publishes the events.
func (s *State) apply(f func(*change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &change{view: &s.now, self: s.node, now: time.Now().Round(0)}
	f(c)
	if c.dirty {
		s.now.Gen++
		s.gen.Store(s.now.Gen)
	}
	s.told.touch(c.touched, s.node, s.now.Config.Nodes)
	if len(s.now.Config.Nodes) < 2 { // nobody was told
		for _, key := range c.gone {
			s.told.log.Drop(key)
		}
	}
	for _, e := range c.events {
		s.bus.PublishFrom(c.from, e)
	}
}

// touch records that what this node says under some keys changed: the peers are
// told. What is known of other nodes is for them to tell.
func (c *change) touch(node string, keys ...string) {
	if node == c.self {
		c.touched = append(c.touched, keys...)
	}
}

func (c *change) emit(e event.Event) { c.events = append(c.events, e) }

func (c *change) setObject(p object.Path, o *cluster.Object) {
	if o == nil {
		delete(c.view.Objects, p)
	} else {
		c.view.Objects[p] = o
	}
	c.dirty = true
}

func (c *change) setNode(name string, n *cluster.Node) {
	c.view.Nodes[name] = n
	c.dirty = true
}

// SetClusterConfig replaces the configuration of the cluster. Nodes that joined
// appear in the view, nodes that left disappear.
func (s *State) SetClusterConfig(config cluster.Config) {
	s.apply(func(c *change) {
		if reflect.DeepEqual(c.view.Config, config) {
			return
		}
		added, removed := difference(config.Nodes, c.view.Config.Nodes), difference(c.view.Config.Nodes, config.Nodes)
		c.view.Config, c.dirty = config, true
		for _, name := range added {
			if c.view.Nodes[name] == nil {
				c.setNode(name, &cluster.Node{})
			}
		}
		for _, name := range removed {
			if name != s.node {
				c.forget(name)
				delete(c.view.Nodes, name)
				delete(c.view.Peers, name)
			}
		}
		c.emit(event.ClusterConfigUpdated{Node: s.node, Config: config, NodesAdded: added, NodesRemoved: removed, NetworkChanged: []string{}})
		s.assess(c)
	})
}

func difference(a, b []string) []string {
	d := []string{}
	for _, s := range a {
		if !slices.Contains(b, s) {
			d = append(d, s)
		}
	}
	return d
}
