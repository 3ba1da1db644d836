// Package monitor draws the cluster on one screen: what runs on the nodes, how
// the nodes are, and the state of every object on each node.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Source knows the state of the cluster.
type Source interface {
	ClusterStatus(ctx context.Context, selector string) (api.ClusterStatus, error)
	Events(ctx context.Context, q api.EventQuery) iter.Seq2[api.Event, error]
}

// Monitor declares the picture of the cluster.
var Monitor = verb.Verb{
	Path: "monitor", Selects: true, Aliases: []string{"mon", "m", "mo", "moni", "monit", "monito"}, Group: "query",
	Short: "Show the cluster on one screen",
	Long:  "Show what runs on the nodes, how the nodes are, and the state of every object on each node. --legend explains the marks.",
	New:   verb.Needs(func(s Source) verb.Runner { return &monitor{source: s} }),
}

type monitor struct {
	source   Source
	watch    bool
	legend   bool
	sections []string
}

func (m *monitor) Flags(f *pflag.FlagSet) {
	f.BoolVarP(&m.watch, "watch", "w", false, "show it again at each change")
	f.BoolVar(&m.legend, "legend", false, "explain the marks")
	f.StringSliceVar(&m.sections, "sections", nil, "only these `sections`: threads, arbitrators, nodes, objects")
}

func (m *monitor) Run(ctx context.Context, c *verb.Call) error {
	if m.legend {
		return grid.Write(c.Streams, Legend())
	}
	selector, err := c.ListedSelector()
	if err != nil {
		return err
	}
	if m.watch {
		err := Watch(ctx, c, m.source, selector, m.sections)
		if ctx.Err() != nil {
			return app.Ended(ctx)
		}
		return err
	}
	status, err := m.source.ClusterStatus(ctx, selector)
	if err != nil {
		return hint(err)
	}
	if c.Structured() {
		return verb.Write[struct{}](c, nil, nil, status)
	}
	return grid.Write(c.Streams, Board{Status: status, Selector: selector, Sections: m.sections}.Rows())
}

// settle is how long changes are gathered before the picture is drawn again.
const settle = 20 * time.Millisecond

// Watch draws the picture again at each change, until ctx ends, which is its error.
func Watch(ctx context.Context, c *verb.Call, s Source, selector string, sections []string) error {
	changes := make(chan error, 1)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go follow(watching, s, changes)

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-changes:
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return hint(err)
			}
			timer.Reset(settle)
		case <-timer.C:
			status, err := s.ClusterStatus(ctx, selector)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return hint(err)
			}
			// The cursor ends below the last row, which takes one.
			board := Board{Status: status, Selector: selector, Sections: sections, Height: max(c.Streams.Height()-1, 0)}
			if err := draw(c, board); err != nil {
				return err
			}
		}
	}
}

// follow reports each event, and the end of the stream. A picture that is
// already due is not asked for twice.
func follow(ctx context.Context, s Source, changes chan<- error) {
	for _, err := range s.Events(ctx, api.EventQuery{NodeName: api.NodeName{Node: api.Localhost}}) {
		if err != nil {
			select {
			case changes <- err:
			case <-ctx.Done():
			}
			return
		}
		select {
		case changes <- nil:
		default:
		}
	}
	select {
	case changes <- errors.New("the daemon ended the stream of events"):
	case <-ctx.Done():
	}
}

// draw replaces the picture on a terminal, and appends it elsewhere.
func draw(c *verb.Call, b Board) error {
	if c.Structured() {
		return verb.Write[struct{}](c, nil, nil, b.Status)
	}
	var text strings.Builder
	screen := *c.Streams
	screen.Out = &text
	if err := grid.Write(&screen, b.Rows()); err != nil {
		return err
	}
	return show(c.Streams, text.String())
}

func show(s *iostreams.Streams, text string) error {
	if s.OutTTY {
		// Home, each line cleared to its end, then what is below.
		text = "\x1b[H" + strings.ReplaceAll(text, "\n", "\x1b[K\n") + "\x1b[J"
	} else {
		text += "\n"
	}
	_, err := fmt.Fprint(s.Out, text)
	return err
}

func hint(err error) error {
	if client.IsDown(err) {
		return fmt.Errorf("%w: start it with: om daemon start", err)
	}
	return err
}
