package tui

import (
	"context"
	"iter"

	"github.com/holdfast-ops/holdfast/internal/om/command/log"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// lastLines is how many lines of a log are shown before those that come.
const lastLines = 500

// Logs implements Cluster.
func (d distant) Logs(ctx context.Context, node string, p object.Path) iter.Seq2[LogLine, error] {
	q := log.Query{Nodes: node, Lines: lastLines, Follow: true}
	if !p.IsZero() {
		q.Objects = []object.Path{p}
		q.Paths = []string{p.String()}
	}
	return func(yield func(LogLine, error) bool) {
		for l, err := range d.Backend.Logs(ctx, q) {
			if !yield(LogLine{At: l.At, Level: l.Level, Object: l.Path, Rid: l.RID, Message: l.Text() + log.Facts(l.Raw)}, err) {
				return
			}
		}
	}
}
