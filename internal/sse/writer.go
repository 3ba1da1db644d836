package sse

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Writer writes events. It buffers: call Flush when there is nothing more to
// write at once.
type Writer struct {
	buf   *bufio.Writer
	flush func() error
}

// NewWriter returns a writer on w. When w can be flushed, as an
// http.ResponseWriter can, Flush does so.
func NewWriter(w io.Writer) *Writer {
	flush := func() error { return nil }
	switch f := w.(type) {
	case interface{ FlushError() error }:
		flush = f.FlushError
	case interface{ Flush() error }:
		flush = f.Flush
	case interface{ Flush() }:
		flush = func() error { f.Flush(); return nil }
	}
	return &Writer{buf: bufio.NewWriter(w), flush: flush}
}

// Event writes an event. An id or a name that the format cannot carry is an
// error, and nothing is written.
func (w *Writer) Event(e Event) error {
	if strings.ContainsAny(e.ID, "\r\n\x00") {
		return fmt.Errorf("event id %q: has a line end or a NUL", e.ID)
	}
	if strings.ContainsAny(e.Name, "\r\n") {
		return fmt.Errorf("event name %q: has a line end", e.Name)
	}
	if e.Name != "" {
		w.field("event", []byte(e.Name))
	}
	if e.ID != "" {
		w.field("id", []byte(e.ID))
	}
	if e.Retry > 0 {
		w.field("retry", fmt.Append(nil, e.Retry.Milliseconds()))
	}
	w.lines("data", e.Data)
	return w.end()
}

// Comment writes a line that readers skip: it keeps a connection alive.
func (w *Writer) Comment(text string) error {
	w.lines("", []byte(text))
	return w.end()
}

// Flush sends what was written.
func (w *Writer) Flush() error {
	if err := w.buf.Flush(); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	if err := w.flush(); err != nil {
		return fmt.Errorf("flush events: %w", err)
	}
	return nil
}

// lines writes a field as many times as the value has lines.
func (w *Writer) lines(name string, value []byte) {
	for {
		i := bytes.IndexAny(value, "\r\n")
		if i < 0 {
			w.field(name, value)
			return
		}
		w.field(name, value[:i])
		if bytes.HasPrefix(value[i:], []byte("\r\n")) {
			i++
		}
		value = value[i+1:]
	}
}

// field relies on bufio to remember the first error.
func (w *Writer) field(name string, value []byte) {
	_, _ = w.buf.WriteString(name)
	_ = w.buf.WriteByte(':')
	if len(value) > 0 {
		_ = w.buf.WriteByte(' ')
		_, _ = w.buf.Write(value)
	}
	_ = w.buf.WriteByte('\n')
}

func (w *Writer) end() error {
	if err := w.buf.WriteByte('\n'); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}
