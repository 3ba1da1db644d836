package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/om/client"
)

// unreachable says that a daemon runs which cannot be asked anything, if one
// does: its lock tells, whatever became of its socket. answer is what asking gave.
func (b *Backend) unreachable(answer error) error {
	name := filepath.Join(b.host.Paths.Locks(), "daemon")
	lock, err := os.Open(name)
	if err != nil {
		return nil // no lock, no daemon
	}
	defer lock.Close() //nolint:errcheck // only read
	// Shared and for an instant: a daemon that starts waits longer than that.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(lock, 32))
	pid := strings.TrimSpace(string(text))
	if pid == "" {
		pid = "unknown"
	}
	what := "nobody answers on its socket " + b.host.Paths.Socket()
	end := "kill " + pid
	if client.IsHung(answer) {
		what, end = "it does not answer", "kill -9 "+pid
	}
	return fmt.Errorf("the daemon runs, process %s holds %s, but %s: end it with %s, services keep running", pid, name, what, end)
}
