package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// sessions folds the runs of every node by session.
type sessions struct{ execs }

// session is one submitted command, whole.
type session struct {
	SessionID string     `json:"session_id"`
	State     string     `json:"state"`
	Execs     int        `json:"execs"`
	Failed    int        `json:"failed"`
	Nodes     []string   `json:"nodes"`
	Objects   []string   `json:"objects"`
	Origin    string     `json:"origin"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Duration  string     `json:"duration"`
	Command   string     `json:"command"`
}

func (s *sessions) Flags(f *pflag.FlagSet) {
	s.filters(f)
	f.StringVar(&s.query.State, "state", "", "only the sessions in this `state`: running, succeeded or failed")
	f.Lookup("node").Usage = "as these `nodes` know them, every node by default"
}

func (s *sessions) unknown(ctx context.Context) error {
	nodes, err := s.asked(ctx)
	if err != nil {
		return err
	}
	return fmt.Errorf("session %s is no longer known on %s: it ended long enough ago to have been dropped, or nothing was submitted there",
		s.query.SessionID, strings.Join(nodes, ", "))
}

func (s *sessions) Run(ctx context.Context, c *verb.Call) error {
	state := s.query.State
	s.query.State = "" // of the session, not of its runs
	if !slices.Contains([]string{"", api.StateRunning, api.StateSucceeded, api.StateFailed}, state) {
		return app.Usage("--state %s: a session is running, succeeded or failed", state)
	}
	if len(c.Args) > 0 {
		s.query.SessionID = c.Args[0]
	}
	items, err := s.list(ctx)
	if err != nil {
		return hint(err)
	}
	if len(items) == 0 && s.query.SessionID != "" {
		return s.unknown(ctx)
	}
	rows := slices.DeleteFunc(fold(items), func(r session) bool { return state != "" && r.State != state })
	return verb.Write(c, []output.Column[session]{
		{Name: "SESSION_ID", Value: func(s session) any { return s.SessionID }},
		{Name: "STATE", Value: func(s session) any { return s.State }},
		{Name: "EXECS", Value: func(s session) any { return s.Execs }},
		{Name: "FAILED", Value: func(s session) any { return s.Failed }},
		{Name: "NODES", Value: func(s session) any { return len(s.Nodes) }},
		{Name: "OBJECTS", Value: func(s session) any { return len(s.Objects) }},
		{Name: "ORIGIN", Value: func(s session) any { return s.Origin }},
		{Name: "STARTED_AT", Value: func(s session) any { return when(s.StartedAt) }},
		{Name: "DURATION", Value: func(s session) any { return s.Duration }},
		{Name: "COMMAND", Value: func(s session) any { return s.Command }},
	}, rows, rows)
}

// fold gathers runs by session: running while one of them runs, failed if one
// of them failed. Sessions are in the order they started.
func fold(execs []api.Exec) []session {
	slices.SortStableFunc(execs, func(a, b api.Exec) int { return a.StartedAt.Compare(b.StartedAt) })
	var order []string
	byID := map[string][]api.Exec{}
	for _, e := range execs {
		if byID[e.SessionID] == nil {
			order = append(order, e.SessionID)
		}
		byID[e.SessionID] = append(byID[e.SessionID], e)
	}
	rows := make([]session, 0, len(order))
	for _, id := range order {
		rows = append(rows, sessionOf(id, byID[id]))
	}
	return rows
}

func sessionOf(id string, execs []api.Exec) session {
	first := execs[0]
	s := session{SessionID: id, State: api.StateSucceeded, Execs: len(execs), Origin: first.Origin, StartedAt: first.StartedAt, Command: typed(first.Command)}
	if len(execs) > 1 {
		s.Command += " (+" + strconv.Itoa(len(execs)-1) + ")"
	}
	running := false
	for _, e := range execs {
		s.Nodes = append(s.Nodes, e.Node)
		s.Objects = append(s.Objects, e.Path)
		switch e.State {
		case api.StateFailed:
			s.Failed++
		case api.StateRunning, api.StateQueued:
			running = true
		}
		if e.EndedAt != nil && (s.EndedAt == nil || e.EndedAt.After(*s.EndedAt)) {
			s.EndedAt = e.EndedAt
		}
	}
	s.Nodes, s.Objects = distinct(s.Nodes), distinct(s.Objects)
	switch {
	case running:
		s.State, s.EndedAt = api.StateRunning, nil
	case s.Failed > 0:
		s.State = api.StateFailed
	}
	s.Duration = span(s.StartedAt, s.EndedAt)
	return s
}

func distinct[S cmp.Ordered](list []S) []S {
	slices.Sort(list)
	return slices.Compact(list)
}
