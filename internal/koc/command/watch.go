package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// watched reports whether a run repeats. A flag of the watch without it is wrong.
func watched(cmd *Command, v *Values) (bool, error) {
	flags := watchFlags(cmd)
	if flags == nil {
		return false, nil
	}
	if v.Given("watch") {
		return true, nil
	}
	for _, f := range flags {
		if v.Given(f.Name) {
			return false, Reject("%s needs --watch", f.Dashed())
		}
	}
	return false, nil
}

// repeat runs a command again and again, with one session.
func (r *invocation) repeat(ctx context.Context, cmd *Command, c *Call, g *gate) error {
	interval, err := watch.ParseInterval(c.Text("watch"))
	if err != nil {
		return Reject("--watch: %v", err)
	}
	plain := c.Is("watch-plain") || !c.Streams.OutTTY || r.proc.Env("TERM") == "dumb"
	if !plain && (c.Is("debug") || c.Is("timing")) {
		return Reject("--debug and --timing would print over the screen of --watch: add --watch-plain")
	}
	o := watch.Options{
		Title: r.title(cmd, c), Program: r.Name, Interval: interval,
		Count: c.Int("watch-count"), Diff: c.Is("watch-diff"), Compact: c.Is("watch-compact"),
		NoTitle: c.Is("watch-no-title"), Plain: plain, UntilChange: c.Is("watch-until-change"),
		ExitOnError: c.Text("watch-errors") == "exit", Severity: severity,
	}
	// A password must be asked for before the screen belongs to the watch.
	if c.Streams.InTTY && !plain && c.Cloud != nil {
		if _, err := c.Cloud.Token(ctx); severity(err) == watch.Rejected {
			return err
		}
	}
	if !plain {
		g.shut.Store(true)
	}
	err = watch.Run(ctx, r.out, o, func(ctx context.Context, q watch.Request) (watch.Frame, error) {
		return frame(ctx, cmd, c, q)
	})
	if errors.Is(err, watch.ErrInterrupted) {
		return program.Silent(program.Interrupted)
	}
	return err
}

// gate is a writer that drops what comes once it is shut: what the session has to
// say would be printed over the screen of a watch.
type gate struct {
	to   io.Writer
	shut atomic.Bool
}

// Write implements [io.Writer].
func (g *gate) Write(p []byte) (int, error) {
	if g.shut.Load() {
		return len(p), nil
	}
	return g.to.Write(p)
}

// title is the command line without global flags, where the credentials are, and
// without those of the output.
func (r *invocation) title(cmd *Command, c *Call) string {
	words := []string{r.Name, c.Name}
	for _, o := range c.order {
		if !slices.ContainsFunc(cmd.Flags, func(f Flag) bool { return f.Name == o.flag.Name }) {
			continue
		}
		words = append(words, o.flag.Dashed())
		if o.flag.takesValue() {
			words = append(words, o.text)
		}
	}
	for i := range cmd.Args {
		words = append(words, c.Texts(cmd.Args[i].Name)...)
	}
	return render.Plain(strings.Join(words, " "))
}

// severity tells errors that may be gone next time from those that will not.
func severity(err error) watch.Severity {
	if fault, ok := errors.AsType[*cloud.Fault](err); ok {
		switch {
		case fault.Status == http.StatusUnauthorized && fault.Service == "identity":
			return watch.Rejected
		case fault.Status >= 500, fault.Status == http.StatusTooManyRequests, fault.Status == http.StatusRequestTimeout,
			fault.Status == http.StatusConflict, fault.Status == http.StatusUnauthorized:
			return watch.Passing
		}
		return watch.Settled
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return watch.Passing
	}
	return watch.Settled
}

// frame is one refresh: the command run with its output caught.
func frame(ctx context.Context, cmd *Command, c *Call, q watch.Request) (watch.Frame, error) {
	var out, notes bytes.Buffer
	streams := *c.Streams
	streams.In, streams.Out, streams.InTTY = strings.NewReader(""), &out, false
	again := *c
	again.Streams = &streams
	if q.Plain {
		again.Output.NoHeader = !q.First
		err := cmd.Run(ctx, &again)
		f := watch.Text(out.Bytes(), -1)
		if q.First && again.Output.Format == "csv" {
			f.Rows = f.Rows[min(1, len(f.Rows)):] // the header comes once: its absence is no change
		}
		return f, err
	}
	streams.Err, streams.ErrTTY = &notes, false
	streams.Width = q.Size.Width
	again.catch = new(caught)
	if err := cmd.Run(ctx, &again); err != nil {
		return watch.Frame{}, err
	}
	f := watch.Text(out.Bytes(), -1)
	if g := again.catch.grid; g != nil {
		f = watch.Frame{Rows: []watch.Row{}, Count: -1}
		for i, cells := range g.Rows {
			f.Rows = append(f.Rows, watch.Row{ID: g.IDs[i], Cells: cells})
		}
		f.Layout = func(rows []watch.Row, size watch.Size) watch.Table { return drawGrid(g, rows, size) }
	}
	if again.catch.listed {
		f.Count = again.catch.rows
	}
	f.Notes = lines(notes.String())
	return f, nil
}

// caught is what a command printed during a refresh, before it was drawn.
type caught struct {
	grid   *render.Grid
	listed bool
	rows   int
}

func lines(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func drawGrid(g *render.Grid, rows []watch.Row, size watch.Size) watch.Table {
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = r.Cells
	}
	var cut func(string, int) string
	if size.Compact {
		cut = watch.Cut
	}
	d := g.Draw(cells, size.Width, watch.Width, cut)
	rule := watch.Line{{Text: d.Rule}}
	t := watch.Table{Head: []watch.Line{rule}, Foot: []watch.Line{rule}}
	for _, physical := range d.Head {
		t.Head = append(t.Head, bordered(physical, false))
	}
	t.Head = append(t.Head, rule)
	for _, row := range d.Rows {
		var drawn []watch.Line
		for _, physical := range row {
			drawn = append(drawn, bordered(physical, true))
		}
		t.Rows = append(t.Rows, drawn)
	}
	return t
}

// bordered is a physical line of a row. Spans of cells know which cell they show.
func bordered(cells []string, marked bool) watch.Line {
	line := make(watch.Line, 0, 2*len(cells)+1)
	for i, text := range cells {
		border := " | "
		if i == 0 {
			border = "| "
		}
		span := watch.Span{Text: text}
		if marked {
			span.Cell = i + 1
		}
		line = append(line, watch.Span{Text: border}, span)
	}
	return append(line, watch.Span{Text: " |"})
}

// counting counts the rows that pass.
func (k *caught) counting(rows iter.Seq2[[]any, error]) iter.Seq2[[]any, error] {
	k.listed = true
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			if err == nil {
				k.rows++
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
