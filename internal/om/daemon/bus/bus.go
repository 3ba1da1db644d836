// Package bus carries events from the parts of the daemon that make them to
// those that read them.
//
// Publishing never waits for a reader. A reader chooses what being slow costs it:
//
//   - a [Subscription] has a bounded queue. When it is full its owner loses
//     events, is told so by an [event.Gap] in their place, and reads the whole
//     state again;
//   - a [Latest] keeps, per key, only the newest event. It loses nothing that is
//     still true, and is bounded by the number of keys.
//
// Other readers see every event in either case.
package bus

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/event"
)

// queueSize bounds the events waiting for one reader. Queues hold pointers to
// shared envelopes, so a full one costs a few kilobytes and what it points to.
const queueSize = 512

// Bus delivers events, in the order they are published.
type Bus struct {
	node string

	mu      sync.Mutex
	seq     uint64
	readers map[reader]struct{}
}

// reader receives each event, under the lock of the bus: it must not wait.
type reader interface{ offer(*event.Envelope) }

// New returns the bus of the daemon of node.
func New(node string) *Bus {
	return &Bus{node: node, readers: map[reader]struct{}{}}
}

// Node is the node whose daemon publishes here.
func (b *Bus) Node() string { return b.node }

// Publish delivers ev to every reader that wants it, without waiting for any.
// Events of the node itself that name no node are labelled with it.
func (b *Bus) Publish(ev event.Event) { b.PublishFrom("", ev) }

// PublishFrom is [Bus.Publish] of what a peer told, which a label says.
func (b *Bus) PublishFrom(peer string, ev event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	e := event.New(ev, time.Now(), b.seq)
	if peer != "" {
		e = e.WithLabel("from", "peer")
	}
	if _, ok := e.Labels["node"]; !ok {
		e.Labels = maps.Clone(e.Labels)
		if e.Labels == nil {
			e.Labels = map[string]string{}
		}
		e.Labels["node"] = b.node
	}
	e.Memoize(sync.OnceFunc)
	for r := range b.readers {
		r.offer(e)
	}
}

// Subscribe adds a reader of the events match selects, all of them when it is
// nil. The match function is called while publishing: it must be quick. The name
// is for diagnosis.
func (b *Bus) Subscribe(name string, match func(*event.Envelope) bool) *Subscription {
	s := &Subscription{bus: b, name: name, match: match, c: make(chan *event.Envelope, queueSize+1)}
	b.add(s)
	return s
}

// Readers lists the names of the readers, sorted.
func (b *Bus) Readers() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for r := range b.readers {
		switch r := r.(type) {
		case *Subscription:
			names = append(names, r.name)
		case *Latest:
			names = append(names, r.name)
		}
	}
	slices.Sort(names)
	return names
}

func (b *Bus) add(r reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers[r] = struct{}{}
}

func (b *Bus) remove(r reader) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.readers[r]
	delete(b.readers, r)
	return ok
}
