package journal_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/linux/journal"
)

// daemon is a journal: it receives entries as the one of systemd does.
type daemon struct {
	path string
	conn *net.UnixConn
}

func newDaemon(t *testing.T) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "hf") //nolint:usetesting // an address is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &daemon{path: filepath.Join(dir, "socket")}
	d.start(t)
	return d
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: d.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	d.conn = conn
	t.Cleanup(func() { _ = conn.Close() })
}

// entry receives one entry, from the datagram or from the file it carries.
func (d *daemon) entry(t *testing.T) map[string]string {
	t.Helper()
	if err := d.conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	data, oob := make([]byte, 1<<20), make([]byte, 1<<10)
	n, oobn, _, _, err := d.conn.ReadMsgUnix(data, oob)
	if err != nil {
		t.Fatal(err)
	}
	if oobn == 0 {
		return decode(t, data[:n])
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		t.Fatalf("%d control messages, %v", len(messages), err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("descriptors %v, %v", fds, err)
	}
	file := os.NewFile(uintptr(fds[0]), "entry")
	defer func() { _ = file.Close() }()
	if _, err := file.WriteAt([]byte("x"), 0); err == nil {
		t.Error("the file can still be changed")
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, content)
}

// decode reads an entry of the native protocol.
func decode(t rapid.TB, data []byte) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for len(data) > 0 {
		line, rest, ok := strings.Cut(string(data), "\n")
		if !ok {
			t.Fatalf("field %q has no end", data)
		}
		if name, value, ok := strings.Cut(line, "="); ok {
			fields[name], data = value, []byte(rest)
			continue
		}
		if len(rest) < 8 {
			t.Fatalf("field %q has no length", line)
		}
		size := binary.LittleEndian.Uint64([]byte(rest))
		rest = rest[8:]
		if uint64(len(rest)) < size+1 || rest[size] != '\n' {
			t.Fatalf("field %q is shorter than %d", line, size)
		}
		fields[line], data = rest[:size], []byte(rest[size+1:])
	}
	return fields
}

func TestEntriesAreReadBackAsTheyWereSent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.StringMatching(`[A-Z][A-Z0-9_]{0,10}`), rapid.String()).Draw(t, "fields")
		var fields []journal.Field
		for _, name := range slices.Sorted(maps.Keys(want)) {
			fields = append(fields, journal.Field{Name: name, Value: want[name]})
		}
		data, err := journal.Encode(fields)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, decode(t, data)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNamesTheJournalDropsAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "_PID", "lower", "A-B", "1A", strings.Repeat("A", 65), "É"} {
		if _, err := journal.Encode([]journal.Field{{Name: name, Value: "x"}}); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

func TestARecordBecomesAnEntry(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	w := journal.At(d.path)
	defer func() { _ = w.Close() }()
	log := slog.New(journal.NewHandler(w, journal.HandlerOptions{
		Identifier: "om", Fields: []journal.Field{{Name: "NODE", Value: "n1"}},
		Name: func(key string) string {
			if key == "object" {
				return "OBJ_PATH"
			}
			return strings.ToUpper(key)
		},
	}))

	log.Debug("not this")
	log.With(slog.String("object", "web")).WithGroup("g").Warn("stop", slog.Int("n", 1))
	log.Error("stop\nnow", slog.Any("err", errors.New("no luck")), slog.String("sid", ""))

	if diff := cmp.Diff(map[string]string{
		"MESSAGE": "stop", "PRIORITY": "4", "SYSLOG_IDENTIFIER": "om", "NODE": "n1", "OBJ_PATH": "web", "G_N": "1",
	}, d.entry(t)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{
		"MESSAGE": "stop\nnow: no luck", "PRIORITY": "3", "SYSLOG_IDENTIFIER": "om", "NODE": "n1", "ERR": "no luck",
	}, d.entry(t)); diff != "" {
		t.Error(diff)
	}
}

func TestAnEntryTooLargeForADatagramIsAFile(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	w := journal.At(d.path)
	defer func() { _ = w.Close() }()
	want := strings.Repeat("x", 8<<20)
	if err := w.Send(journal.Field{Name: "MESSAGE", Value: want}); err != nil {
		t.Fatal(err)
	}
	if got := d.entry(t)["MESSAGE"]; got != want {
		t.Errorf("%d bytes arrived, want %d", len(got), len(want))
	}
}

func TestAJournalThatWasRestartedIsFoundAgain(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	w := journal.At(d.path)
	defer func() { _ = w.Close() }()
	if err := w.Send(journal.Field{Name: "MESSAGE", Value: "one"}); err != nil {
		t.Fatal(err)
	}
	d.entry(t)
	if err := d.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	d.start(t)

	if err := w.Send(journal.Field{Name: "MESSAGE", Value: "two"}); err != nil {
		t.Fatal(err)
	}
	if got := d.entry(t)["MESSAGE"]; got != "two" {
		t.Errorf("got %q", got)
	}
}

// A journal that takes nothing holds who logs once, not at each entry.
func TestAJournalThatHangsHoldsNobody(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	w := journal.At(d.path)
	defer func() { _ = w.Close() }()
	entry := journal.Field{Name: "MESSAGE", Value: strings.Repeat("x", 1000)}
	var err error
	for range 100_000 { // until the queue of the socket is full
		if err = w.Send(entry); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a full queue: %v", err)
	}
	if err := w.Send(entry); !errors.Is(err, journal.ErrRest) {
		t.Errorf("then: %v", err)
	}
}

func TestWithoutAJournalThereIsNone(t *testing.T) {
	t.Parallel()
	w := journal.At(filepath.Join(t.TempDir(), "none"))
	if w.Exists() {
		t.Error("it exists")
	}
	if err := w.Send(journal.Field{Name: "MESSAGE", Value: "x"}); err == nil {
		t.Error("somebody took the entry")
	}
	if !journal.At(newDaemon(t).path).Exists() {
		t.Error("one that is there is not found")
	}
}

func TestAFileThatGoesToTheJournalIsKnown(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var s syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &s); err != nil {
		t.Fatal(err)
	}
	stream := fmt.Sprintf("%d:%d", s.Dev, s.Ino)
	if !journal.Carries(file, stream) {
		t.Errorf("%s is not recognised", stream)
	}
	for _, other := range []string{"", "1:2", stream + "1", "nonsense"} {
		if journal.Carries(file, other) {
			t.Errorf("%q is taken for it", other)
		}
	}
}
