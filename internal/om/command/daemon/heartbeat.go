package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Beater looks at the heartbeats of nodes, and acts on them.
type Beater interface {
	ClusterStatus(ctx context.Context, selector string) (api.ClusterStatus, error)
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
	// ControlHeartbeat starts, stops or restarts a heartbeat, or prepares its device, and
	// returns what was said.
	ControlHeartbeat(ctx context.Context, node, name, action string) (said string, err error)
	// RotateHeartbeats changes the secret of the cluster, and returns the id of the change.
	RotateHeartbeats(ctx context.Context) (id string, err error)
	// EventsFrom streams events, and calls opened once none is missed any more.
	EventsFrom(ctx context.Context, q api.EventQuery, opened func()) iter.Seq2[api.Event, error]
}

// Heartbeats returns the commands on the heartbeats.
func Heartbeats() []verb.Verb {
	verbs := []verb.Verb{
		{
			Path: "hb status", Group: "query", Short: "Show how the nodes hear one another",
			Long: "Show how the nodes hear one another: a row for each direction of each heartbeat of a node, and each of its peers. It runs, or not; it beats when it was heard, or sent, in time.",
			New:  verb.Needs(func(b Beater) verb.Runner { return &beats{beater: b} }),
		},
		{
			Path: "hb rotate", Group: "control", Short: "Change the secret that heartbeats are sealed with",
			Long: "Change the secret of the cluster, which heartbeats are sealed with once every node that is heard has it: no beat is lost. It is the same as om cluster secret rotate, asked of a daemon.",
			New:  verb.Needs(func(b Beater) verb.Runner { return &rotate{beater: b} }),
		},
	}
	for _, a := range [][2]string{
		{"start", "Start a heartbeat that was stopped"},
		{"stop", "Stop a heartbeat, until it is started or the daemon restarts"},
		{"restart", "Stop a heartbeat, then start it"},
		{"sign", "Sign the device of a disk heartbeat, on one node, before it is used"},
		{"wipe", "Clear the device of a disk heartbeat, which no node can use then"},
	} {
		verbs = append(verbs, verb.Verb{
			Path: "hb " + a[0], Group: "control", Short: a[1],
			New: verb.Needs(func(b Beater) verb.Runner { return &beatControl{beater: b, action: a[0]} }),
		})
	}
	return verbs
}

// beats shows the heartbeats.
type beats struct {
	beater            Beater
	nodes, name, peer string
}

func (b *beats) Flags(f *pflag.FlagSet) {
	f.StringVar(&b.nodes, "node", "", "of these `nodes`, all of them by default")
	f.StringVar(&b.name, "name", "", "of this `heartbeat` only: hb#1, hb#1.rx")
	f.StringVar(&b.peer, "peer", "", "of these peer `nodes` only")
}

// beatRow is a peer on a stream of a node.
type beatRow struct {
	Running   bool      `json:"running"`
	Beating   bool      `json:"beating"`
	ID        string    `json:"id"`
	Node      string    `json:"node"`
	Peer      string    `json:"peer"`
	Type      string    `json:"type"`
	Desc      string    `json:"desc"`
	ChangedAt time.Time `json:"changed_at"`
	LastAt    time.Time `json:"last_beating_at"`
	State     string    `json:"state"`
	Error     string    `json:"error,omitempty"`
}

func (b *beats) Run(ctx context.Context, c *verb.Call) error {
	status, err := b.beater.ClusterStatus(ctx, "")
	if err != nil {
		return hint(err)
	}
	of := map[string][]string{}
	for flag, selector := range map[string]string{"node": b.nodes, "peer": b.peer} {
		if selector != "" {
			if of[flag], err = b.beater.ExpandNodes(ctx, selector); err != nil {
				return err
			}
		}
	}
	var rows []beatRow
	for name, n := range status.Cluster.Node {
		if b.nodes != "" && !slices.Contains(of["node"], name) {
			continue
		}
		for _, r := range rowsOf(name, n.Heartbeat) {
			if b.isNamed(r.ID) && (b.peer == "" || slices.Contains(of["peer"], r.Peer)) {
				rows = append(rows, r)
			}
		}
	}
	if len(rows) == 0 && (b.name != "" || b.nodes != "" || b.peer != "") {
		return errors.New("no heartbeat is told of by that name, node and peer: om daemon hb status lists them all; a node that is not heard tells of none")
	}
	slices.SortFunc(rows, func(x, y beatRow) int {
		return cmp.Or(cmp.Compare(x.ID, y.ID), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Peer, y.Peer))
	})
	return verb.Write(c, beatColumns(), rows, rows)
}

func (b *beats) isNamed(id string) bool {
	plain, _, _ := strings.Cut(id, ".")
	return b.name == "" || slices.Contains([]string{id, plain, strings.TrimPrefix(id, "hb#"), strings.TrimPrefix(plain, "hb#")}, b.name)
}

