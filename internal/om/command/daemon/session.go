package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

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
	Command   string     `json:"command"`
}

func (s *sessions) Run(ctx context.Context, c *verb.Call) error {
	state := s.query.State
	s.query.State = "" // of the session, not of its runs
	if len(c.Args) > 0 {
		s.query.SessionID = c.Args[0]
	}
	items, err := s.list(ctx)
	if err != nil {
		return hint(err)
	}
	if len(items) == 0 && s.query.SessionID != "" {
		return fmt.Errorf("session %s is no longer known: it ended long enough ago to have been dropped, or submitted nothing to a daemon", s.query.SessionID)
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
		{Name: "DURATION", Value: func(s session) any { return span(s.StartedAt, s.EndedAt) }},
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
	s := session{SessionID: id, State: api.StateSucceeded, Execs: len(execs), Origin: first.Origin, StartedAt: first.StartedAt, Command: first.Command}
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
		case api.StateRunning:
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
	return s
}

func distinct[S cmp.Ordered](list []S) []S {
	slices.Sort(list)
	return slices.Compact(list)
}
