package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"
)

// MaxEvent bounds the size of an event, so that a stream cannot fill the memory.
const MaxEvent = 16 << 20

// ErrTooLarge is the error of a line or an event above the bound.
var ErrTooLarge = errors.New("event too large")

// Reader reads events.
type Reader struct {
	in     *bufio.Reader
	limit  int
	skipLF bool // a CR ended the last line: the LF of a CR LF may follow
	lastID string
}

// NewReader returns a reader on r, whose events are at most limit bytes, or
// [MaxEvent] when limit is 0.
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = MaxEvent
	}
	return &Reader{in: bufio.NewReader(r), limit: limit}
}

// LastID is the id to resume from.
func (r *Reader) LastID() string { return r.lastID }

// Events yields the events as they come. It ends with the stream, or with an
// error, yielded once: of the stream, or [ErrTooLarge].
func (r *Reader) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r.skipMark()
		for {
			event, err := r.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

// skipMark skips the byte order mark a stream may start with.
func (r *Reader) skipMark() {
	const mark = "\xef\xbb\xbf"
	if b, err := r.in.Peek(1); err != nil || b[0] != mark[0] {
		return
	}
	if b, err := r.in.Peek(len(mark)); err == nil && string(b) == mark {
		_, _ = r.in.Discard(len(mark))
	}
}

// next reads lines up to the end of an event that has data.
func (r *Reader) next() (Event, error) {
	var (
		event Event
		data  []byte
		found bool
		size  int
	)
	for {
		line, err := r.line()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if found {
				event.ID, event.Data = r.lastID, data
				return event, nil
			}
			event, size = Event{}, 0
			continue
		}
		if size += len(line) + 1; size > r.limit {
			return Event{}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, r.limit)
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			if found {
				data = append(data, '\n')
			}
			data, found = append(data, value...), true
		case "event":
			event.Name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				r.lastID = string(value)
			}
		case "retry":
			event.Retry = retryOf(value, event.Retry)
		}
	}
}

// line reads one line, without its end. The last one must have an end too.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			return nil, readError(err)
		}
		skip := r.skipLF && b == '\n'
		r.skipLF = false
		switch {
		case skip:
		case b == '\n':
			return line, nil
		case b == '\r':
			r.skipLF = true
			return line, nil
		case len(line) == r.limit:
			return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrTooLarge, r.limit)
		default:
			line = append(line, b)
		}
	}
}

func readError(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("read events: %w", err)
}

// retryOf reads a number of milliseconds; anything else leaves it as it was.
func retryOf(value []byte, was time.Duration) time.Duration {
	ms, err := strconv.ParseUint(string(value), 10, 31)
	if err != nil {
		return was
	}
	return time.Duration(ms) * time.Millisecond
}
