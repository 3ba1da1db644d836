package membership

import (
	"context"
	"log/slog"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// Stopping returns the options of a manager that calls step along an order.
func Stopping(o Options, step func(string)) Options {
	o.step = step
	return o
}

// ResumeStopping is [Resume] that calls step along the way.
func ResumeStopping(paths host.Paths, log *slog.Logger, step func(string)) error {
	return resume(paths, log, step)
}

// Work carries out the order there is, as [Manager.Run] does; false: there is none.
func (m *Manager) Work(ctx context.Context) bool {
	m.recall()
	select {
	case o := <-m.orders:
		m.do(ctx, o)
		return true
	default:
		return false
	}
}

// Pending tells how far an order is, "" when there is none.
func Pending(paths host.Paths) string {
	o, err := files{paths}.load()
	if o == nil || err != nil {
		return ""
	}
	return o.State
}
