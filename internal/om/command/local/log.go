package local

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"

	"github.com/holdfast-ops/holdfast/internal/linux/journal"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/log"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
)

// Logs implements log.Reader: of this node without a daemon, which may be what
// the log is about.
func (b *Backend) Logs(ctx context.Context, q log.Query) iter.Seq2[logbook.Line, error] {
	if q.Nodes == "" && !q.Everywhere {
		return b.own(ctx, q)
	}
	selector := q.Nodes
	if selector == "" {
		selector = "*"
	}
	nodes, err := b.ExpandNodes(ctx, selector)
	switch {
	case err == nil && len(nodes) == 1 && b.isHere(nodes[0]), q.Nodes == "" && (client.IsDown(err) || client.IsHung(err)):
		return b.own(ctx, q)
	case err != nil:
		return func(yield func(logbook.Line, error) bool) { yield(logbook.Line{}, err) }
	}
	return b.Backend.Logs(ctx, q)
}

// own reads the log store of this node.
func (b *Backend) own(ctx context.Context, q log.Query) iter.Seq2[logbook.Line, error] {
	return func(yield func(logbook.Line, error) bool) {
		filter, err := q.Parse()
		if err != nil {
			yield(logbook.Line{}, err)
			return
		}
		left := errors.New("the reader left")
		each := func(lines []logbook.Line) error {
			for _, l := range lines {
				if !yield(l, nil) {
					return left
				}
			}
			return nil
		}
		if q.Follow {
			err = b.book().Follow(ctx, filter, q.Lines, each)
		} else {
			var lines []logbook.Line
			if lines, err = b.book().Read(filter, q.Lines); err == nil {
				err = each(lines)
			}
		}
		if err != nil && !errors.Is(err, left) {
			yield(logbook.Line{}, err)
		}
	}
}

// findJournal is where the journal of the system listens. An agent that lives under
// a root has the journal of that root, if any: it does not fill that of the system.
func (b *Backend) findJournal() *journal.Writer {
	return journal.At(filepath.Join("/", b.host.Paths.Root, journal.Socket))
}

// journalReadsConsole reports whether the lines of the console are read by the journal,
// which gets them with their fields already.
func (b *Backend) journalReadsConsole() bool {
	return b.journal().Exists() && journal.Carries(os.Stderr, b.o.Process.Env("JOURNAL_STREAM"))
}

// fieldName is the field of an attribute in the journal, where filters look for
// the same names as in the store.
func fieldName(key string) string {
	switch key {
	case "object":
		return "OBJ_PATH"
	case "resource":
		return "RID"
	case "oid":
		return "ORCHESTRATION_ID"
	}
	return logbook.JournalField(key)
}
