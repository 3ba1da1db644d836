// Package journal writes to the journal of systemd, by its native protocol: an
// entry is a datagram of fields on a socket, or a sealed memory file when it is
// larger than a datagram may be.
//
// Whoever logs must not wait for the journal: an entry that is not taken at once
// is lost, and for a while nothing more is tried.
package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Socket is where the journal of the system listens.
const Socket = "/run/systemd/journal/socket"

const (
	// patience is how long a journal that takes nothing may hold an entry.
	patience = 100 * time.Millisecond
	// rest is how long it is then left alone.
	rest = 10 * time.Second
)

// Field is one field of an entry.
type Field struct{ Name, Value string }

// Writer sends entries. It is safe for concurrent use.
type Writer struct {
	path string

	mu    sync.Mutex
	conn  *net.UnixConn
	until time.Time // nothing is tried before
}

// At returns a writer to the socket of a journal. It connects at the first entry.
func At(path string) *Writer { return &Writer{path: path} }

// Exists reports whether there is a journal.
func (w *Writer) Exists() bool {
	info, err := os.Stat(w.path)
	return err == nil && info.Mode().Type() == os.ModeSocket
}

// Close closes the connection. A later entry opens another.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.close()
}

func (w *Writer) close() error {
	if w.conn == nil {
		return nil
	}
	conn := w.conn
	w.conn = nil
	return conn.Close()
}

// ErrRest is the error of an entry that is not tried: the journal took nothing a
// moment ago.
var ErrRest = errors.New("the journal takes no entry for now")

// Send sends an entry.
func (w *Writer) Send(fields ...Field) error {
	entry, err := Encode(fields)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.until) {
		return ErrRest
	}
	err = w.send(entry)
	if gone(err) { // the journal was restarted
		err = errors.Join(w.close(), w.send(entry))
	}
	if err != nil {
		w.until = time.Now().Add(rest)
		return fmt.Errorf("journal %s: %w", w.path, err)
	}
	return nil
}

func (w *Writer) send(entry []byte) error {
	if w.conn == nil {
		conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: w.path, Net: "unixgram"})
		if err != nil {
			return err
		}
		w.conn = conn
	}
	if err := w.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := w.conn.Write(entry)
	if errors.Is(err, syscall.EMSGSIZE) || errors.Is(err, syscall.ENOBUFS) {
		return w.sendFile(entry)
	}
	return err
}

func gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTCONN) || errors.Is(err, net.ErrClosed)
}

// sendFile sends an entry as the content of a file in memory.
func (w *Writer) sendFile(entry []byte) (err error) {
	file, err := sealed(entry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	raw, err := w.conn.SyscallConn()
	if err != nil {
		return err
	}
	rights := syscall.UnixRights(int(file.Fd()))
	var sendErr error
	err = raw.Write(func(fd uintptr) bool {
		sendErr = syscall.Sendmsg(int(fd), nil, rights, nil, 0)
		return !errors.Is(sendErr, syscall.EAGAIN)
	})
	return errors.Join(err, sendErr)
}

// Encode lays an entry out. A field whose name the journal would drop is an error.
func Encode(fields []Field) ([]byte, error) {
	var b bytes.Buffer
	for _, f := range fields {
		if !ValidName(f.Name) {
			return nil, fmt.Errorf("journal field %q: a name is made of A-Z, 0-9 and _, begins with a letter, and has 64 of them at most", f.Name)
		}
		b.WriteString(f.Name)
		if !strings.Contains(f.Value, "\n") {
			b.WriteByte('=')
			b.WriteString(f.Value)
			b.WriteByte('\n')
			continue
		}
		b.WriteByte('\n')
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(len(f.Value)))
		b.Write(length[:])
		b.WriteString(f.Value)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// ValidName reports whether clients may name a field so.
func ValidName(name string) bool {
	if name == "" || len(name) > 64 || name[0] < 'A' || name[0] > 'Z' {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}
