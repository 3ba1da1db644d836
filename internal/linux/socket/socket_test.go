package socket_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
)

func TestSocket(t *testing.T) {
	t.Parallel()
	for name, sub := range map[string]string{"short": "s", "longer than an address holds": strings.Repeat("d", 120)} {
		t.Run("a socket of a "+name+" path is listened on, reached, and removed at the end", func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), sub)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "http.sock")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err) // a stale file is no obstacle
			}

			l, err := socket.Listen(path)
			if err != nil {
				t.Fatal(err)
			}
			accepted := make(chan net.Conn, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					t.Error(err)
				}
				accepted <- conn
			}()
			client, err := socket.Dial(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			server := <-accepted
			defer func() { _ = server.Close() }()

			peer, err := socket.PeerOf(server)
			if err != nil {
				t.Fatal(err)
			}
			if peer.UID != os.Getuid() || peer.Pid != os.Getpid() {
				t.Errorf("peer is %+v, want this process", peer)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("the socket file remains: %v", err)
			}
		})
	}

	t.Run("a missing socket is an error naming it", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "none")
		if _, err := socket.Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("a directory in the place of the socket is an error saying what to do", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "http.sock")
		if err := os.MkdirAll(filepath.Join(path, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := socket.Listen(path); err == nil || !strings.Contains(err.Error(), path+": a directory that holds something is there: move it away") {
			t.Errorf("got %v", err)
		}
	})

	t.Run("the socket of another process is not removed", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "http.sock")
		first, err := socket.Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		second, err := socket.Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = second.Close() }()
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	})
}
