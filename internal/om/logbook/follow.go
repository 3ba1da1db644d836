package logbook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

const (
	// followEvery is how often new lines are looked for.
	followEvery = 50 * time.Millisecond
	// chunk is about how much is read, and held, at once: a follower that was slow has
	// everything since to read.
	chunk = 64 << 10
)

// Follow passes on the last lines selected, at once even when there are none, then
// new ones as they come, until ctx ends, whose error it returns, or emit fails.
func (b *Book) Follow(ctx context.Context, f Filter, lines int, emit func([]Line) error) error {
	t := &tail{book: b, filter: f}
	defer t.close()
	last, err := t.begin(lines)
	if err != nil {
		return err
	}
	if err := emit(last); err != nil {
		return err
	}
	return retry.Until(ctx, retry.Policy{Interval: followEvery}, func(context.Context) (bool, error) {
		return false, t.next(emit)
	})
}

// tail is where a follower is: in the segment appended to, and in as many of those
// closed since as the store keeps.
type tail struct {
	book   *Book
	filter Filter
	open   []*followed // the oldest first
}

type followed struct {
	*segment

	offset int64 // of the next line
}

func (t *tail) close() {
	for _, s := range t.open {
		_ = s.file.Close() // only read
	}
	t.open = nil
}

// begin returns the last lines and stands after them.
func (t *tail) begin(lines int) ([]Line, error) {
	segments, err := t.book.snapshot()
	if err != nil {
		return nil, err
	}
	defer func() { closeAll(segments) }()
	last, err := read(segments, t.filter, lines)
	if err != nil || len(segments) == 0 {
		return last, err
	}
	newest := segments[len(segments)-1]
	end, err := newest.whole()
	if err != nil {
		return nil, err
	}
	segments = segments[:len(segments)-1]
	t.open = append(t.open, &followed{segment: newest, offset: end})
	return last, nil
}

// next passes on the lines that came.
func (t *tail) next(emit func([]Line) error) error {
	take := func() error {
		// The newest first: of what a process wrote, nothing is then read of a newer
		// segment before all that came before it in an older one.
		ends := make([]int64, len(t.open))
		for i, s := range slices.Backward(t.open) {
			info, err := s.file.Stat()
			if err != nil {
				return err
			}
			ends[i] = info.Size()
		}
		for i, s := range t.open {
			if err := s.more(ends[i], t.filter, emit); err != nil {
				return err
			}
		}
		return nil
	}
	if err := take(); err != nil {
		return err
	}
	rotated, err := t.advance()
	if err == nil && rotated {
		err = take()
	}
	// A closed segment may still get the line of a process that was about to write it.
	for len(t.open) > Kept+1 {
		_ = t.open[0].file.Close() // only read
		t.open = t.open[1:]
	}
	return err
}

// advance looks for the segments that came after the one that was appended to.
func (t *tail) advance() (bool, error) {
	info, err := os.Stat(t.book.name())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil // being rotated, or nothing was ever written
	case err != nil:
		return false, err
	}
	if n := len(t.open); n > 0 && os.SameFile(info, t.open[n-1].info) {
		return false, nil
	}
	segments, err := t.book.snapshot()
	if err != nil {
		return false, err
	}
	// What comes after the newest one known is new; all of it, when that one is gone.
	from := 0
	for i, s := range segments {
		if slices.ContainsFunc(t.open, func(o *followed) bool { return os.SameFile(o.info, s.info) }) {
			from = i + 1
		}
	}
	closeAll(segments[:from])
	for _, s := range segments[from:] {
		t.open = append(t.open, &followed{segment: s})
	}
	return true, nil
}

// more passes on the whole lines after the offset that end by end, some at a time.
func (s *followed) more(end int64, f Filter, emit func([]Line) error) error {
	if end < s.offset {
		s.offset = 0 // somebody truncated it
	}
	var data []byte
	for size := int64(chunk); s.offset < end; {
		size = min(size, end-s.offset)
		if int64(cap(data)) < size {
			data = make([]byte, size)
		}
		n, err := s.file.ReadAt(data[:size], s.offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		whole := bytes.LastIndexByte(data[:n], '\n') + 1
		if whole == 0 {
			if int64(n) == end-s.offset || n == 0 {
				return nil // a line that is being written
			}
			size *= 2
			continue
		}
		s.offset += int64(whole)
		if found := selected(data[:whole], f); len(found) > 0 {
			if err := emit(found); err != nil {
				return err
			}
		}
	}
	return nil
}
