package tui

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Names of the commands of which there is one.
const (
	linkCommand = "link"
	textCommand = "text"
)

// linkState is how the connection is.
type linkState int

const (
	idle linkState = iota // no cluster is chosen
	connecting
	live
	lost
)

// linkMsg says how the connection is now.
type linkMsg struct {
	gen   int
	state linkState
	err   error
	at    time.Time
	again time.Duration // until the next try
}

// newsMsg is the state of the cluster, and what happened since the last one.
type newsMsg struct {
	gen    int
	status api.ClusterStatus
	events []happening
	at     time.Time
}

// The pauses between two tries to connect.
const (
	firstPause = time.Second
	longPause  = 30 * time.Second
)

// link keeps a connection to a cluster and sends what comes of it. It goes on until
// another one takes its place.
func link(w World, name string, gen int) screen.Cmd {
	return screen.Cmd{Name: linkCommand, Run: func(ctx context.Context, send func(screen.Msg)) {
		for pause := firstPause; ; pause = min(2*pause, longPause) {
			send(linkMsg{gen: gen, state: connecting})
			c, err := w.Open(name)
			if err == nil {
				var once bool
				once, err = follow(ctx, c, gen, send)
				if once {
					pause = firstPause
				}
			}
			if ctx.Err() != nil {
				return
			}
			send(linkMsg{gen: gen, state: lost, err: err, at: time.Now(), again: pause})
			if needed := LoginNeeded(nil); errors.As(err, &needed) {
				return // nothing comes of trying again
			}
			wait := time.NewTimer(pause)
			select {
			case <-ctx.Done():
				wait.Stop()
				return
			case <-wait.C:
			}
		}
	}}
}

// gather is how long changes are gathered before they are told.
const gather = 50 * time.Millisecond

// maxHappenings bounds what is told at once.
const maxHappenings = 500

// follow tells the state of the cluster until the stream of its events breaks. It
// tells whether there was one.
func follow(ctx context.Context, c Cluster, gen int, send func(screen.Msg)) (once bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type item struct {
		event api.Event
		err   error
	}
	// The stream is opened before the state is asked for: nothing is missed between.
	stream, opened := make(chan item, 256), make(chan struct{})
	go func() {
		defer close(stream)
		q := api.EventQuery{NodeName: api.NodeName{Node: api.Localhost}, Filter: kinds()}
		for e, err := range c.EventsFrom(ctx, q, sync.OnceFunc(func() { close(opened) })) {
			select {
			case stream <- item{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	var p picture
	var events []happening
	again, due := true, true
	settle := time.NewTimer(time.Hour)
	defer settle.Stop()
	for {
		select {
		case <-opened:
			opened = nil
			settle.Reset(0)
		case i, open := <-stream:
			switch {
			case !open:
				return once, errors.New("the daemon ended the stream of events")
			case i.err != nil:
				return once, i.err
			case foreign(c, i.event):
				continue
			}
			again = p.status.Cluster.Object == nil || p.apply(i.event) || again
			if i.event.Kind != api.Resync && len(events) < maxHappenings {
				events = append(events, tell(i.event))
			}
			if !due {
				due = true
				settle.Reset(gather)
			}
		case <-settle.C:
			due = false
			if again {
				if p.status, err = c.ClusterStatus(ctx, "**"); err != nil {
					return once, err
				}
				p.status = whole(p.status)
			}
			if !once {
				send(linkMsg{gen: gen, state: live, at: time.Now()})
			}
			once, again = true, false
			send(newsMsg{gen: gen, status: p.snapshot(), events: events, at: time.Now()})
			events = nil
		case <-ctx.Done():
			return once, ctx.Err()
		}
	}
}

// whole gives a state its maps.
func whole(s api.ClusterStatus) api.ClusterStatus {
	if s.Cluster.Node == nil {
		s.Cluster.Node = map[string]node{}
	}
	if s.Cluster.Object == nil {
		s.Cluster.Object = map[string]service{}
	}
	return s
}

// foreign tells that an event is about an object outside the namespace in force.
func foreign(c Cluster, e api.Event) bool {
	path := tell(e).path
	if path == "" {
		return false
	}
	p, err := object.Parse(path)
	return err == nil && !c.Wanted(p)
}
