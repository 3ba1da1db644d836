// Package log declares the commands that read the logs of nodes.
package log

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Query says which lines are wanted, and of which nodes.
type Query struct {
	logbook.Query

	// Objects are those the lines are about; nil: whatever they are about.
	Objects []object.Path
	// Nodes is a node selector; "" is the nodes that may know, see Everywhere.
	Nodes string
	// Everywhere asks every node when Nodes names none: what an id names is not
	// confined to one.
	Everywhere bool
	Lines      int // the last ones of each node; 0 is all of them
	Follow     bool
}

// Reader reads logs: the last lines, the oldest first, then, when they are
// followed, those that come. An error that concerns one node of several is yielded last.
type Reader interface {
	Logs(ctx context.Context, q Query) iter.Seq2[logbook.Line, error]
}

// About tells what the lines wanted are about; false: about nothing at all.
type About func(ctx context.Context, c *verb.Call, q *Query) (bool, error)

// Verb declares a command that reads the log.
func Verb(path, short string, args verb.Args, about About) verb.Verb {
	return verb.Verb{
		Path: path, Aliases: []string{"log", "lo"}, Group: "query", Args: args, Short: short,
		Long: short + ".\n\nA filter is a field of a line and its value: SID, EID, ORCHESTRATION_ID, OBJ_PATH, RID (a glob), NODE, LEVEL, " +
			"or any other that -o json shows. A field given again is an alternative, another field is a condition more.",
		Example: "om daemon session logs 7b9772c8-9a5e-4f7e-8c3d-3f1d3c1b8f10 --grep 'exit code'\nom node logs --follow --filter ORCHESTRATION_ID=934a42f9-b7eb-4d7e-a3ac-18347522f9f9",
		New:     verb.Needs(func(r Reader) verb.Runner { return &logs{reader: r, about: about} }),
	}
}

// Everything asks for every line.
func Everything(context.Context, *verb.Call, *Query) (bool, error) { return true, nil }

// Selected asks for the lines about the objects selected.
func Selected(ctx context.Context, c *verb.Call, q *Query) (some bool, err error) {
	q.Objects, err = c.Objects(ctx)
	q.Everywhere = true
	return len(q.Objects) > 0, err
}

// Session asks for the lines of the session named by the argument.
func Session(_ context.Context, c *verb.Call, q *Query) (bool, error) { return of(c, q, "SID") }

// Exec asks for the lines of the run named by the argument.
func Exec(_ context.Context, c *verb.Call, q *Query) (bool, error) { return of(c, q, "EID") }

// Orchestration asks for the lines of the orchestration named by the argument.
func Orchestration(_ context.Context, c *verb.Call, q *Query) (bool, error) {
	return of(c, q, "ORCHESTRATION_ID")
}

func of(c *verb.Call, q *Query, field string) (bool, error) {
	q.Filter = append(q.Filter, field+"="+c.Args[0])
	q.Everywhere = true
	return true, nil
}

type logs struct {
	reader  Reader
	about   About
	query   Query
	isLocal bool
	stream  output.Stream[logbook.Line]
}

func (l *logs) Flags(f *pflag.FlagSet) {
	f.IntVarP(&l.query.Lines, "lines", "n", 50, "print the last `count` lines of each node, 0 for all of them")
	f.BoolVarP(&l.query.Follow, "follow", "f", false, "then print new lines as they come")
	f.StringVar(&l.query.Grep, "grep", "", "only the lines whose message matches this regular `expression`")
	f.StringVar(&l.query.Level, "level", "info", "only the lines at least this severe: debug, info, warn or error")
	f.StringArrayVar(&l.query.Filter, "filter", nil, "only the lines having this `field`, as SID=7b97...; see above")
	f.StringVar(&l.query.Nodes, "node", "", "of these `nodes`")
	f.BoolVar(&l.isLocal, "local", false, "of this node only")
}

func (l *logs) Run(ctx context.Context, c *verb.Call) error {
	q := l.query
	if c.Debug {
		q.Level = "debug"
	}
	some, err := l.about(ctx, c, &q)
	if err != nil || !some {
		return err
	}
	switch {
	case l.isLocal && q.Nodes != "":
		return app.Usage("--local is this node, and --node says others: give one of them")
	case q.Lines < 0:
		return app.Usage("--lines %d: a number of lines, or 0 for all of them", q.Lines)
	case l.isLocal:
		q.Everywhere = false
	}
	for _, p := range q.Objects {
		q.Paths = append(q.Paths, p.String())
	}
	if _, err := q.Parse(); err != nil {
		return app.Usage("--%v", err)
	}
	l.stream = output.Stream[logbook.Line]{Streams: c.Streams, Format: c.Format, Columns: columns()}
	for line, err := range l.reader.Logs(ctx, q) {
		switch {
		case ctx.Err() != nil:
			return app.Ended(ctx)
		case err != nil:
			return err
		}
		if err := l.printLine(c, line); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return app.Ended(ctx)
	case q.Follow:
		return errors.New("the log is not followed any more: the daemon ended the stream")
	}
	return nil
}

