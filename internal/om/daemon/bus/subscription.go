package bus

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/event"
)

// Subscription is a reader with a queue of its own.
//
// The last place of the queue is kept for the gap: once events are dropped, the
// gap is the last thing in the queue, and nothing is queued behind it until the
// reader has taken it. So what was lost, was lost before the reader saw the gap,
// and the state it reads then includes it.
type Subscription struct {
	bus   *Bus
	name  string
	match func(*event.Envelope) bool
	c     chan *event.Envelope

	// Guarded by the lock of the bus.
	lost  uint64
	inGap bool
}

// C delivers the events. It is closed by [Subscription.Close].
func (s *Subscription) C() <-chan *event.Envelope { return s.c }

// Lost counts the events this reader was too slow for.
func (s *Subscription) Lost() uint64 {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	return s.lost
}

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	if s.bus.remove(s) {
		close(s.c)
	}
}

func (s *Subscription) offer(e *event.Envelope) {
	if s.match != nil && !s.match(e) {
		return
	}
	if s.inGap && len(s.c) == 0 {
		s.inGap = false
	}
	switch {
	case s.inGap:
		s.lost++
	case len(s.c) < cap(s.c)-1:
		s.c <- e
	default:
		s.lost++
		s.inGap = true
		s.c <- event.New(event.Gap{Lost: s.lost}, time.Now(), e.Seq)
	}
}
