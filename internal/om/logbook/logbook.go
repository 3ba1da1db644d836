// Package logbook keeps the logs of the agent: a store of structured lines, one
// JSON object each, rotated by size, that every process of the agent appends to;
// and the console form of the same lines.
package logbook

import (
	"io"
	"log/slog"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// Book is the log store of a node. Several processes may append at once.
type Book struct{ dir string }

// Open returns the store under the log directory of the agent. Nothing is
// created before the first line.
func Open(paths host.Paths) *Book { return &Book{dir: paths.Log()} }

// Handler appends to the store; node is the name of the node in the lines.
func (b *Book) Handler(node string, level slog.Leveler) slog.Handler { panic("to write") }

// ConsoleOptions tell how lines look.
type ConsoleOptions struct {
	Color bool
	Level slog.Leveler // nil: info
}

// Console writes lines as "10:51:50.590 INF svc0: app#1: message".
func Console(w io.Writer, o ConsoleOptions) slog.Handler { panic("to write") }

// Tee sends each line to every handler that wants it.
func Tee(handlers ...slog.Handler) slog.Handler { return slog.NewMultiHandler(handlers...) }
