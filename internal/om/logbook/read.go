package logbook

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path"
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

// Filter selects lines. A zero field selects all.
type Filter struct {
	Paths []string // object paths as printed; any of them
	RID   string   // glob
	SID   string
	EID   string
	OID   string
	Level string // the least severe level wanted
	Since time.Time
}

// Match reports whether the line is selected.
func (f Filter) Match(l Line) bool {
	if len(f.Paths) > 0 {
		found := false
		for _, p := range f.Paths {
			found = found || p == l.Path
		}
		if !found {
			return false
		}
	}
	if f.RID != "" {
		if ok, err := path.Match(f.RID, l.RID); err != nil || !ok {
			return false
		}
	}
	same := func(want, have string) bool { return want == "" || want == have }
	return same(f.SID, l.SID) && same(f.EID, l.EID) && same(f.OID, l.OID) &&
		severity(l.Level) >= severity(f.Level) && !l.At.Before(f.Since)
}

func severity(level string) int {
	switch level {
	case "error":
		return 3
	case "warn":
		return 2
	case "info":
		return 1
	}
	return 0
}

// Read returns the last lines selected, oldest first; lines <= 0 is all of them.
// What is no line of the store (a disk filled in the middle of one) is passed over.
func (b *Book) Read(f Filter, lines int) ([]Line, error) {
	var found []Line
	for n := Kept; n >= 0; n-- {
		name := b.name()
		if n > 0 {
			name = b.numbered(n)
		}
		err := eachLine(name, func(l Line) {
			if !f.Match(l) {
				return
			}
			found = append(found, l)
			if lines > 0 && len(found) >= 2*lines {
				found = append(found[:0:0], found[len(found)-lines:]...)
			}
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	if lines > 0 && len(found) > lines {
		found = found[len(found)-lines:]
	}
	return found, nil
}

func eachLine(name string, visit func(Line)) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, MaxSize)
	for scanner.Scan() {
		var l Line
		if json.Unmarshal(scanner.Bytes(), &l) != nil {
			continue
		}
		l.Raw = append(json.RawMessage(nil), scanner.Bytes()...)
		visit(l)
	}
	return scanner.Err()
}
