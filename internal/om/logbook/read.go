package logbook

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Line is one line of the store.
type Line struct {
	At      time.Time `json:"at"`
	Level   string    `json:"level"` // debug, info, warn, error
	Node    string    `json:"node"`
	Path    string    `json:"path,omitempty"`
	RID     string    `json:"rid,omitempty"`
	SID     string    `json:"sid,omitempty"`
	EID     string    `json:"eid,omitempty"`
	OID     string    `json:"oid,omitempty"`
	Message string    `json:"message"`
	Err     string    `json:"err,omitempty"`
	// Raw is the line as stored, every field included.
	Raw json.RawMessage `json:"-"`
}

// ParseLine reads a line of a store.
func ParseLine(data []byte) (Line, error) {
	var l Line
	data = bytes.TrimRight(data, "\r\n")
	if err := json.Unmarshal(data, &l); err != nil {
		return Line{}, err
	}
	l.Raw = bytes.Clone(data)
	return l, nil
}

// mend returns what may be a line in what is none: a disk that is full cuts a line,
// and the next one that is written comes right after it.
func mend(damaged []byte) []byte {
	if at := bytes.LastIndex(damaged, []byte(`{"at":"`)); at > 0 {
		return damaged[at:]
	}
	return nil
}

// lineOf reads a line, as good as it is.
func lineOf(data []byte) (Line, bool) {
	l, err := ParseLine(data)
	if err != nil {
		l, err = ParseLine(mend(data))
	}
	return l, err == nil
}

// Read returns the last lines selected, oldest first; lines <= 0 is all of them.
// What is no line of the store (a disk filled in the middle of one) is passed over.
func (b *Book) Read(f Filter, lines int) ([]Line, error) {
	segments, err := b.snapshot()
	if err != nil {
		return nil, err
	}
	defer closeAll(segments)
	return read(segments, f, lines)
}

// read returns the last lines of the segments.
func read(segments []*segment, f Filter, lines int) ([]Line, error) {
	var blocks [][]Line
	count := 0
	visit := func(data []byte) error {
		found := selected(data, f)
		blocks = append(blocks, found)
		if count += len(found); lines > 0 && count >= lines {
			return errEnough
		}
		return nil
	}
	for _, s := range slices.Backward(segments) {
		if err := s.backward(f, visit); errors.Is(err, errEnough) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	slices.Reverse(blocks)
	all := slices.Concat(blocks...)
	if lines > 0 && len(all) > lines {
		all = all[len(all)-lines:]
	}
	return all, nil
}

// selected returns the lines that f selects.
func selected(data []byte, f Filter) []Line {
	quick := f.quick()
	if !quick.may(data) {
		return nil
	}
	var found []Line
	for line := range bytes.Lines(data) {
		if !quick.may(line) {
			continue
		}
		if l, ok := lineOf(line); ok && f.Match(l) {
			found = append(found, l)
		}
	}
	return found
}
