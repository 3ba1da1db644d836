package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/load"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
)

// measurePeriod is how often the load of the node is measured.
const measurePeriod = time.Minute

// node says what this node is and does.
type node struct {
	name  string
	state *state.State
	log   *slog.Logger
}

// start publishes a node that is alone in its cluster, and idle.
func (n *node) start(status cluster.NodeStatus) {
	status.Arbitrators, status.Gen = map[string]cluster.ArbitratorStatus{}, map[string]uint64{}
	n.state.SetNodeStatus(n.name, status)
	n.set("idle")
}

// set publishes the state of the monitor of the node.
func (n *node) set(monitor string) {
	n.publish(cluster.NodeMonitor{State: monitor})
}

// publish publishes what the node does, and is expected to do: nothing, unless v
// says so.
func (n *node) publish(v cluster.NodeMonitor) {
	now := time.Now()
	v.GlobalExpect, v.LocalExpect = cmp.Or(v.GlobalExpect, "none"), cmp.Or(v.LocalExpect, "none")
	v.StateUpdatedAt, v.UpdatedAt = now, now
	n.state.SetNodeMonitor(n.name, v)
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
