// Package logbook keeps the logs of the agent: a store of structured lines, one
// JSON object each, rotated by size, that every process of the agent appends to;
// and the console form of the same lines.
//
// A line is written by one call on a file opened for appending, so lines of
// several processes never mix. The store needs no journal and no daemon.
//
//	om.log          the segment appended to
//	om.log.000017   a closed segment; a higher number is a later one
//	om.log.000017.idx   what its blocks hold, made by the first reader; may be missing
//
// A segment is renamed once, when it is closed, and never changes name again: who
// reads or follows it while it is rotated misses nothing, and its index stays its own.
package logbook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// Limits of the store: it takes at most about (Kept+1) * MaxSize bytes.
const (
	MaxSize = 10 << 20
	Kept    = 5
)

// Book is the log store of a node. Several processes may append at once.
type Book struct {
	dir  string
	size int64

	mu   sync.Mutex
	file *os.File
	node string // in the lines of the store about itself
	torn bool   // the last line ends in the middle
	lost lost
}

// lost counts the lines that could not be written, until one can be.
type lost struct {
	lines int
	since time.Time
	err   error
}

// Open returns the store under the log directory of the agent. Nothing is
// created before the first line.
func Open(paths host.Paths) *Book { return &Book{dir: paths.Log(), size: MaxSize} }

// WithMaxSize returns a store that rotates at another size.
func (b *Book) WithMaxSize(bytes int64) *Book { return &Book{dir: b.dir, size: bytes} }

// Close closes the file being appended to. A later line opens it again.
func (b *Book) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.close()
}

func (b *Book) close() error {
	if b.file == nil {
		return nil
	}
	f := b.file
	b.file = nil
	return f.Close()
}

// Handler appends to the store; node is the name of the node in the lines. The
// attributes "object" and "resource" become the fields path and rid.
func (b *Book) Handler(node string, level slog.Leveler) slog.Handler {
	h := slog.NewJSONHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) > 0 {
			return a
		}
		switch a.Key {
		case slog.TimeKey:
			a.Key = "at"
		case slog.LevelKey:
			a.Value = slog.StringValue(levelWord(a.Value))
		case slog.MessageKey:
			a.Key = "message"
		case "object":
			a.Key = "path"
		case "resource":
			a.Key = "rid"
		}
		return a
	}})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.node = node
	return h.WithAttrs([]slog.Attr{slog.String("node", node)})
}

func levelWord(v slog.Value) string {
	l, ok := v.Any().(slog.Level)
	switch {
	case !ok:
		return v.String()
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warn"
	case l >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}

// Tee sends each line to every handler that wants it.
func Tee(handlers ...slog.Handler) slog.Handler { return slog.NewMultiHandler(handlers...) }

// Write appends one line. It implements [io.Writer] for the handlers; a failure
// is that of the line only, the next one tries again. Lines that were lost, because
// the disk was full, are told by the first one that is written after them.
func (b *Book) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.confess(); err != nil {
		return 0, b.lose(err)
	}
	if err := b.append(line); err != nil {
		return 0, b.lose(err)
	}
	return len(line), nil
}

// confess writes that lines were lost.
func (b *Book) confess() error {
	if b.lost.lines == 0 {
		return nil
	}
	line, err := json.Marshal(struct {
		At      time.Time `json:"at"`
		Level   string    `json:"level"`
		Message string    `json:"message"`
		Node    string    `json:"node"`
		Lost    int       `json:"lost"`
		Since   time.Time `json:"since"`
		Err     string    `json:"err"`
	}{time.Now(), "warn", "lines of the log were lost", b.node, b.lost.lines, b.lost.since, b.lost.err.Error()})
	if err == nil {
		err = b.append(append(line, '\n'))
	}
	if err == nil {
		b.lost = lost{}
	}
	return err
}

func (b *Book) lose(err error) error {
	if b.lost.lines == 0 {
		b.lost.since, b.lost.err = time.Now(), err
	}
	b.lost.lines++
	return fmt.Errorf("log store: %w", err)
}

func (b *Book) append(line []byte) error {
	if err := b.prepare(int64(len(line))); err != nil {
		return err
	}
	if b.torn { // the rest of the line before will never come
		line = append([]byte{'\n'}, line...)
	}
	n, err := b.file.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	b.torn = err != nil && (n > 0 || b.torn)
	return err
}

func (b *Book) open() (*os.File, error) {
	if err := os.MkdirAll(b.dir, 0o755); err != nil { //nolint:gosec // logs of a host are readable by its group tools
		return nil, err
	}
	return os.OpenFile(b.name(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640) //nolint:gosec // readable by the group of the operators
}

// prepare makes b.file the current file, with room for one more line.
func (b *Book) prepare(more int64) error {
	for range 2 {
		if b.file == nil {
			f, err := b.open()
			if err != nil {
				return err
			}
			b.file = f
		}
		mine, err := b.file.Stat()
		if err != nil {
			return errors.Join(err, b.close())
		}
		current, err := os.Stat(b.name())
		switch {
		case err != nil || !os.SameFile(mine, current):
			// Another process rotated it.
			if err := b.close(); err != nil {
				return err
			}
		case mine.Size() > 0 && mine.Size()+more > b.size:
			if err := b.rotate(current); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	if b.file == nil {
		f, err := b.open()
		b.file = f
		return err
	}
	return nil
}

// rotate closes the segment and drops the oldest ones, unless another process just did.
func (b *Book) rotate(full os.FileInfo) (err error) {
	lock, err := os.OpenFile(filepath.Join(b.dir, ".om.log.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	if current, err := os.Stat(b.name()); err == nil && os.SameFile(full, current) {
		closed, err := b.closed()
		if err != nil {
			return err
		}
		next := 1
		if len(closed) > 0 {
			next = closed[len(closed)-1] + 1
		}
		if err := os.Rename(b.name(), b.numbered(next)); err != nil {
			return err
		}
		for _, n := range closed[:max(0, len(closed)+1-Kept)] {
			if err := b.drop(n); err != nil {
				return err
			}
		}
	}
	return b.close()
}
