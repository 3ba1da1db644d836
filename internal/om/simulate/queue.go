package simulate

import (
	"container/heap"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// kind is what happens.
type kind uint8

const (
	deliver  kind = iota // a message reaches node from peer
	beat                 // peer sends node all it has, after a silence
	silence              // node has not heard peer for the timeout
	wake                 // the timer of an instance
	wakeNode             // the timer of the node
	jobEnd               // an action ends
	look                 // an evaluation of a status ends
	notice               // something that happened to an instance is seen
	power                // the node is switched on
	launch               // the daemon is started
	ballot               // the arbitrators answer
	fenced               // the command that fences peer ends
	deafness             // none of our beats came back from peer in time
)

// outside reports whether an event is nothing that a paused node does or sees.
func (k kind) outside() bool { return k == power || k == beat || k == fenced }

// happening is an event. It holds no pointer into the world, so that a world can
// be copied with its events.
type happening struct {
	at   time.Duration
	seq  uint64
	kind kind
	node int
	peer int
	obj  int
	gen  int // which one of its kind, for the events that get out of date
	msg  *message

	ballot *orchestrate.Ballot
}

// queue holds what is due, the earliest first.
type queue struct {
	events     events
	touchedIDs []int
}

type events []happening

func (w *World) push(d time.Duration, e happening) {
	w.seq++
	e.at, e.seq = w.now+max(d, 0), w.seq
	if e.kind == deliver || e.kind == beat {
		w.flying++
	}
	heap.Push(&w.events, e)
}

func (w *World) pop() happening {
	e, _ := heap.Pop(&w.events).(happening)
	w.landed(e)
	return e
}

// landed counts the messages that are on their way.
func (w *World) landed(e happening) {
	if e.kind == deliver || e.kind == beat {
		w.flying--
	}
}

// due is when the next event is.
func (w *World) due() (time.Duration, bool) {
	if len(w.events) == 0 {
		return 0, false
	}
	return w.events[0].at, true
}

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *events) Push(x any) {
	if h, ok := x.(happening); ok {
		*e = append(*e, h)
	}
}

// Pop implements heap.Interface.
func (e *events) Pop() any {
	old := *e
	h := old[len(old)-1]
	old[len(old)-1] = happening{}
	*e = old[:len(old)-1]
	return h
}
