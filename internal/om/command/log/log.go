// Package log declares the commands that read the log store of this node.
package log

import (
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Reader reads the log store: the last lines that match, the oldest first.
type Reader interface {
	Logs(f logbook.Filter, lines int) ([]logbook.Line, error)
}

// About tells what the lines wanted are about.
type About func(ctx context.Context, c *verb.Call, f *logbook.Filter) error

// Verb declares a command that reads the log.
func Verb(path, short string, args verb.Args, about About) verb.Verb {
	return verb.Verb{
		Path: path, Aliases: []string{"log"}, Group: "query", Args: args, Short: short,
		New: verb.Needs(func(r Reader) verb.Runner { return &logs{reader: r, about: about} }),
	}
}

// Everything asks for every line.
func Everything(context.Context, *verb.Call, *logbook.Filter) error { return nil }

// Selected asks for the lines about the objects selected.
func Selected(ctx context.Context, c *verb.Call, f *logbook.Filter) error {
	paths, err := c.Objects(ctx)
	f.Paths = names(paths)
	return err
}

// Session asks for the lines of the session named by the argument.
func Session(_ context.Context, c *verb.Call, f *logbook.Filter) error {
	f.SID = c.Args[0]
	return nil
}

// Exec asks for the lines of the run named by the argument.
func Exec(_ context.Context, c *verb.Call, f *logbook.Filter) error {
	f.EID = c.Args[0]
	return nil
}

// Orchestration asks for the lines of the orchestration named by the argument.
func Orchestration(_ context.Context, c *verb.Call, f *logbook.Filter) error {
	f.OID = c.Args[0]
	return nil
}

func names(paths []object.Path) []string {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = p.String()
	}
	return list
}

type logs struct {
	reader  Reader
	about   About
	lines   int
	follow  bool
	grep    string
	level   string
	filters []string
	stream  output.Stream[logbook.Line]
}

func (l *logs) Flags(f *pflag.FlagSet) {
	f.IntVarP(&l.lines, "lines", "n", 50, "print the last `count` lines")
	f.BoolVarP(&l.follow, "follow", "f", false, "then print new lines as they come")
	f.StringVar(&l.grep, "grep", "", "only the lines holding this `text`")
	f.StringVar(&l.level, "level", "info", "only the lines at least this severe: debug, info, warn or error")
	f.StringArrayVar(&l.filters, "filter", nil, "only the lines having this `field`: SID, EID, ORCHESTRATION_ID, OBJ_PATH or RID, as SID=7b97...")
	f.Bool("local", false, "")
	f.String("node", "", "")
	f.Lookup("local").Hidden = true
	f.Lookup("node").Hidden = true
}

func (l *logs) Run(ctx context.Context, c *verb.Call) error {
	filter := logbook.Filter{Level: l.level}
	if c.Debug {
		filter.Level = "debug"
	}
	if err := l.about(ctx, c, &filter); err != nil {
		return err
	}
	for _, w := range l.filters {
		if err := narrow(&filter, w); err != nil {
			return err
		}
	}
	l.stream = output.Stream[logbook.Line]{Streams: c.Streams, Format: c.Format, Columns: columns()}
	last, err := l.print(c, filter, time.Time{}, l.lines)
	if err != nil || !l.follow {
		return err
	}
	err = retry.Until(ctx, retry.Policy{Interval: 100 * time.Millisecond}, func(context.Context) (bool, error) {
		last, err = l.print(c, filter, last, 0)
		return err != nil, err
	})
	if ctx.Err() != nil {
		return app.Ended(ctx)
	}
	return err
}

// print prints what came after a time and returns the time of the last line.
func (l *logs) print(c *verb.Call, filter logbook.Filter, after time.Time, lines int) (time.Time, error) {
	if !after.IsZero() {
		filter.Since = after.Add(1)
	}
	found, err := l.reader.Logs(filter, lines)
	if err != nil {
		return after, err
	}
	for _, line := range found {
		after = line.At
		if l.grep != "" && !strings.Contains(line.Message+" "+line.Err, l.grep) {
			continue
		}
		if err := l.printLine(c, line); err != nil {
			return after, err
		}
	}
	return after, nil
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
	b.WriteString(c.Streams.Paint(levelStyle(line.Level), levelWord(line.Level)) + " " + line.Node + ": ")
	for _, prefix := range []string{line.Path, line.RID} {
		if prefix != "" {
			b.WriteString(prefix + ": ")
		}
	}
	b.WriteString(line.Message)
	if line.Err != "" {
		b.WriteString(": " + line.Err)
	}
	b.WriteString(c.Streams.Paint(iostreams.Faint, facts(line.Raw)))
	_, err := fmt.Fprintln(c.Streams.Out, b.String())
	return err
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
		b.WriteString(" " + key + "=" + text)
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

func narrow(f *logbook.Filter, word string) error {
	name, value, ok := strings.Cut(word, "=")
	switch {
	case !ok:
	case name == "SID":
		f.SID = value
		return nil
	case name == "EID":
		f.EID = value
		return nil
	case name == "ORCHESTRATION_ID" || name == "OID":
		f.OID = value
		return nil
	case name == "OBJ_PATH" || name == "PATH":
		f.Paths = append(f.Paths, value)
		return nil
	case name == "RID":
		f.RID = value
		return nil
	}
	return app.Usage("--filter %s: write SID=, EID=, ORCHESTRATION_ID=, OBJ_PATH= or RID= and a value", word)
}
