package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Streamer streams the events of a daemon.
type Streamer interface {
	Events(ctx context.Context, q api.EventQuery) iter.Seq2[api.Event, error]
	// ExpandNodes returns the nodes a node selector designates.
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
}

// Events declares the stream of events.
func Events(hidden bool) verb.Verb {
	return verb.Verb{
		Path: "events", Aliases: []string{"eve", "even", "event"}, Group: "query", Hidden: hidden,
		Short: "Print the events of the daemon as they happen",
		Long: "Print the events of the daemon as they happen, one a line.\n\nA filter is a kind, labels and values, separated by commas, each optional: " +
			"InstanceStatusUpdated,path=web,.instance_status.avail=up. A value is compared by = != > >= < or <=, numbers as numbers; an item of a list is .list[0]. " +
			"Several filters are alternatives. With --wait the command ends once each of them matched.\n\n" +
			"A template is a Go template of an event: .kind, .id, .at and .data, with the functions of -o template=.",
		Example: "om daemon events --filter InstanceStatusUpdated\nom daemon events --replay -o json --limit 10\n" +
			"om daemon events --filter ObjectStatusUpdated --template '{{.data.path}} {{.data.object_status.avail}}'",
		New: verb.Needs(func(s Streamer) verb.Runner { return &events{streamer: s} }),
	}
}

type events struct {
	streamer Streamer
	query    api.EventQuery
	limit    uint64
	duration time.Duration
	wait     bool
	template string
	stream   output.Stream[api.Event]
}

func (e *events) Flags(f *pflag.FlagSet) {
	f.StringArrayVar(&e.query.Filter, "filter", nil, "only the events that `match`; repeat it for alternatives")
	f.StringVarP(&e.query.Selector, "selector", "s", "", "only the events of the objects selected")
	f.StringVar(&e.query.Node, "node", api.Localhost, "the `nodes` whose daemons are asked")
	f.Uint64Var(&e.limit, "limit", 0, "end after this many events")
	f.DurationVar(&e.duration, "duration", 0, "end after this long")
	f.BoolVar(&e.query.Replay, "replay", false, "first print the present state, as events")
	f.BoolVar(&e.wait, "wait", false, "end once every filter matched an event")
	f.StringVar(&e.template, "template", "", "print each event with this Go `template`")
}

func (e *events) Run(ctx context.Context, c *verb.Call) error {
	e.stream = output.Stream[api.Event]{Streams: c.Streams, Format: c.Format, Columns: eventColumns()}
	if e.template != "" {
		e.stream.Format = "template=" + e.template
	}
	if e.wait {
		err := e.waitEach(ctx, c)
		if ctx.Err() != nil {
			return app.Ended(ctx)
		}
		return err
	}
	e.query.Limit = int64(e.limit) //nolint:gosec // a number of events
	if e.duration > 0 {
		e.query.Duration = e.duration.String()
	}
	left := e.limit
	for ev, err := range e.all(ctx, e.query) {
		switch {
		case ctx.Err() != nil:
			return app.Ended(ctx)
		case err != nil:
			return hint(err)
		}
		if err := e.print(c, ev); err != nil {
			return err
		}
		if ev.Kind != api.Resync && left > 0 {
			if left--; left == 0 { // of all nodes
				return nil
			}
		}
	}
	if e.limit == 0 && e.duration == 0 {
		return errors.New("no more events come: the daemon ended the stream")
	}
	return nil
}