// rowsOf are the peers on the streams of a node; a stream that has none has a row too.
func rowsOf(node string, h cluster.Heartbeat) []beatRow {
	var rows []beatRow
	for _, s := range h.Streams {
		row := beatRow{Running: s.State == "running", ID: s.ID, Node: node, Type: s.Type, State: s.State, Error: s.Error, ChangedAt: s.UpdatedAt}
		if len(s.Peers) == 0 {
			rows = append(rows, row)
		}
		for _, peer := range slices.Sorted(maps.Keys(s.Peers)) {
			p := s.Peers[peer]
			row.Peer, row.Beating, row.Desc, row.ChangedAt, row.LastAt = peer, p.IsBeating, p.Desc, p.ChangedAt, p.LastBeatingAt
			rows = append(rows, row)
		}
	}
	return rows
}

func beatColumns() []output.Column[beatRow] {
	mark := func(yes bool) string {
		if yes {
			return "O"
		}
		return "X"
	}
	return []output.Column[beatRow]{
		{Name: "RUNNING", Value: func(r beatRow) any { return mark(r.Running) }},
		{Name: "BEATING", Value: func(r beatRow) any { return mark(r.Beating) }},
		{Name: "ID", Value: func(r beatRow) any { return r.ID }},
		{Name: "NODE", Value: func(r beatRow) any { return r.Node }},
		{Name: "PEER", Value: func(r beatRow) any { return r.Peer }},
		{Name: "TYPE", Value: func(r beatRow) any { return r.Type }},
		{Name: "DESC", Value: func(r beatRow) any { return cmp.Or(r.Error, r.Desc) }},
		{Name: "CHANGED_AT", Value: func(r beatRow) any {
			if r.ChangedAt.IsZero() {
				return ""
			}
			return r.ChangedAt.Local().Format(time.RFC3339)
		}},
	}
}

// beatControl acts on a heartbeat of nodes.
type beatControl struct {
	beater Beater
	action string

	nodes, name string
}

func (k *beatControl) Flags(f *pflag.FlagSet) {
	f.StringVar(&k.nodes, "node", "", "the daemons of these `nodes`, the one that answers by default")
	f.StringVar(&k.name, "name", "", "the `name` of the heartbeat, as hb#1")
}

func (k *beatControl) Run(ctx context.Context, c *verb.Call) error {
	if k.name == "" {
		return app.Usage("say which heartbeat: --name hb#1; om daemon hb status lists them")
	}
	nodes := []string{api.Localhost}
	if k.nodes != "" {
		var err error
		if nodes, err = k.beater.ExpandNodes(ctx, k.nodes); err != nil {
			return err
		}
	}
	var errs []error
	for _, node := range nodes {
		said, err := k.beater.ControlHeartbeat(ctx, node, k.name, k.action)
		if errs = append(errs, err); err == nil {
			c.Say(said)
		}
	}
	return errors.Join(errs...)
}

// rotate changes the secret.
type rotate struct {
	beater Beater
	wait   bool
	limit  time.Duration
}

func (r *rotate) Flags(f *pflag.FlagSet) {
	f.BoolVar(&r.wait, "wait", false, "wait until every node has the new secret")
	f.DurationVar(&r.limit, "time", 30*time.Second, "how long to wait")
}

func (r *rotate) Run(ctx context.Context, c *verb.Call) error {
	if !r.wait {
		id, err := r.beater.RotateHeartbeats(ctx)
		if err != nil {
			return hint(err)
		}
		return c.Print(id)
	}
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	var id string
	var asked error
	events := r.beater.EventsFrom(limited, api.EventQuery{
		NodeName: api.NodeName{Node: api.Localhost}, Filter: []string{"HeartbeatRotateSuccess", "HeartbeatRotateError"},
	}, func() {
		if id, asked = r.beater.RotateHeartbeats(limited); asked != nil {
			cancel()
		}
	})
	for e, err := range events {
		switch {
		case asked != nil:
			return hint(asked)
		case ctx.Err() != nil:
			return app.Ended(ctx)
		case limited.Err() != nil:
			return fmt.Errorf("not every node has the new secret after %s: both are accepted until it has", r.limit)
		case err != nil:
			return hint(err)
		}
		var ended struct {
			ID     string `json:"id"`
			Reason string `json:"reason"`
		}
		if json.Unmarshal(e.Data, &ended) != nil || ended.ID != id {
			continue
		}
		if e.Kind == "HeartbeatRotateError" {
			return errors.New(ended.Reason)
		}
		return c.Print("every node has the new secret")
	}
	return hint(cmp.Or(asked, errors.New("the daemon ended the stream of events")))
}
