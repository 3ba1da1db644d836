// Package witness holds what the services and the client of a trial have seen, and
// what follows from it. Services take a lock that all nodes share: two that live at
// once are known from the kernel, whatever the agents believe.
package witness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Dir is where services leave their stamps, as nodes see it.
const Dir = "/mnt/data"

// What a service says of itself.
const (
	Start   = "start"   // it lives
	Stop    = "stop"    // it was told to end
	Overlap = "overlap" // another one lives as well
	Alone   = "alone"   // no longer
)

// Stamp is one thing that a service said. At is on the clock that all nodes share.
type Stamp struct {
	At   time.Duration `json:"at"`
	Node string        `json:"node"`
	Pid  int           `json:"pid"`
	What string        `json:"what"`
}

// Answer is who answered a client between two changes: "" is nobody, a comma
// separates several.
type Answer struct {
	At    time.Duration `json:"at"`    // when it was asked
	Until time.Duration `json:"until"` // when it was known
	Who   string        `json:"who"`
}

// Window is a time in which something holds, on the shared clock. A zero To is open.
type Window struct {
	From, To time.Duration
	Why      string
}

func (w Window) holds(at time.Duration) bool { return at >= w.From && (w.To == 0 || at < w.To) }

// Fact is what was seen and may not be.
type Fact struct {
	At   time.Duration
	What string
}

func (f Fact) String() string { return fmt.Sprintf("%.3f s: %s", f.At.Seconds(), f.What) }

// Promise is what the documentation says of a failover service in a trial.
type Promise struct {
	Free    []Window // when two instances at once are not excluded
	Stopped []Window // when an operator wants it stopped: nothing starts
	Frozen  []Window // when nothing starts by itself
}

// Check says where a service broke its promise.
func Check(stamps []Stamp, p Promise) []Fact {
	var broken []Fact
	for _, s := range stamps {
		switch s.What {
		case Overlap:
			if !slices.ContainsFunc(p.Free, func(w Window) bool { return w.holds(s.At) }) {
				broken = append(broken, Fact{s.At, fmt.Sprintf("an instance on %s (process %d) lives while another one does: %s", s.Node, s.Pid, before(stamps, s))})
			}
		case Start:
			for _, never := range [][]Window{p.Stopped, p.Frozen} {
				for _, w := range never {
					if w.holds(s.At) {
						broken = append(broken, Fact{s.At, fmt.Sprintf("an instance starts on %s although %s since %.3f s", s.Node, w.Why, w.From.Seconds())})
					}
				}
			}
		}
	}
	return broken
}

// before tells the last things that others said before s.
func before(stamps []Stamp, s Stamp) string {
	var said []string
	for _, o := range stamps {
		if o.At <= s.At && (o.Pid != s.Pid || o.Node != s.Node) {
			said = append(said, fmt.Sprintf("%.3f %s %s", o.At.Seconds(), o.Node, o.What))
		}
	}
	return strings.Join(said[max(0, len(said)-3):], ", ")
}

// Outage is a time in which nobody answered a client.
type Outage struct {
	From, To   time.Duration // the last answer before and the first after; a zero To: none came
	Before, By string
}

// For is how long it lasted.
func (o Outage) For() time.Duration { return o.To - o.From }

// Outages are the times in which nobody answered, and the changes of who answers
// without one.
func Outages(answers []Answer) []Outage {
	var found []Outage
	open := false
	for i, a := range answers {
		switch {
		case a.Who == "" && i > 0 && !open:
			found = append(found, Outage{From: a.At, Before: answers[i-1].Who})
			open = true
		case a.Who != "" && open:
			found[len(found)-1].To, found[len(found)-1].By = a.Until, a.Who
			open = false
		case a.Who != "" && i > 0 && answers[i-1].Who != "":
			found = append(found, Outage{From: a.At, To: a.Until, Before: answers[i-1].Who, By: a.Who})
		}
	}
	return found
}

// Read reads lines of JSON. One that is cut, as by a loss of power, ends it.
func Read[T any](b []byte) []T {
	var all []T
	lines := bufio.NewReader(bytes.NewReader(b))
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return all
		}
		var v T
		if json.Unmarshal(line, &v) == nil {
			all = append(all, v)
		}
	}
}
