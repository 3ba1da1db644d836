package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/log"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

// maxLines is the most lines a daemon is asked for.
const maxLines = 10000

// Logs implements log.Reader. Every node wanted is asked at the same time, and the
// last lines of all are merged by time.
func (b *Backend) Logs(ctx context.Context, q log.Query) iter.Seq2[logbook.Line, error] {
	return func(yield func(logbook.Line, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		streams, err := b.logStreams(ctx, q)
		if err != nil {
			yield(logbook.Line{}, err)
			return
		}
		merge(ctx, cancel, streams, yield)
	}
}

// logStreams are the streams of the nodes: one for each node, or one for each
// instance when the caller may not read the whole log of a node.
func (b *Backend) logStreams(ctx context.Context, q log.Query) ([]iter.Seq2[sse.Event, error], error) {
	c, err := b.Connect()
	if err != nil {
		return nil, err
	}
	selection := api.LogSelection{Filter: q.Filter, Grep: q.Grep, Level: q.Level, Lines: q.Lines, Follow: q.Follow}
	if selection.Lines == 0 || selection.Lines > maxLines {
		selection.Lines = maxLines
	}
	if q.Objects != nil {
		who, err := client.Do(ctx, c, api.GetAuthWhoAmI, api.None{})
		if err != nil {
			return nil, err
		}
		if _, isRoot := who.Grant["root"]; !isRoot {
			return b.instanceStreams(ctx, c, q, selection)
		}
	}
	nodes := []string{api.Localhost}
	if q.Nodes != "" || q.Everywhere {
		selector := q.Nodes
		if selector == "" {
			selector = "*"
		}
		if nodes, err = b.ExpandNodes(ctx, selector); err != nil {
			return nil, err
		}
	}
	streams := make([]iter.Seq2[sse.Event, error], len(nodes))
	for i, node := range nodes {
		streams[i] = client.NodeLogs(ctx, c, api.LogQuery{NodeName: api.NodeName{Node: node}, LogSelection: selection, Paths: q.Paths})
	}
	return streams, nil
}

func (b *Backend) instanceStreams(ctx context.Context, c *client.Client, q log.Query, s api.LogSelection) ([]iter.Seq2[sse.Event, error], error) {
	var streams []iter.Seq2[sse.Event, error]
	for _, p := range q.Objects {
		list, err := client.Do(ctx, c, api.GetInstances, api.InstanceQuery{Path: p.FQN(), Node: q.Nodes})
		if err != nil {
			return nil, err
		}
		for _, i := range list.Items {
			streams = append(streams, client.InstanceLogs(ctx, c, api.InstanceLogQuery{
				InstanceName: api.InstanceOf(i.Meta.Node, p), LogSelection: s,
			}))
		}
	}
	return streams, nil
}

// news is what a stream says.
type news struct {
	line logbook.Line
	live bool // the last lines were sent, or the stream ended
	err  error
}

// merge passes on the last lines of all streams in the order of time, then the
// others as they come. A stream that fails ends nobody else's.
func merge(ctx context.Context, cancel func(), streams []iter.Seq2[sse.Event, error], yield func(logbook.Line, error) bool) {
	from := make(chan news)
	var readers sync.WaitGroup
	for _, stream := range streams {
		readers.Go(func() { listen(ctx, stream, from) })
	}
	go func() { readers.Wait(); close(from) }()
	defer func() {
		cancel()
		for range from { // lets the readers end
		}
	}()

	var errs []error
	var last []logbook.Line
	waiting := len(streams)
	for n := range from {
		switch {
		case n.err != nil:
			errs = append(errs, n.err)
		case n.live:
			if waiting--; waiting > 0 {
				continue
			}
			slices.SortStableFunc(last, func(a, b logbook.Line) int { return a.At.Compare(b.At) })
			for _, l := range last {
				if !yield(l, nil) {
					return
				}
			}
			last = nil
		case waiting > 0:
			last = append(last, n.line)
		case !yield(n.line, nil):
			return
		}
	}
	if err := errors.Join(errs...); err != nil {
		yield(logbook.Line{}, err)
	}
}

// listen passes on what a stream says, and once when its last lines are there.
func listen(ctx context.Context, stream iter.Seq2[sse.Event, error], to chan<- news) {
	isLive := false
	say := func(n news) bool {
		select {
		case to <- n:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for e, err := range stream {
		n := news{err: err}
		switch {
		case err != nil:
		case e.Name == api.LogLive:
			if isLive {
				continue
			}
			isLive, n.live = true, true
		case e.Name == api.LogLine:
			if n.line, err = logbook.ParseLine(e.Data); err != nil {
				n.err = fmt.Errorf("log of a node: %w", err)
			}
		default:
			continue
		}
		if !say(n) {
			return
		}
	}
	if !isLive {
		say(news{live: true})
	}
}
