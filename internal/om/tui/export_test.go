package tui

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// Live says that the cluster is connected.
func Live(at time.Time) screen.Msg { return linkMsg{state: live, at: at} }

// Lost says that it is not any more.
func Lost(err error, at time.Time) screen.Msg {
	return linkMsg{state: lost, err: err, at: at, again: time.Second}
}

// Done says how an action of the present connection ended.
func (m Model) Done(text string, err error, at time.Time) screen.Msg {
	return doneMsg{gen: m.gen, text: text, err: err, at: at}
}

// News is the state of the cluster.
func News(s api.ClusterStatus, events []api.Event, at time.Time) screen.Msg {
	told := make([]happening, len(events))
	for i, e := range events {
		told[i] = tell(e)
	}
	return newsMsg{status: s, events: told, at: at}
}

// Apply takes events into a state.
func Apply(s api.ClusterStatus, events ...api.Event) (api.ClusterStatus, bool) {
	p := picture{status: whole(s)}
	again := false
	for _, e := range events {
		again = p.apply(e) || again
	}
	return p.snapshot(), again
}

// Generation counts the connections.
func (m Model) Generation() int { return m.gen }

// LinkCommand is the name of the command that keeps the connection.
const LinkCommand = linkCommand
