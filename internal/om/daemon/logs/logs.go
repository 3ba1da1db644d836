// Package logs lets the log of a running daemon be turned up and down, and be
// listened to.
//
//	parts of the daemon -> level of the part -> the store and the console
//	                   \-> auditors, at a level of their own
//
// An auditor sees lines the store does not get, and never holds back who logs: a
// slow one loses lines, and is told how many.
package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Trace is the lowest level: everything.
const Trace = slog.LevelDebug - 4

// The levels above error: nothing the agent says is that bad.
const (
	fatal = slog.LevelError + 4
	panik = slog.LevelError + 8
	none  = slog.Level(1 << 10)
)

// ParseLevel reads the word of a level.
func ParseLevel(word string) (slog.Level, error) {
	switch word {
	case "trace":
		return Trace, nil
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	case "fatal":
		return fatal, nil
	case "panic":
		return panik, nil
	case "none":
		return none, nil
	}
	return 0, fmt.Errorf("%q is no level of a log: use debug, info, warn, error, fatal, panic or none", word)
}

// Control is the log of the daemon.
type Control struct {
	next  slog.Handler
	level atomic.Int64 // of every part that has none of its own

	mu      sync.Mutex
	parts   map[string]*part
	auditor atomic.Pointer[Audit]
}

// part is what one part of the daemon logs.
type part struct {
	name  string
	level atomic.Pointer[slog.Level] // nil: that of the daemon
}

// New returns the control of what is logged through next. Every line passes,
// until a level is set.
func New(next slog.Handler) *Control {
	c := &Control{next: next, parts: map[string]*part{}}
	c.level.Store(int64(Trace))
	return c
}

// Logger returns the logger of a part of the daemon.
func (c *Control) Logger(name string) *slog.Logger {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.parts[name]
	if p == nil {
		p = &part{name: name}
		c.parts[name] = p
	}
	return slog.New(&handler{control: c, part: p, next: c.next})
}

// Parts lists the names of the parts, sorted.
func (c *Control) Parts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name := range c.parts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// SetLevel has the daemon log what is at least of this level, whatever its parts
// were told before.
func (c *Control) SetLevel(l slog.Level) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.level.Store(int64(l))
	for _, p := range c.parts {
		p.level.Store(nil)
	}
}

// SetPartLevel has one part log what is at least of this level.
func (c *Control) SetPartLevel(name string, l slog.Level) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.parts[name]
	if p == nil {
		return fmt.Errorf("the daemon has no part %s", name)
	}
	p.level.Store(&l)
	return nil
}

// handler is the handler of one part.
type handler struct {
	control *Control
	part    *part
	next    slog.Handler
	with    []func(slog.Handler) slog.Handler // what an auditor has to repeat
}

func (h *handler) floor() slog.Level {
	if own := h.part.level.Load(); own != nil {
		return *own
	}
	return slog.Level(h.control.level.Load())
}

// Enabled implements [slog.Handler].
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool {
	if a := h.control.auditor.Load(); a != nil && a.wants(h.part.name, l) {
		return true
	}
	return l >= h.floor() && h.next.Enabled(ctx, l)
}

// Handle implements [slog.Handler].
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if a := h.control.auditor.Load(); a != nil && a.wants(h.part.name, r.Level) {
		a.take(ctx, h.with, r)
	}
	if r.Level < h.floor() || !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.changed(func(n slog.Handler) slog.Handler { return n.WithAttrs(attrs) })
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler {
	return h.changed(func(n slog.Handler) slog.Handler { return n.WithGroup(name) })
}

func (h *handler) changed(f func(slog.Handler) slog.Handler) slog.Handler {
	next := *h
	next.next, next.with = f(h.next), append(slices.Clip(h.with), f)
	return &next
}

// ErrAudited is for who listens while another one does.
var ErrAudited = errors.New("the log is being audited already: preempt that audit, or wait for its end")

// queueSize is how many lines wait for an auditor.
const queueSize = 1024

// Audit is somebody who listens to the log.
type Audit struct {
	control *Control
	level   slog.Level
	parts   []string
	lines   chan []byte
	lost    atomic.Uint64
	ended   chan struct{}
	once    sync.Once
}

// Audit begins to listen to what parts log, all of them when none is named, at
// least of level l. One audit at a time; preempt ends the one in progress.
func (c *Control) Audit(l slog.Level, parts []string, preempt bool) (*Audit, error) {
	known := c.Parts()
	for _, name := range parts {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("the daemon has no part %s: use %s", name, strings.Join(known, ", "))
		}
	}
	a := &Audit{control: c, level: l, parts: parts, lines: make(chan []byte, queueSize), ended: make(chan struct{})}
	for {
		current := c.auditor.Load()
		if current != nil && !preempt {
			return nil, ErrAudited
		}
		if c.auditor.CompareAndSwap(current, a) {
			if current != nil {
				current.end()
			}
			return a, nil
		}
	}
}

// Lines are the lines, as JSON objects.
func (a *Audit) Lines() <-chan []byte { return a.lines }

// Ended is closed when another audit took the place of this one.
func (a *Audit) Ended() <-chan struct{} { return a.ended }

// Lost returns how many lines were lost since it was last asked.
func (a *Audit) Lost() uint64 { return a.lost.Swap(0) }

// Close ends the audit.
func (a *Audit) Close() {
	a.control.auditor.CompareAndSwap(a, nil)
	a.end()
}

func (a *Audit) end() { a.once.Do(func() { close(a.ended) }) }

func (a *Audit) wants(part string, l slog.Level) bool {
	return l >= a.level && (len(a.parts) == 0 || slices.Contains(a.parts, part))
}

// take formats a line and puts it in the queue, when there is room.
func (a *Audit) take(ctx context.Context, with []func(slog.Handler) slog.Handler, r slog.Record) {
	line := &line{}
	var h slog.Handler = slog.NewJSONHandler(line, &slog.HandlerOptions{Level: a.level})
	for _, f := range with {
		h = f(h)
	}
	if h.Handle(ctx, r) != nil {
		return
	}
	select {
	case a.lines <- line.text:
	default:
		a.lost.Add(1)
	}
}

// line keeps what a handler writes.
type line struct{ text []byte }

// Write implements [io.Writer].
func (l *line) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	return len(p), nil
}
