package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

// Events streams the events q selects, as they come, until ctx ends, the stream
// ends or the loop is left. An error is yielded once, last. An event of kind
// [api.Resync] says that this reader lost some: it was too slow, or its token ended
// and the stream goes on with the next one.
func Events(ctx context.Context, c *Client, q api.EventQuery) iter.Seq2[api.Event, error] {
	return EventsFrom(ctx, c, q, nil)
}

// EventsFrom is [Events] that calls opened once the stream is there: what happens
// from then on is in it, so the state asked for afterwards misses nothing.
func EventsFrom(ctx context.Context, c *Client, q api.EventQuery, opened func()) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		next, began := uint64(0), time.Now() // the number of the event that comes
		for {
			first, expired := next, false
			for e, err := range c.stream(ctx, "events", api.GetDaemonEvents.Describe(), q, opened) {
				var id uint64
				if err == nil {
					if id, err = strconv.ParseUint(e.ID, 10, 64); err != nil {
						err = fmt.Errorf("events of %s: event id %q is no number", c.target, e.ID)
					}
				}
				if expired = c.goesOn(err); expired {
					break
				}
				if err != nil {
					yield(api.Event{}, err)
					return
				}
				next = first + id + 1
				if e.Name != api.Resync && q.Limit > 0 {
					q.Limit-- // of those left; at zero the daemon ends the stream
				}
				if !yield(api.Event{Kind: e.Name, ID: first + id, At: time.Now(), Data: e.Data}, nil) {
					return
				}
			}
			if !expired || !shorten(&q, &began) || !yield(api.Event{Kind: api.Resync, ID: next, At: time.Now(), Data: []byte(`{"labels":{},"lost":0}`)}, nil) {
				return
			}
			next, opened = next+1, nil
		}
	}
}

// NodeLogs streams the log of a node: events named [api.LogLine] and [api.LogLive].
func NodeLogs(ctx context.Context, c *Client, q api.LogQuery) iter.Seq2[sse.Event, error] {
	return c.lines(ctx, api.GetNodeLogs.Describe(), func(again bool) any {
		if again {
			q.Lines = overlap
		}
		return q
	})
}

// InstanceLogs streams the log of an instance, as [NodeLogs].
func InstanceLogs(ctx context.Context, c *Client, q api.InstanceLogQuery) iter.Seq2[sse.Event, error] {
	return c.lines(ctx, api.GetInstanceLogs.Describe(), func(again bool) any {
		if again {
			q.Lines = overlap
		}
		return q
	})
}

// audit is the stream whose last word its reader shows.
const audit = "audit"

// lastWord is what the last event of a stream says.
func lastWord(data []byte) string {
	var ending api.StreamEnding
	if err := json.Unmarshal(data, &ending); err != nil || ending.Reason == "" {
		return "the daemon does not say why"
	}
	return ending.Reason
}

// Audit streams what a daemon logs: events named log, [api.Resync] and end.
func Audit(ctx context.Context, c *Client, q api.AuditQuery) iter.Seq2[sse.Event, error] {
	return c.stream(ctx, audit, api.PostDaemonAudit.Describe(), q, nil)
}

// stream calls an operation that answers events, until ctx ends, the stream ends
// or the loop is left. An error is yielded once, last. opened, when not nil, is
// called before the first event.
func (c *Client) stream(ctx context.Context, what string, d api.Description, in any, opened func()) iter.Seq2[sse.Event, error] {
	return func(yield func(sse.Event, error) bool) {
		watched, stop, cancel := c.watch(ctx)
		defer cancel()
		response, err := c.send(watched, d, in, sse.ContentType)
		stop() // what is silent from here on has nothing to say
		if err != nil {
			yield(sse.Event{}, hung(watched, err))
			return
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(response.Body, api.MaxBody))
			yield(sse.Event{}, problem(response, body))
			return
		}
		if opened != nil {
			opened()
		}
		for e, err := range sse.NewReader(response.Body, 0).Events() {
			if err != nil {
				if ctx.Err() != nil { // a connection that ctx closes says so in words of its own
					err = ctx.Err()
				}
				yield(sse.Event{}, fmt.Errorf("%s of %s: %w", what, c.target, err))
				return
			}
			if e.Name == api.StreamEnd && what != audit {
				yield(sse.Event{}, fmt.Errorf("%s of %s: %w", what, c.target, &endedError{lastWord(e.Data)}))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if ctx.Err() != nil {
			yield(sse.Event{}, fmt.Errorf("%s of %s: %w", what, c.target, ctx.Err()))
		}
	}
}
