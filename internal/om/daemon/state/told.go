package state

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// The last word of the keys of what a node tells of itself.
const (
	keyConfig    = "config"
	keyHeartbeat = "heartbeat"
	keyMonitor   = "monitor"
	keyStatus    = "status"
	keyStats     = "stats"
	keyListener  = "listener"

	instancePrefix = "instance/"
	nodePrefix     = "node/"
)

func keyOf(p object.Path, part string) string { return instancePrefix + p.FQN() + "/" + part }

func keyOfNode(part string) string { return nodePrefix + part }

// maxEvents bounds the events that wait for peers to hear of them.
const maxEvents = 256

// told is what this node tells the peers, and what they tell besides nodes and
// instances. The lock of the state guards it.
type told struct {
	log    heartbeat.Log
	gone   map[string]uint64          // keys that hold nothing any more, with their generation
	own    map[string]json.RawMessage // announcements and events
	events []string                   // keys of own, the oldest first
	number uint64                     // of the last event

	others map[string]map[string]json.RawMessage // announcements of the peers, by node

	changed   chan struct{}
	followers map[*Follower]struct{}
}

func newTold() told {
	return told{
		gone: map[string]uint64{}, own: map[string]json.RawMessage{}, others: map[string]map[string]json.RawMessage{},
		changed: make(chan struct{}, 1), followers: map[*Follower]struct{}{},
	}
}

func (t *told) touch(keys []string, self string, nodes []string) {
	if len(keys) == 0 {
		return
	}
	for _, key := range keys {
		t.log.Touch(key)
		delete(t.gone, key)
	}
	t.notify(self, keys...)
	if len(nodes) > 1 {
		select {
		case t.changed <- struct{}{}:
		default: // it is about to look
		}
	}
}

func (t *told) notify(node string, keys ...string) {
	for f := range t.followers {
		for _, key := range keys {
			f.offer(node, key)
		}
	}
}

// Changed receives after this node said something new of itself, in a cluster of
// several nodes.
func (s *State) Changed() <-chan struct{} { return s.told.changed }

// Delta returns what this node says of itself that changed after a generation, in
// order, up to about limit bytes but at least one entry; the generation that is
// reached with it, and that of the last change. Values that are too long for a
// message are left out, and their keys returned.
func (s *State) Delta(since uint64, limit int) (entries []heartbeat.Entry, to, head uint64, long []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	head = s.told.log.Head()
	size := 0
	for key, gen := range s.told.log.After(since) {
		value := s.valueOf(key)
		if len(entries) > 0 && size+len(value)+len(key) > limit {
			return entries, entries[len(entries)-1].Gen, head, long
		}
		if len(value) > heartbeat.MaxValue {
			long = append(long, key)
			entries = append(entries, heartbeat.Entry{Key: key, Gen: gen})
			continue
		}
		if value == nil {
			s.told.gone[key] = gen
		}
		size += len(value) + len(key)
		entries = append(entries, heartbeat.Entry{Key: key, Gen: gen, Value: value})
	}
	return entries, max(since, head), head, long
}

// Head is the generation of the last change of what this node says of itself.
func (s *State) Head() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told.log.Head()
}

// MonitorGen is the generation of the last change of what the monitor of the local
// instance of an object does.
func (s *State) MonitorGen(p object.Path) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told.log.Of(keyOf(p, keyMonitor))
}

// Known says that every node which listens knows this one up to a generation: what
// was gone by then needs not be told any more, nor what happened.
func (s *State) Known(gen uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, at := range s.told.gone {
		if at <= gen {
			s.told.log.Drop(key)
			delete(s.told.gone, key)
		}
	}
}

// valueOf is what this node says under a key now; nil is nothing.
func (s *State) valueOf(key string) json.RawMessage {
	if v, ok := s.told.own[key]; ok {
		return v
	}
	var v any
	n := s.now.Nodes[s.node]
	if rest, ok := strings.CutPrefix(key, instancePrefix); ok {
		v = instancePart(s.now.Objects, s.node, rest)
	} else if n != nil {
		switch strings.TrimPrefix(key, nodePrefix) {
		case keyConfig:
			v = n.Config
		case keyHeartbeat:
			v = n.Heartbeat
		case keyMonitor:
			v = n.Monitor
		case keyStatus:
			v = n.Status
		case keyStats:
			v = n.Stats
		case keyListener:
			v = n.Listener
		}
	}
	if v == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil { // a value a driver gave, as an infinite float: it is not known, rather than that of before
		return nil
	}
	return text
}

func instancePart(objects map[object.Path]*cluster.Object, node, rest string) any {
	p, part, ok := splitKey(rest)
	if !ok || objects[p] == nil {
		return nil
	}
	i := objects[p].Instances[node]
	switch {
	case part == keyConfig && i.Config != nil:
		return i.Config
	case part == keyMonitor && i.Monitor != nil:
		return i.Monitor
	case part == keyStatus && i.Status != nil:
		return i.Status
	}
	return nil
}

