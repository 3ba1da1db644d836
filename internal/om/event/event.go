// Package event declares what the daemon tells: one struct per kind of event,
// the envelope that carries it, and the filters a reader selects with. The
// package is pure.
//
// The name of a struct is the name of its kind on the wire, and its JSON fields
// are those of the API. Labels are what readers filter on without decoding.
package event

import (
	"maps"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Event is something that happened.
type Event interface {
	// Kind is the name of the event, as readers know it.
	Kind() string
	// Labels are what a filter can select on, such as path and node.
	Labels() map[string]string
}

// Envelope is an event as published: numbered, dated and labelled. It is shared
// by all readers and immutable.
type Envelope struct {
	Kind   string
	At     time.Time
	Labels map[string]string
	Event  Event
	Seq    uint64 // counts the events of a daemon, from 1

	data func() []byte // see Lazy
	doc  func() any
}

// New wraps ev.
func New(ev Event, at time.Time, seq uint64) *Envelope {
	return &Envelope{Kind: ev.Kind(), At: at, Labels: ev.Labels(), Event: ev, Seq: seq}
}

// Lazy makes e remember its encoding through the given once functions (such as
// sync.OnceValue), so that any number of readers share one.
func (e *Envelope) Lazy(data func(func() []byte) func() []byte, doc func(func() any) func() any) *Envelope {
	e.data = data(func() []byte { return encode(e) })
	e.doc = doc(func() any { return decode(e.Data()) })
	return e
}

// WithLabel returns a copy of e that carries one label more.
func (e *Envelope) WithLabel(name, value string) *Envelope {
	c := &Envelope{Kind: e.Kind, At: e.At, Labels: maps.Clone(e.Labels), Event: e.Event, Seq: e.Seq}
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	c.Labels[name] = value
	return c
}

// objectLabels are those of an event about an object, or about its instance on
// a node.
func objectLabels(p object.Path, node string) map[string]string {
	l := map[string]string{"path": p.String(), "namespace": p.Namespace}
	if node != "" {
		l["node"] = node
	}
	return l
}

func nodeLabels(node string) map[string]string { return map[string]string{"node": node} }
