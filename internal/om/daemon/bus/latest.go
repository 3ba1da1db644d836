package bus

import (
	"cmp"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/om/event"
)

// Latest is a reader that keeps the newest event of each key.
type Latest struct {
	bus  *Bus
	name string
	key  func(*event.Envelope) (string, bool)
	c    chan struct{}

	pending map[string]*event.Envelope // guarded by the lock of the bus
}

// Latest adds a reader of the newest event of each key. Events without a key are
// left out. The key function is called while publishing: it must be quick.
func (b *Bus) Latest(name string, key func(*event.Envelope) (string, bool)) *Latest {
	l := &Latest{bus: b, name: name, key: key, c: make(chan struct{}, 1), pending: map[string]*event.Envelope{}}
	b.add(l)
	return l
}

// C says that there is something to [Latest.Take].
func (l *Latest) C() <-chan struct{} { return l.c }

// Take returns what came since the last call, the newest of each key, in the
// order of publication.
func (l *Latest) Take() []*event.Envelope {
	l.bus.mu.Lock()
	defer l.bus.mu.Unlock()
	all := make([]*event.Envelope, 0, len(l.pending))
	for _, e := range l.pending {
		all = append(all, e)
	}
	clear(l.pending)
	slices.SortFunc(all, func(a, b *event.Envelope) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

// Close ends the subscription.
func (l *Latest) Close() { l.bus.remove(l) }

func (l *Latest) offer(e *event.Envelope) {
	key, ok := l.key(e)
	if !ok {
		return
	}
	l.pending[key] = e
	select {
	case l.c <- struct{}{}:
	default:
	}
}
