package daemon

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// leftover is the name of what an atomic replacement of a file of the agent leaves
// when its process is killed: a dot, the name of the file, and a number.
var leftover = regexp.MustCompile(`^\.(status\.json|provisioned|last_boot_id|last_run|ungrouped|execs|orchestrations|osvcd\.pid|[a-z0-9-]+\.json)\.?[0-9]+$`)

// leftoverAge is how long before the start of the daemon a leftover was last
// written: commands that run beside it replace such files as well.
const leftoverAge = time.Minute

// removeLeftovers removes the temporary files of processes that were killed, from
// the directories where the agent keeps what it knows: those of instances, one for
// each of their resources, of the node and of the histories. Nothing else is
// looked at, nor anybody else's files.
func removeLeftovers(paths host.Paths, began time.Time, log *slog.Logger) {
	removed := 0
	var failed error
	for _, dir := range []struct {
		name  string
		depth int // of the directories below
	}{{"", 0}, {"node", 0}, {"history", 0}, {"namespaces", 4}} {
		n, err := removeLeftoversIn(filepath.Join(paths.Var(), dir.name), dir.depth, began.Add(-leftoverAge))
		removed, failed = removed+n, errors.Join(failed, err)
	}
	for _, kind := range object.Kinds() {
		n, err := removeLeftoversIn(filepath.Join(paths.Var(), string(kind)), 2, began.Add(-leftoverAge))
		removed, failed = removed+n, errors.Join(failed, err)
	}
	if removed > 0 {
		log.Info("temporary files of processes that were killed are removed", slog.Int("files", removed))
	}
	if failed != nil {
		log.Warn("temporary files of processes that were killed are left", slog.Any("err", failed))
	}
}

func removeLeftoversIn(dir string, depth int, before time.Time) (removed int, failed error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			err = nil
		}
		return 0, err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth > 0 && !strings.HasPrefix(e.Name(), "."):
			n, err := removeLeftoversIn(name, depth-1, before)
			removed, failed = removed+n, errors.Join(failed, err)
		case e.Type().IsRegular() && leftover.MatchString(e.Name()):
			info, err := e.Info()
			if err != nil || !info.ModTime().Before(before) || !own(info) {
				continue
			}
			if err := os.Remove(name); err == nil {
				removed++
			} else if !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
	}
	return removed, failed
}

// own reports whether a file is of the account of this process, and has no other name.
func own(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && st.Nlink == 1
}