// splitKey reads the rest of the key of an instance.
func splitKey(rest string) (p object.Path, part string, ok bool) {
	at := strings.LastIndexByte(rest, '/')
	if at < 0 {
		return p, "", false
	}
	p, err := object.Parse(rest[:at])
	return p, rest[at+1:], err == nil
}

// Apply takes what a node says of itself. Entries that cannot be read are passed
// over, and returned.
func (s *State) Apply(node string, entries []heartbeat.Entry) (unread []string) {
	if node == s.node || len(entries) == 0 {
		return nil
	}
	var keys []string
	s.apply(func(c *change) {
		if c.view.Nodes[node] == nil {
			return // it left the cluster meanwhile
		}
		c.from = node
		for _, e := range entries {
			announced, err := s.applyEntry(c, node, e)
			if err != nil {
				unread = append(unread, e.Key)
			}
			if announced {
				keys = append(keys, e.Key)
			}
		}
		s.told.notify(node, keys...)
	})
	return unread
}

func (s *State) applyEntry(c *change, node string, e heartbeat.Entry) (announced bool, err error) {
	if rest, ok := strings.CutPrefix(e.Key, instancePrefix); ok {
		p, part, ok := splitKey(rest)
		if ok && (part == keyConfig || part == keyStatus || part == keyMonitor) {
			return false, c.takeInstance(p, node, part, e.Value)
		}
	}
	if strings.HasPrefix(e.Key, heartbeat.EventPrefix) {
		ev, err := event.Unforward(e.Value)
		if err == nil {
			c.emit(ev)
		}
		return false, err
	}
	switch e.Key {
	case keyOfNode(keyConfig):
		return false, take(e.Value, func(v cluster.NodeConfig) { c.setNodeConfig(node, v) })
	case keyOfNode(keyHeartbeat):
		return false, take(e.Value, func(v cluster.Heartbeat) { c.setNodeHeartbeat(node, v) })
	case keyOfNode(keyMonitor):
		return false, take(e.Value, func(v cluster.NodeMonitor) { c.setNodeMonitor(node, v) })
	case keyOfNode(keyStatus):
		return false, take(e.Value, func(v cluster.NodeStatus) { s.setNodeStatus(c, node, v) })
	case keyOfNode(keyStats):
		return false, take(e.Value, func(v cluster.NodeStats) { c.setNodeStats(node, v) })
	case keyOfNode(keyListener):
		return false, take(e.Value, func(v cluster.Listener) { c.setNodeListener(node, v) })
	}
	if s.told.others[node] == nil {
		s.told.others[node] = map[string]json.RawMessage{}
	}
	if len(e.Value) == 0 {
		delete(s.told.others[node], e.Key)
	} else {
		s.told.others[node][e.Key] = slices.Clone(e.Value)
	}
	return true, nil
}

// take reads a value; none is the zero one.
func take[T any](text json.RawMessage, set func(T)) error {
	var v T
	if len(text) > 0 {
		if err := json.Unmarshal(text, &v); err != nil {
			return err
		}
	}
	set(v)
	return nil
}

func (c *change) takeInstance(p object.Path, node, part string, text json.RawMessage) error {
	switch {
	case len(text) == 0 && part == keyConfig:
		c.deleteInstance(p, node)
		return nil
	case len(text) == 0:
		c.withdraw(p, node, part)
		return nil
	case part == keyConfig:
		return take(text, func(v cluster.InstanceConfig) { c.setInstanceConfig(p, node, v) })
	case part == keyMonitor:
		return take(text, func(v cluster.InstanceMonitor) { c.setInstanceMonitor(p, node, v) })
	default:
		return take(text, func(v cluster.InstanceStatus) {
			c.setInstanceStatus(p, node, v, func(*cluster.InstanceStatus) bool { return true })
		})
	}
}

// Forget forgets what a peer said of itself and of its instances: it is not heard
// any more, so none of it holds. It stays a node of the cluster; where it listens and
// how it is configured stay known.
func (s *State) Forget(node string) {
	if node == s.node {
		return
	}
	s.apply(func(c *change) {
		n := c.view.Nodes[node]
		if n == nil {
			return
		}
		lost := c.forget(node)
		if peer := c.view.Peers[node]; len(lost) > 0 {
			peer.Lost = lost
			c.view.Peers[node], c.dirty = peer, true
		}
		c.setNodeMonitor(node, cluster.NodeMonitor{})
		c.setNodeStats(node, cluster.NodeStats{})
		c.setNodeHeartbeat(node, cluster.Heartbeat{})
		s.setNodeStatus(c, node, cluster.NodeStatus{})
		c.emit(event.ForgetPeer{Node: node})
		keys := slices.Sorted(maps.Keys(s.told.others[node]))
		delete(s.told.others, node)
		s.told.notify(node, keys...)
	})
}

