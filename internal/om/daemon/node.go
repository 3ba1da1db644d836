package daemon

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/load"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// measurePeriod is how often the load of the node is measured.
const measurePeriod = time.Minute

// node says what this node is and does.
type node struct {
	name  string
	state *state.State
	log   *slog.Logger
}

// start publishes a node that has decided nothing yet.
func (n *node) start(status cluster.NodeStatus) {
	status.Arbitrators, status.Gen = map[string]cluster.ArbitratorStatus{}, map[string]uint64{}
	n.state.SetNodeStatus(n.name, status)
	now := time.Now().Round(0)
	n.state.SetNodeMonitor(n.name, cluster.NodeMonitor{
		State: orchestrate.StateInit, StateUpdatedAt: now, UpdatedAt: now, GlobalExpect: orchestrate.None, LocalExpect: orchestrate.None,
	})
}

// measure publishes the load of the node, now and every minute.
func (n *node) measure(ctx context.Context) error {
	tick := time.NewTicker(measurePeriod)
	defer tick.Stop()
	for {
		l, err := load.Read(load.Proc)
		if err != nil {
			n.log.Debug("measure the load", slog.Any("err", err))
		} else {
			n.state.SetNodeStats(n.name, stats(l))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// stats gives a load its score: the higher, the better placed the node is to
// take more.
func stats(l load.Load) cluster.NodeStats {
	mem, swap := l.Mem.Percent(), l.Swap.Percent()
	idle := uint64(100 / max(l.Average15, 1))
	return cluster.NodeStats{
		Load15M: l.Average15, MemTotalMB: l.Mem.Total >> 20, MemAvailPct: mem, SwapTotalMB: l.Swap.Total >> 20, SwapAvailPct: swap,
		Score: (idle + (100 + mem) + 2*(100+swap)) / 7,
	}
}

// inherited is the environment the children of the daemon start from: what they
// need of that of the daemon, and nothing of the shell it was started from.
func inherited(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !strings.HasPrefix(name, "LC_") && !slices.Contains([]string{"PATH", "LANG", "TZ", "HOME", "OSVC_ROOT_PATH"}, name)
	})
}