// During prints the lines asked for as they come while work goes on, and at its end
// those that were late. Structured output is left to what the command answers.
func During(ctx context.Context, c *verb.Call, r Reader, q Query, work func(context.Context) error) error {
	if c.Structured() {
		return work(ctx)
	}
	var l logs
	seed, printed := maphash.MakeSeed(), map[uint64]bool{}
	read := func(ctx context.Context, q Query) error {
		for line, err := range r.Logs(ctx, q) {
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return fmt.Errorf("follow the log: %w", err)
			}
			if key := maphash.Bytes(seed, line.Raw); !printed[key] {
				printed[key] = true
				if err := l.printLine(c, line); err != nil {
					return err
				}
			}
		}
		return nil
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	q.Lines, q.Follow = 0, true
	lost := make(chan error, 1)
	go func() { lost <- read(following, q) }()
	err := work(ctx)
	stop()
	if failure := <-lost; failure != nil {
		return errors.Join(err, failure)
	}
	q.Follow = false
	return errors.Join(err, read(ctx, q))
}

func columns() []output.Column[logbook.Line] {
	return []output.Column[logbook.Line]{
		{Name: "AT", Value: func(l logbook.Line) any { return l.At }},
		{Name: "LEVEL", Value: func(l logbook.Line) any { return l.Level }},
		{Name: "NODE", Value: func(l logbook.Line) any { return l.Node }},
		{Name: "PATH", Value: func(l logbook.Line) any { return l.Path }},
		{Name: "RID", Value: func(l logbook.Line) any { return l.RID }},
		{Name: "MESSAGE", Value: func(l logbook.Line) any { return l.Message }},
		{Name: "ERR", Value: func(l logbook.Line) any { return l.Err }},
	}
}

func (l *logs) printLine(c *verb.Call, line logbook.Line) error {
	if c.Structured() {
		// The line as it was written says more than the fields known here.
		if line.Raw != nil {
			return l.stream.Write(line, line.Raw)
		}
		return l.stream.Write(line, line)
	}
	var b strings.Builder
	b.WriteString(line.At.Local().Format("2006-01-02 15:04:05.000 "))
	b.WriteString(c.Streams.Paint(levelStyle(line.Level), levelWord(line.Level)) + " " + output.Escape(line.Node) + ": ")
	for _, prefix := range []string{line.Path, line.RID} {
		if prefix != "" {
			b.WriteString(output.Escape(prefix) + ": ")
		}
	}
	b.WriteString(shown(line.Text()))
	b.WriteString(c.Streams.Paint(iostreams.Faint, facts(line.Raw)))
	_, err := fmt.Fprintln(c.Streams.Out, b.String())
	return err
}

// shown makes a text harmless: what a task printed neither moves the cursor nor
// looks like a line of the log. Its own lines are aligned below the first.
func shown(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = output.EscapeLine(line)
	}
	return strings.Join(lines, "\n    ")
}

// facts prints what else a line holds: " dur=12ms reason=\"...\"".
func facts(raw json.RawMessage) string {
	var all map[string]any
	if json.Unmarshal(raw, &all) != nil {
		return ""
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(strings.Fields("at level node path rid sid eid oid message err"), key) || all[key] == "" {
			continue
		}
		text := fmt.Sprint(all[key])
		if n, ok := all[key].(float64); ok && key == "dur" {
			text = time.Duration(n).Round(time.Microsecond).String()
		}
		if strings.ContainsAny(text, " \t\n") {
			text = strconv.Quote(text)
		}
		b.WriteString(" " + output.Escape(key) + "=" + output.Escape(text))
	}
	return b.String()
}

func levelWord(level string) string {
	switch level {
	case "error":
		return "ERR"
	case "warn":
		return "WRN"
	case "debug":
		return "DBG"
	default:
		return "INF"
	}
}

func levelStyle(level string) iostreams.Style {
	switch level {
	case "error":
		return iostreams.Red
	case "warn":
		return iostreams.Yellow
	case "debug":
		return iostreams.Faint
	default:
		return ""
	}
}
