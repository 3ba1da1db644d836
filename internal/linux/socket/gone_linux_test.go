package socket_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
)

// connectTo names the socket that the test binary connects to, as a process of its own.
const connectTo = "SOCKET_TEST_CONNECT"

func TestConnectAndEnd(t *testing.T) { //nolint:paralleltest // the other process, not a test
	path, isChild := os.LookupEnv(connectTo)
	if !isChild {
		return
	}
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path); err != nil {
		t.Fatal(err)
	}
}

// A process that ended is in no group any more, whether its number is still kept for
// its parent, or is free for another process.
func TestAPeerThatIsGoneIsInNoGroup(t *testing.T) {
	t.Parallel()
	for name, reap := range map[string]bool{"not waited for": false, "waited for": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "s")
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			p, err := os.StartProcess(self, []string{self, "-test.run=^TestConnectAndEnd$"}, &os.ProcAttr{Env: append(os.Environ(), connectTo+"="+path)})
			if err != nil {
				t.Fatal(err)
			}
			if reap {
				if state, err := p.Wait(); err != nil || !state.Success() {
					t.Fatal(state, err)
				}
			}
			if err := l.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if !reap {
				// The end of the process closes its side; it is then left unwaited for.
				if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				_, _ = conn.Read(make([]byte, 1))
				defer func() { _, _ = p.Wait() }()
			}
			limit := time.Now().Add(time.Minute)
			for {
				groups, err := socket.ControlGroups(conn)
				if errors.Is(err, socket.ErrNoPidfd) {
					t.Skip("needs Linux 6.5")
				}
				if err != nil {
					if strings.Contains(err.Error(), "is no control group") {
						t.Error(err)
					}
					return
				}
				if reap || time.Now().After(limit) { // between the close and the end there is a moment
					t.Fatalf("it is in %q", groups)
				}
			}
		})
	}
}
