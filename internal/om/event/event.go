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

	memo *memo // see Memoize
}

// New wraps ev.
func New(ev Event, at time.Time, seq uint64) *Envelope {
	return &Envelope{Kind: ev.Kind(), At: at, Labels: ev.Labels(), Event: ev, Seq: seq}
}

// memo is the encoding of an event, made when first asked for.
type memo struct {
	encode, decode func() // fill data and doc, once
	data           []byte
	doc            any
}

// Memoize makes e remember its encoding, so that any number of readers share
// one. The once function is sync.OnceFunc; it must be called before e is shared.
func (e *Envelope) Memoize(once func(func()) func()) {
	m := &memo{}
	m.encode = once(func() { m.data = encode(e) })
	m.decode = once(func() { m.doc = decode(e.Data()) })
	e.memo = m
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
