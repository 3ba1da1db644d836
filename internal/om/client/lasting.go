package client

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

// endedError is the end of a stream that the daemon says the reason of.
type endedError struct{ reason string }

// Error says why.
func (e *endedError) Error() string { return "ended: " + e.reason }

// goesOn tells whether err is the end of a token where there may be another one: a
// session lasts longer than its tokens, and its streams do too.
func (c *Client) goesOn(err error) bool {
	ended, ok := errors.AsType[*endedError](err)
	return ok && ended.reason == api.TokenExpired && c.credential != nil
}

// shorten makes q the rest of a query that was asked at began, and began now. It tells
// whether there is a rest.
func shorten(q *api.EventQuery, began *time.Time) bool {
	now := time.Now()
	if whole, err := time.ParseDuration(q.Duration); err == nil {
		left := whole - now.Sub(*began)
		if left <= 0 {
			return false
		}
		q.Duration = left.Truncate(time.Millisecond).String()
	}
	q.Replay, q.Cache, *began = false, false, now // what is is not told again
	return true
}

// overlap is how many lines are asked for again where a stream goes on: those of before
// are found among them.
const overlap = 1000

// lines streams the lines of a log, over the end of a token. in is what is asked, the
// first time and again.
func (c *Client) lines(ctx context.Context, d api.Description, in func(again bool) any) iter.Seq2[sse.Event, error] {
	return func(yield func(sse.Event, error) bool) {
		var last []byte
		say := func(e sse.Event) bool {
			if e.Name == api.LogLine {
				last = e.Data
			}
			return yield(e, nil)
		}
		for again := false; ; again = true {
			expired, overlaps := false, again
			var ahead []sse.Event // what is sent again, then what was missed
			for e, err := range c.stream(ctx, "log", d, in(again), nil) {
				if expired = c.goesOn(err); expired {
					break
				}
				if err != nil {
					yield(sse.Event{}, err)
					return
				}
				ahead = append(ahead, e)
				if overlaps && e.Name != api.LogLive {
					continue
				}
				if overlaps {
					overlaps, ahead = false, missed(ahead, last)
				}
				for _, e := range ahead {
					if !say(e) {
						return
					}
				}
				ahead = ahead[:0]
			}
			if !expired {
				return
			}
		}
	}
}

// missed are the lines after the last one that is known, all when it is not there.
func missed(lines []sse.Event, last []byte) []sse.Event {
	for i, e := range slices.Backward(lines) {
		if bytes.Equal(e.Data, last) {
			return lines[i+1:]
		}
	}
	return lines
}
