package local

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/linux/journal"
	"github.com/holdfast-ops/holdfast/internal/om/command/log"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
)

// With a journal, lines go to both: the same filter finds them in either.
func TestLinesGoToTheJournalWhenThereIsOne(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("", "hf") //nolint:usetesting // an address is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	socket := filepath.Join(root, journal.Socket)
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	b := New(Options{Process: app.Process{Hostname: "n1", Env: func(name string) string {
		return map[string]string{"OSVC_ROOT_PATH": root}[name]
	}}})

	b.logger(nil).Error("stop", slog.String("object", "web"), slog.String("resource", "app#1"), slog.String("sid", "s1"),
		slog.String("oid", "o1"), slog.String("action", "stop"), slog.Any("err", errors.New("no luck")))

	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	entry := make([]byte, 1<<16)
	n, err := conn.Read(entry)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(entry[:n])), "\n")
	slices.Sort(got)
	want := []string{
		"ACTION=stop", "ERR=no luck", "MESSAGE=stop: no luck", "NODE=n1", "OBJ_PATH=web", "ORCHESTRATION_ID=o1",
		"PRIORITY=3", "RID=app#1", "SID=s1", "SYSLOG_IDENTIFIER=om",
	}
	if !slices.Equal(got, want) {
		t.Errorf("entry %q, want %q", got, want)
	}

	q := log.Query{Query: logbook.Query{Filter: []string{"OBJ_PATH=web", "RID=app#1", "SID=s1", "ORCHESTRATION_ID=o1", "ACTION=stop", "NODE=n1"}}}
	found := 0
	for l, err := range b.Logs(t.Context(), q) {
		if err != nil || l.Text() != "stop: no luck" {
			t.Errorf("line %+v, %v", l, err)
		}
		found++
	}
	if found != 1 {
		t.Errorf("%d lines in the store, want one", found)
	}
}
