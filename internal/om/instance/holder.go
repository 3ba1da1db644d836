package instance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// LockHolder tells the action of the process that holds the action lock of the
// local instance; empty when none does. It does not stand in the way of who takes
// the lock meanwhile: only a lock that somebody wrote in is tried, and held that
// instant if its holder has died.
func (e *Engine) LockHolder(p object.Path) (action string) {
	name := filepath.Join(e.flags(p).dir, "lock", "generic")
	b, err := os.ReadFile(name)
	if err != nil || len(b) == 0 {
		return ""
	}
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // nothing was written
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		return "" // left by a crash
	}
	var h holder
	if json.Unmarshal([]byte(strings.TrimSpace(string(b))), &h) != nil || h.Intent == "" {
		return "unknown"
	}
	return h.Intent
}
