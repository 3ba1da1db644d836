package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

// node is what one node sends: "1a" is the line a of the first second, "live" what
// tells that new lines follow; it then fails with err, or waits for ctx.
func node(ctx context.Context, err error, events ...string) iter.Seq2[sse.Event, error] {
	return func(yield func(sse.Event, error) bool) {
		for _, text := range events {
			e := sse.Event{Name: api.LogLive, Data: []byte("{}")}
			if text != "live" {
				e = sse.Event{Name: api.LogLine, Data: fmt.Appendf(nil, `{"at":"2026-11-30T10:00:0%sZ","message":%q}`, text[:1], text)}
			}
			if !yield(e, nil) {
				return
			}
		}
		switch {
		case err != nil:
			yield(sse.Event{}, err)
		case slices.Contains(events, "live"):
			<-ctx.Done()
		}
	}
}

func merged(ctx context.Context, cancel func(), limit int, streams ...iter.Seq2[sse.Event, error]) (texts []string, err error) {
	merge(ctx, cancel, streams, func(l logbook.Line, e error) bool {
		if e != nil {
			err = e
			return true
		}
		texts = append(texts, l.Message)
		return len(texts) != limit
	})
	return texts, err
}

func TestTheLastLinesOfAllNodesAreInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := merged(ctx, cancel, 0, node(ctx, nil, "1a", "4a"), node(ctx, nil, "2b", "3b"), node(ctx, nil))
	if err != nil || !slices.Equal(got, []string{"1a", "2b", "3b", "4a"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNewLinesComeAsTheyAre(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := merged(ctx, cancel, 4, node(ctx, nil, "2a", "live", "5a"), node(ctx, nil, "1b", "3b", "live"))
	if err != nil || !slices.Equal(got, []string{"1b", "2a", "3b", "5a"}) && !slices.Equal(got, []string{"1b", "2a", "5a", "3b"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestANodeThatFailsEndsNoOther(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := merged(ctx, cancel, 0, node(ctx, errors.New("n1 is gone"), "1a"), node(ctx, nil, "2b"))
	if !slices.Equal(got, []string{"1a", "2b"}) || err == nil || !strings.Contains(err.Error(), "n1 is gone") {
		t.Errorf("%q, %v", got, err)
	}
}