// forget removes the instances of a node, and returns those that may still run there.
func (c *change) forget(node string) (lost map[object.Path]bool) {
	lost = map[object.Path]bool{}
	paths := slices.SortedFunc(maps.Keys(c.view.Objects), object.Compare)
	for _, p := range paths {
		i, has := c.view.Objects[p].Instances[node]
		if !has {
			continue
		}
		if p.Kind.Runs() && i.MayRun() {
			lost[p] = true
		}
		c.deleteInstance(p, node)
	}
	return lost
}

// SetPeer says what the heartbeats know of another node.
func (s *State) SetPeer(node string, p cluster.Peer) {
	if node == s.node {
		return
	}
	s.apply(func(c *change) {
		was, known := c.view.Peers[node]
		p.Lost = was.Lost
		if p.Beating && p.Synced { // a late beat proves nothing about what it runs
			p.Lost = nil
		}
		if c.view.Nodes[node] == nil || known && was.Same(p) {
			return
		}
		c.view.Peers[node], c.dirty = p, true
		switch {
		case p.Beating && !was.Beating:
			c.emit(event.NodeAlive{Node: node})
		case !p.Beating && was.Beating:
			c.emit(event.NodeStale{Node: node})
		}
	})
}

// Announce tells the peers a value under a key of its own, such as
// "instance/<path>/version". Nothing is announced of nil any more.
func (s *State) Announce(key string, v any) error {
	var text json.RawMessage
	if v != nil {
		var err error
		if text, err = json.Marshal(v); err != nil {
			return err
		}
	}
	s.apply(func(c *change) {
		was, known := s.told.own[key]
		switch {
		case text == nil && !known || known && string(was) == string(text):
			return
		case text == nil:
			delete(s.told.own, key)
		default:
			s.told.own[key] = text
		}
		c.touched = append(c.touched, key)
	})
	return nil
}

// Announced returns what the nodes announce under a key, this one included.
func (s *State) Announced(key string) map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]json.RawMessage{}
	if v, ok := s.told.own[key]; ok {
		all[s.node] = v
	}
	for node, values := range s.told.others {
		if v, ok := values[key]; ok {
			all[node] = v
		}
	}
	return all
}

// Announcement is a key under which a node announces something.
type Announcement struct{ Node, Key string }

// Announcements lists the keys that match selects, with the nodes that announce
// something under them, this one included.
func (s *State) Announcements(match func(key string) bool) []Announcement {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Announcement
	add := func(node string, values map[string]json.RawMessage) {
		for key := range values {
			if match(key) && !strings.HasPrefix(key, heartbeat.EventPrefix) {
				all = append(all, Announcement{node, key})
			}
		}
	}
	add(s.node, s.told.own)
	for node, values := range s.told.others {
		add(node, values)
	}
	slices.SortFunc(all, func(a, b Announcement) int {
		return 2*strings.Compare(a.Key, b.Key) + strings.Compare(a.Node, b.Node)
	})
	return all
}

// Forward tells the peers of an event of this node, once each. A peer that does not
// listen now never hears of it.
func (s *State) Forward(e event.Event) {
	text, err := event.Forward(e)
	if err != nil {
		return // it is not one that peers are told of
	}
	s.apply(func(c *change) {
		if len(c.view.Config.Nodes) < 2 {
			return
		}
		s.told.number++
		key := heartbeat.EventPrefix + strconv.FormatUint(s.told.number, 10)
		s.told.own[key] = text
		s.told.events = append(s.told.events, key)
		if len(s.told.events) > maxEvents {
			s.told.log.Drop(s.told.events[0])
			delete(s.told.own, s.told.events[0])
			s.told.events = s.told.events[1:]
		}
		c.touched = append(c.touched, key)
	})
}

// Follower collects what is announced, and by whom, until it is taken.
type Follower struct {
	state *State
	match func(key string) bool
	c     chan struct{}

	mu  sync.Mutex
	all map[Announcement]struct{}
}

// Follow collects the announcements whose key match selects, from now on. The match
// function must be quick.
func (s *State) Follow(match func(key string) bool) *Follower {
	f := &Follower{state: s, match: match, c: make(chan struct{}, 1), all: map[Announcement]struct{}{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told.followers[f] = struct{}{}
	return f
}

// C receives when there is something to take.
func (f *Follower) C() <-chan struct{} { return f.c }

// Take returns what was announced, or taken back, since the last call, in no order.
func (f *Follower) Take() []Announcement {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Collect(maps.Keys(f.all))
	clear(f.all)
	return all
}

// Close ends the following.
func (f *Follower) Close() {
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	delete(f.state.told.followers, f)
}

func (f *Follower) offer(node, key string) {
	if !f.match(key) {
		return
	}
	f.mu.Lock()
	f.all[Announcement{node, key}] = struct{}{}
	f.mu.Unlock()
	select {
	case f.c <- struct{}{}:
	default: // it is about to look
	}
}
