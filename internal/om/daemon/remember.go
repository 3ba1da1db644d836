package daemon

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
)

// historyFile keeps what was asked of a daemon and what became of it, for the
// daemons after it.
func historyFile(paths host.Paths, name string) string {
	return filepath.Join(paths.Var(), "history", name)
}

// outcomes tells from the log how a run ended that no daemon saw end: an action says
// so itself.
func outcomes(book *logbook.Book) func(execID string) (reason string, failed, known bool) {
	return func(execID string) (string, bool, bool) {
		lines, err := book.Read(logbook.Filter{Level: "info"}.Where("eid", execID), 0)
		if err != nil {
			return "", false, false
		}
		for _, l := range slices.Backward(lines) {
			switch {
			case strings.HasPrefix(l.Message, "<<< done "):
				return "", false, true
			case strings.HasPrefix(l.Message, "<<< failed "):
				return l.Text(), true, true
			}
		}
		return "", false, false
	}
}
