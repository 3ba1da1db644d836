package client

import (
	"context"
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
// [api.Resync] says that this reader was too slow and lost some.
func Events(ctx context.Context, c *Client, q api.EventQuery) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		watched, stop, cancel := c.watch(ctx)
		defer cancel()
		response, err := c.send(watched, api.GetDaemonEvents.Describe(), q, sse.ContentType)
		stop() // what is silent from here on has nothing to say
		if err != nil {
			yield(api.Event{}, hung(watched, err))
			return
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(response.Body, api.MaxBody))
			yield(api.Event{}, problem(response, body))
			return
		}
		// A connection that ctx closes says so in words of its own.
		fail := func(err error) {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			yield(api.Event{}, fmt.Errorf("events of %s: %w", c.target, err))
		}
		for e, err := range sse.NewReader(response.Body, 0).Events() {
			if err != nil {
				fail(err)
				return
			}
			id, err := strconv.ParseUint(e.ID, 10, 64)
			if err != nil {
				yield(api.Event{}, fmt.Errorf("events of %s: event id %q is no number", c.target, e.ID))
				return
			}
			if !yield(api.Event{Kind: e.Name, ID: id, At: time.Now(), Data: e.Data}, nil) {
				return
			}
		}
		if ctx.Err() != nil {
			fail(ctx.Err())
		}
	}
}
