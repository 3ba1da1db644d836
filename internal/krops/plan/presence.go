package plan

import (
	"slices"
	"strings"
)

// Presence is what is known of a thing. The zero Presence is a thing nobody
// asked about. Only [Absent] makes one that reads as gone.
type Presence struct {
	state state
	note  string
}

type state int

const (
	unasked state = iota
	failed
	absent
	present
)

// Present is a thing that is there.
func Present() Presence { return Presence{state: present} }

// Absent is a thing that is confirmed to be gone; evidence says how.
func Absent(evidence string) Presence { return Presence{absent, evidence} }

// Failed is a thing that was asked about in vain.
func Failed(why string) Presence { return Presence{failed, why} }

// There tells whether the thing is there.
func (p Presence) There() bool { return p.state == present }

// Gone tells whether the thing is confirmed to be absent.
func (p Presence) Gone() bool { return p.state == absent }

// Unknown tells whether neither is certain.
func (p Presence) Unknown() bool { return p.state == unasked || p.state == failed }

// Failed tells whether the question failed, and why.
func (p Presence) Failed() (why string, ok bool) { return p.note, p.state == failed }

// Evidence is how it is known that the thing is gone.
func (p Presence) Evidence() string {
	if p.state == absent {
		return p.note
	}
	return ""
}

// String names the state.
func (p Presence) String() string {
	switch p.state {
	case unasked:
		return "not asked"
	case failed:
		return "unknown: " + p.note
	case absent:
		return "confirmed absent"
	case present:
		return "present"
	}
	return "?"
}

// Failure is how a query went wrong.
type Failure int

// The failures of a query.
const (
	NoFailure    Failure = iota
	NotFound             // the named object does not exist
	NoSuchKind           // the server does not have the type
	Unauthorized         // it does not know who asks
	Forbidden            // it does not let him
	TimedOut             // no answer in time
	Reset                // the connection broke, or was never made
	Undecodable          // an answer that makes no sense
	Unavailable          // any other failure of the server
)

// String says it in a message.
func (f Failure) String() string {
	switch f {
	case NoFailure:
		return "no failure"
	case NotFound:
		return "not found"
	case NoSuchKind:
		return "no such resource type"
	case Unauthorized:
		return "unauthorized"
	case Forbidden:
		return "forbidden"
	case TimedOut:
		return "timed out"
	case Reset:
		return "no connection"
	case Undecodable:
		return "unreadable answer"
	case Unavailable:
		return "server unavailable"
	}
	return "?"
}

// An Answer is what came back from a query.
type Answer struct {
	Failure Failure
	Items   []string
	// Incomplete tells that the server could not list all its types: that it
	// does not have one is then no evidence.
	Incomplete bool
}

// Lookup reads the answer to a question about one object by its name.
func Lookup(a Answer) Presence {
	switch a.Failure {
	case NoFailure:
		if len(a.Items) == 0 {
			return Absent("the query found nothing")
		}
		return Present()
	case NotFound:
		return Absent("the server does not have it")
	case NoSuchKind:
		return typeless(a)
	case Unauthorized, Forbidden, TimedOut, Reset, Undecodable, Unavailable:
		return Failed(a.Failure.String())
	}
	return Failed("unreadable answer")
}

func typeless(a Answer) Presence {
	if a.Incomplete {
		return Failed("the server could not list its resource types")
	}
	return Absent("the server does not have the resource type")
}

// Listing is a list of names that may be unknown. The zero Listing was not asked for.
type Listing struct {
	state state
	note  string
	names []string
}

// List reads the answer to a listing. Not found is no answer to one: it fails.
func List(a Answer) Listing {
	switch a.Failure {
	case NoFailure:
		return Listed(a.Items...)
	case NoSuchKind:
		if why, bad := typeless(a).Failed(); bad {
			return Listing{state: failed, note: why}
		}
		return Listed()
	case NotFound, Unauthorized, Forbidden, TimedOut, Reset, Undecodable, Unavailable:
	}
	return Listing{state: failed, note: a.Failure.String()}
}

// Listed is a list that is known.
func Listed(names ...string) Listing {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	return Listing{state: present, names: slices.Compact(sorted)}
}

// Unlisted is a list that was asked for in vain.
func Unlisted(why string) Listing { return Listing{state: failed, note: why} }

// Names are those of the list, and whether it is known.
func (l Listing) Names() ([]string, bool) { return slices.Clone(l.names), l.state == present }

// Known is present when the list is known, whatever it holds.
func (l Listing) Known() Presence {
	switch l.state {
	case failed:
		return Failed(l.note)
	case present:
		return Present()
	case unasked, absent:
	}
	return Presence{}
}

// Any is what is known of the names that keep holds for.
func (l Listing) Any(keep func(string) bool) Presence {
	if known := l.Known(); !known.There() {
		return known
	}
	if slices.ContainsFunc(l.names, keep) {
		return Present()
	}
	return Absent("a listing that succeeded does not have it")
}

// without returns the list without the names that drop holds for.
func (l Listing) without(drop func(string) bool) Listing {
	if l.state != present {
		return l
	}
	return Listing{state: present, names: slices.DeleteFunc(slices.Clone(l.names), drop)}
}

// String shows the list.
func (l Listing) String() string {
	if l.state != present {
		return l.Known().String()
	}
	return "[" + strings.Join(l.names, " ") + "]"
}
