package nodemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// fenceTimeout bounds the command that fences a node.
const fenceTimeout = 2 * time.Minute

// Fences tells of the lost nodes that may still run an instance of an object, and
// how far their fencing is.
func (m *Monitor) Fences(p object.Path) map[string]orchestrate.FenceState {
	bestEffort := false
	view := m.o.State.View()
	if o := view.Objects[p]; o != nil {
		if i := o.Instances[m.self]; i.Config != nil {
			bestEffort = i.Config.StonithBestEffort
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// What has just happened to the peers counts, looked at or not.
	return orchestrate.FencesOf(m.fences, view, m.self, time.Now().Round(0)).Of(p, bestEffort)
}

// lookAtFences takes in what the view tells of the peers, and returns when a fence
// that failed is due again.
func (m *Monitor) lookAtFences(view *cluster.View) (changed bool, retry time.Time) {
	now := time.Now().Round(0)
	f := orchestrate.FencesOf(m.fences, view, m.self, now)
	f, retry = f.Tick(now)
	return m.setFences(f), retry
}

// setFences replaces the fences, and tells what changed.
func (m *Monitor) setFences(f orchestrate.Fences) (changed bool) {
	if reflect.DeepEqual(m.fences, f) {
		return false
	}
	was, is := m.fences.Told(), f.Told()
	m.fences = f
	if reflect.DeepEqual(was, is) {
		return true
	}
	m.o.State.EditNodeStatus(m.self, func(s *cluster.NodeStatus) { s.Fences = is })
	for node, x := range is {
		if was[node] != x {
			m.o.Bus.Publish(event.NodeFence{Node: m.self, Peer: node, Fence: x})
		}
	}
	return true
}

// Fence fences a lost node before the instance it had of an object is started
// here; it is done once, for all the objects that wait for it.
func (m *Monitor) Fence(ctx context.Context, node string, p object.Path) error {
	m.o.Log.Warn("the node is to be fenced", slog.String("peer", node), slog.String("object", p.String()))
	return m.fence(ctx, node)
}

func (m *Monitor) fence(ctx context.Context, node string) error {
	m.mu.Lock()
	f, begun := m.fences.Begin(node, time.Now().Round(0))
	if !begun {
		running := m.fencing[node]
		m.mu.Unlock()
		if running != nil {
			select {
			case <-running:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return m.fenced(node)
	}
	over := make(chan struct{})
	m.fencing[node] = over
	m.setFences(f)
	m.mu.Unlock()
	m.changed()

	err := m.runFence(ctx, node)
	failure := ""
	if err != nil {
		failure = err.Error()
		m.o.Log.Error("the node could not be fenced: what it ran is not started elsewhere", slog.String("peer", node), slog.Any("err", err))
	} else {
		m.o.Log.Warn("the node is fenced", slog.String("peer", node))
	}
	m.mu.Lock()
	m.setFences(m.fences.End(node, failure, time.Now().Round(0)))
	delete(m.fencing, node)
	close(over)
	m.mu.Unlock()
	m.changed()
	return m.fenced(node)
}

// fenced is why a node is not known to be off; nil when it is.
func (m *Monitor) fenced(node string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, ok := m.fences[node]
	switch {
	case !ok:
		return fmt.Errorf("node %s is heard again: it is not fenced", node)
	case x.State.Blocks() && x.Reason != "":
		return errors.New(x.Reason)
	case x.State.Blocks():
		return fmt.Errorf("the fencing of node %s is %s", node, x.State)
	}
	return nil
}

// runFence runs the command that fences a node. Its arguments may hold a password:
// they are not repeated.
func (m *Monitor) runFence(ctx context.Context, node string) error {
	argv, err := m.o.Stonith(node)
	if err != nil {
		return fmt.Errorf("fence node %s: %w", node, err)
	}
	if len(argv) == 0 {
		return fmt.Errorf("fence node %s: no stonith#%s.command says how: set it, or make sure that the node is off and say so with `om node stonith --node %s --confirmed`",
			node, node, node)
	}
	ctx, cancel := context.WithTimeout(ctx, fenceTimeout)
	defer cancel()
	_, err = m.o.Runner.Run(ctx, host.Cmd{Argv: argv})
	if err == nil {
		return nil
	}
	end := "it does not run"
	if ctx.Err() != nil {
		end = "it has not ended in " + fenceTimeout.String()
	} else if exit := new(host.ExitError); errors.As(err, &exit) {
		end = fmt.Sprintf("exit status %d", exit.Code)
		if words := strings.Fields(exit.Stderr); len(words) > 0 {
			end += ": " + strings.Join(words, " ")
		}
	}
	return fmt.Errorf("fence node %s: the command of stonith#%s failed: %s", node, node, end)
}

// Stonith fences a node because somebody asks for it, or takes note that it is off
// because somebody says so.
func (m *Monitor) Stonith(ctx context.Context, node string, confirmed bool) error {
	view := m.o.State.View()
	switch p := view.Peers[node]; {
	case node == m.self:
		return fmt.Errorf("node %s does not fence itself: ask another node", node)
	case !slices.Contains(view.Config.Nodes, node):
		return fmt.Errorf("%s is no node of the cluster: they are %s", node, strings.Join(view.Config.Nodes, ", "))
	case confirmed && p.Beating:
		return fmt.Errorf("node %s is not off: it is heard", node)
	}
	if confirmed {
		m.o.Log.Warn("an operator says that the node is off", slog.String("peer", node))
		m.confirm(node, orchestrate.FenceOverridden, "an operator said that it is off")
		return nil
	}
	m.o.Log.Warn("the node is fenced on request", slog.String("peer", node))
	if err := m.runFence(ctx, node); err != nil {
		return err
	}
	m.confirm(node, orchestrate.FenceDone, "")
	return nil
}

func (m *Monitor) confirm(node string, state orchestrate.FenceState, reason string) {
	m.mu.Lock()
	m.setFences(m.fences.Confirm(node, state, reason, time.Now().Round(0)))
	m.mu.Unlock()
	m.changed()
}

// changed has those decide again who decide by the fences.
func (m *Monitor) changed() {
	if m.o.Changed != nil {
		m.o.Changed()
	}
	m.wake()
}
