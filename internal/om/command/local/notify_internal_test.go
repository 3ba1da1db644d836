package local

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestADaemonThatWasSilentIsToldNothingMore(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("", "hf") //nolint:usetesting // an address is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	b := New(Options{Process: app.Process{Env: func(name string) string {
		return map[string]string{"OSVC_ROOT_PATH": root}[name]
	}}})
	path := b.host.Paths.Socket()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "web"}

	notifier{b}.Progress(t.Context(), p, "", "starting", false)
	for range 3 {
		notifier{b}.Status(t.Context(), p, cluster.InstanceStatus{})
	}

	// Nobody accepted the calls: they wait in their order, this one behind them.
	last, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = last.Close() })
	if _, err := last.Write([]byte("last")); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		said := make([]byte, 4)
		_, _ = conn.Read(said)
		if _ = conn.Close(); string(said) == "last" {
			break
		}
		calls++
	}
	if calls != 1 {
		t.Errorf("it was called %d times, want once", calls)
	}
}
