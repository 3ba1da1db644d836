package logbook

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// ConsoleOptions tell how lines look.
type ConsoleOptions struct {
	Color bool
	Level slog.Leveler // nil: info
	// Escape makes a text that cannot move the cursor nor colour the terminal: a
	// task prints what it wants. nil: texts are written as they are.
	Escape func(string) string
}

// Console writes lines as "10:51:50.590 INF svc0: app#1: message", for people.
// The object and the resource come before the message; the attributes that only
// serve to look lines up (ids, node) are left out.
func Console(w io.Writer, o ConsoleOptions) slog.Handler {
	if o.Level == nil {
		o.Level = slog.LevelInfo
	}
	return &console{out: &lockedWriter{w: w}, options: o}
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

type console struct {
	out     *lockedWriter
	options ConsoleOptions
	attrs   []slog.Attr
	group   string
}

// Enabled implements [slog.Handler].
func (c *console) Enabled(_ context.Context, l slog.Level) bool {
	return l >= c.options.Level.Level()
}

// WithAttrs implements [slog.Handler].
func (c *console) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *c
	next.attrs = slices.Clone(c.attrs)
	for _, a := range attrs {
		next.attrs = append(next.attrs, slog.Attr{Key: c.group + a.Key, Value: a.Value})
	}
	return &next
}

// WithGroup implements [slog.Handler].
func (c *console) WithGroup(name string) slog.Handler {
	next := *c
	next.group = c.group + name + "."
	return &next
}

// Handle implements [slog.Handler].
func (c *console) Handle(_ context.Context, r slog.Record) error {
	var object, resource, rest strings.Builder
	add := func(key string, value slog.Value) {
		text := value.Resolve().String()
		switch key {
		case "object":
			object.Reset()
			object.WriteString(text + ": ")
		case "resource":
			resource.Reset()
			resource.WriteString(text + ": ")
		case "err":
			rest.WriteString(": " + text)
		case "node", "instance", "action", "sid", "eid", "oid", "dur":
		default:
			fmt.Fprintf(&rest, " %s=%s", key, text)
		}
	}
	for _, a := range c.attrs {
		add(a.Key, a.Value)
	}
	r.Attrs(func(a slog.Attr) bool {
		add(c.group+a.Key, a.Value)
		return true
	})

	prefix := r.Time.Format("15:04:05.000") + " " + c.word(r.Level) + " " + object.String() + resource.String()
	var lines strings.Builder
	for line := range strings.Lines(r.Message + rest.String() + "\n") {
		if line = strings.TrimRight(line, " \t\r\n"); line == "" && lines.Len() > 0 {
			continue
		}
		lines.WriteString(strings.TrimRight(prefix+c.escape(line), " ") + "\n")
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	_, err := io.WriteString(c.out.w, lines.String())
	return err
}

func (c *console) escape(line string) string {
	if c.options.Escape == nil {
		return line
	}
	return c.options.Escape(line)
}

// word is the three letter name of a level, coloured when asked.
func (c *console) word(l slog.Level) string {
	name, color := "DBG", "90"
	switch {
	case l >= slog.LevelError:
		name, color = "ERR", "31"
	case l >= slog.LevelWarn:
		name, color = "WRN", "33"
	case l >= slog.LevelInfo:
		name, color = "INF", "32"
	}
	if !c.options.Color {
		return name
	}
	return "\x1b[" + color + "m" + name + "\x1b[0m"
}
