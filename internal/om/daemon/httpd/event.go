package httpd

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

const (
	heartbeatPeriod = 15 * time.Second // a comment, so that a dead connection is noticed
	writeTimeout    = 30 * time.Second // of a reader that takes nothing at all
)

// getDaemonEvents streams events. The subscription begins before the present
// state is replayed, so nothing is missed in between.
func (s *Server) getDaemonEvents(ctx context.Context, in *api.EventQuery) (body, error) {
	reader := principal(ctx)
	match, err := s.matcher(in, reader.Caller())
	if err != nil {
		return nil, err
	}
	ctx, cancel, err := within(ctx, "duration", in.Duration)
	if err != nil {
		return nil, err
	}
	return func(c huma.Context, status int) {
		defer cancel()
		if c.Method() == http.MethodHead {
			c.SetHeader("Content-Type", sse.ContentType)
			c.SetStatus(status)
			return // a stream nobody reads has no end
		}
		allowed := readable(reader.Caller())
		subscription := s.o.Bus.Subscribe("events of "+reader.Name, allowed)
		defer subscription.Close()

		c.SetHeader("Content-Type", sse.ContentType)
		c.SetHeader("Cache-Control", "no-store")
		c.SetStatus(status)
		_, w := humago.Unwrap(c)
		st := &stream{sender: newSender(w), match: match, limit: in.Limit, isRoot: reader.Grants.Has(rbac.Root)}
		if in.Replay || in.Cache {
			s.replay(st, allowed)
		}
		if st.flush() == nil {
			access := s.follow(ctx)
			defer access.close()
			st.follow(ctx, subscription, access)
		}
	}, nil
}

// matcher returns what selects the events of a stream.
func (s *Server) matcher(in *api.EventQuery, reader rbac.Caller) (func(*event.Envelope) bool, error) {
	filters := make([]event.Filter, len(in.Filter))
	for i, text := range in.Filter {
		var err error
		if filters[i], err = event.ParseFilter(text); err != nil {
			return nil, badRequest(fmt.Errorf("query.filter: %w", err))
		}
	}
	var selector *object.Selector
	if in.Selector != "" {
		var err error
		if selector, err = object.ParseSelector(in.Selector); err != nil {
			return nil, badRequest(fmt.Errorf("query.selector: %w", err))
		}
	}
	return func(e *event.Envelope) bool {
		if e.Kind == api.Resync {
			return true
		}
		if selector != nil && !s.selects(selector, e.Labels["path"], reader) {
			return false
		}
		for _, f := range filters {
			if f.Match(e) {
				return true
			}
		}
		return len(filters) == 0
	}, nil
}

func (s *Server) selects(selector *object.Selector, name string, reader rbac.Caller) bool {
	p, err := object.Parse(name)
	if err != nil {
		return false
	}
	paths, err := selector.Select([]object.Path{p}, s.configs(reader))
	return err == nil && len(paths) == 1
}

// stream writes the events of one reader.
type stream struct {
	*sender

	match func(*event.Envelope) bool
	limit int64 // 0: none

	counted int64 // of those sent, the ones the limit is about

	isRoot bool // sees the keys of the nodes
}

// send writes an event, when it is selected, and reports whether more may follow.
func (st *stream) send(e *event.Envelope) bool {
	if !st.isRoot {
		e = withoutKeys(e)
	}
	if !st.match(e) {
		return true
	}
	err := st.event(e.Kind, e.Data())
	if e.Kind != api.Resync { // it is none of those asked for
		st.counted++
	}
	return err == nil && !st.full()
}

func (st *stream) full() bool { return st.limit > 0 && st.counted >= st.limit }

// follow writes events as they come, those already waiting at once.
func (st *stream) follow(ctx context.Context, events *bus.Subscription, access *following) {
	beat := time.NewTicker(heartbeatPeriod)
	defer beat.Stop()
	for !st.full() {
		select {
		case <-ctx.Done():
			return
		case <-access.expired:
			st.end(access.why)
			return
		case <-access.changes():
			if reason := access.lost(); reason != "" {
				st.end(reason)
				return
			}
		case <-beat.C:
			if st.beat() != nil {
				return
			}
		case e, ok := <-events.C():
			more := ok && st.send(counted(e, events))
			for more && len(events.C()) > 0 {
				more = st.send(counted(<-events.C(), events))
			}
			if st.flush() != nil || !more {
				return
			}
		}
	}
}

// counted returns e or, when it tells that events were lost, how many were by
// now: more are between the moment the queue was full and its reading.
func counted(e *event.Envelope, events *bus.Subscription) *event.Envelope {
	if _, ok := e.Event.(event.Gap); !ok {
		return e
	}
	return event.New(event.Gap{Lost: events.Lost()}, e.At, e.Seq)
}

// replay writes the present state as events.
func (s *Server) replay(st *stream, allowed func(*event.Envelope) bool) {
	for _, e := range present(s.o.State.View(), s.o.Node) {
		wrapped := event.New(e, time.Now(), 0).WithLabel("from", "cache")
		if allowed(wrapped) && !st.send(wrapped) {
			return
		}
	}
}

// present is the state of the cluster as the events that would tell it.
func present(v *cluster.View, self string) []event.Event {
	events := []event.Event{event.ClusterConfigUpdated{Node: self, Config: v.Config}}
	for name, n := range v.Nodes {
		events = append(events,
			event.NodeConfigUpdated{Node: name, Config: n.Config}, event.NodeStatusUpdated{Node: name, Status: n.Status},
			event.NodeMonitorUpdated{Node: name, Monitor: n.Monitor}, event.NodeStatsUpdated{Node: name, Stats: n.Stats})
	}
	for p, o := range v.Objects {
		for name, i := range o.Instances {
			if i.Config != nil {
				events = append(events, event.InstanceConfigUpdated{Path: p, Node: name, Config: *i.Config})
			}
			if i.Status != nil {
				events = append(events, event.InstanceStatusUpdated{Path: p, Node: name, Status: *i.Status})
			}
			if i.Monitor != nil {
				events = append(events, event.InstanceMonitorUpdated{Path: p, Node: name, Monitor: *i.Monitor})
			}
		}
		events = append(events, event.ObjectStatusUpdated{Path: p, Node: self, Status: *o})
	}
	return events
}