// all are the events of every node wanted, as they come. The stream of one node ends
// nobody else's; what failed is yielded last.
func (e *events) all(ctx context.Context, q api.EventQuery) iter.Seq2[api.Event, error] {
	nodes := []string{q.Node}
	if q.Node != api.Localhost {
		var err error
		if nodes, err = e.streamer.ExpandNodes(ctx, q.Node); err != nil {
			return func(yield func(api.Event, error) bool) { yield(api.Event{}, err) }
		}
	}
	if len(nodes) == 1 {
		q.Node = nodes[0]
		return e.streamer.Events(ctx, q)
	}
	return func(yield func(api.Event, error) bool) {
		type news struct {
			event api.Event
			err   error
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		from := make(chan news)
		var readers sync.WaitGroup
		for _, node := range nodes {
			q.Node = node
			stream := e.streamer.Events(ctx, q)
			readers.Go(func() {
				for ev, err := range stream {
					select {
					case from <- news{ev, err}:
					case <-ctx.Done():
						return
					}
				}
			})
		}
		go func() { readers.Wait(); close(from) }()
		var errs []error
		for n := range from {
			if n.err != nil {
				errs = append(errs, n.err)
			} else if !yield(n.event, nil) {
				return
			}
		}
		if err := errors.Join(errs...); err != nil {
			yield(api.Event{}, err)
		}
	}
}

// waitEach reads one stream for each filter, until each had its event.
func (e *events) waitEach(ctx context.Context, c *verb.Call) error {
	if len(e.query.Filter) == 0 {
		return app.Usage("--wait waits for filters: give --filter")
	}
	if e.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.duration)
		defer cancel()
	}
	waited := slices.Clone(e.query.Filter)
	type outcome struct {
		filter string
		event  api.Event
		err    error
	}
	found := make(chan outcome)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	for _, filter := range e.query.Filter {
		q := e.query
		q.Filter, q.Limit = []string{filter}, 1
		go func() {
			for ev, err := range e.all(reading, q) {
				select {
				case found <- outcome{filter, ev, err}:
				case <-reading.Done():
					return
				}
				if err != nil || ev.Kind != api.Resync {
					return
				}
			}
			select {
			case found <- outcome{filter: filter, err: errors.New("the stream ended before an event matched " + filter)}:
			case <-reading.Done():
			}
		}()
	}
	for left := len(e.query.Filter); left > 0; {
		select {
		case o := <-found:
			if o.err != nil && ctx.Err() == nil {
				return hint(o.err)
			}
			if o.err == nil && o.event.Kind == api.Resync {
				c.Say("%s", lost(o.event))
				continue
			}
			if o.err == nil {
				left--
				if err := e.print(c, o.event); err != nil {
					return err
				}
				waited = slices.DeleteFunc(waited, func(f string) bool { return f == o.filter })
				continue
			}
		case <-ctx.Done():
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("no event matched %s within %s", strings.Join(waited, " nor "), e.duration)
		}
		return ctx.Err()
	}
	return nil
}

// lost says that events are missing.
func lost(ev api.Event) string {
	var data struct {
		Lost uint64 `json:"lost"`
	}
	if json.Unmarshal(ev.Data, &data) == nil && data.Lost == 0 {
		return "events of a moment may be missing here: the token ended, and they go on with the next one"
	}
	return fmt.Sprintf("events were lost, %d so far: they are read more slowly than they come; --filter asks for fewer", data.Lost)
}

// print prints an event: as a line for people, or in the format asked for. That
// events are missing is told to people apart.
func (e *events) print(c *verb.Call, ev api.Event) error {
	if ev.Kind == api.Resync {
		c.Say("%s", lost(ev))
		if !c.Structured() || e.template != "" {
			return nil
		}
	}
	if e.template != "" || c.Structured() {
		return e.stream.Write(ev, ev)
	}
	return line(c.Streams, ev)
}

func eventColumns() []output.Column[api.Event] {
	return []output.Column[api.Event]{
		{Name: "AT", Value: func(e api.Event) any { return e.At }},
		{Name: "ID", Value: func(e api.Event) any { return e.ID }},
		{Name: "KIND", Value: func(e api.Event) any { return e.Kind }},
		{Name: "DATA", Value: func(e api.Event) any { return string(e.Data) }},
	}
}

// line prints when, what, and the labels that say of what.
func line(s *iostreams.Streams, ev api.Event) error {
	var data struct {
		Labels map[string]string `json:"labels"`
	}
	if err := json.Unmarshal(ev.Data, &data); err != nil {
		return fmt.Errorf("event %s: %w", ev.Kind, err)
	}
	var labels []string
	for k, v := range data.Labels {
		labels = append(labels, output.Escape(k+"="+v))
	}
	slices.Sort(labels)
	_, err := fmt.Fprintln(s.Out, strings.TrimRight(fmt.Sprintf("%s  %s  %s",
		ev.At.Local().Format("15:04:05.000"), s.Paint(iostreams.Bold, output.Escape(ev.Kind)), strings.Join(labels, " ")), " "))
	return err
}
