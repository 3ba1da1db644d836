package journal

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

// HandlerOptions say how records become entries.
type HandlerOptions struct {
	Identifier string       // SYSLOG_IDENTIFIER
	Level      slog.Leveler // nil: info
	// Name is the field of an attribute; "" leaves the attribute out. Nil is its name
	// in capitals.
	Name func(key string) string
	// Fields are part of every entry.
	Fields []Field
}

// NewHandler returns a handler that writes to w. The message of an entry ends with
// the attribute err.
func NewHandler(w *Writer, o HandlerOptions) slog.Handler {
	if o.Level == nil {
		o.Level = slog.LevelInfo
	}
	if o.Name == nil {
		o.Name = strings.ToUpper
	}
	return &handler{w: w, o: o}
}

type handler struct {
	w     *Writer
	o     HandlerOptions
	attrs []slog.Attr
	group string
}

// Enabled implements [slog.Handler].
func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.o.Level.Level() }

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		next.attrs = append(next.attrs, slog.Attr{Key: h.group + a.Key, Value: a.Value})
	}
	return &next
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler {
	next := *h
	next.group = h.group + name + "_"
	return &next
}

// Handle implements [slog.Handler].
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	message := r.Message
	fields := append([]Field{
		{"PRIORITY", strconv.Itoa(priority(r.Level))},
		{"SYSLOG_IDENTIFIER", h.o.Identifier},
	}, h.o.Fields...)
	add := func(key string, value slog.Value) {
		text := value.Resolve().String()
		if key == "err" {
			message += ": " + text
		}
		if name := h.o.Name(key); text != "" && ValidName(name) {
			fields = append(fields, Field{name, text})
		}
	}
	for _, a := range h.attrs {
		add(a.Key, a.Value)
	}
	r.Attrs(func(a slog.Attr) bool {
		add(h.group+a.Key, a.Value)
		return true
	})
	return h.w.Send(append(fields, Field{"MESSAGE", strings.TrimRight(message, " \t\r\n")})...)
}

// priority is that of syslog.
func priority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3
	case l >= slog.LevelWarn:
		return 4
	case l >= slog.LevelInfo:
		return 6
	}
	return 7
}
