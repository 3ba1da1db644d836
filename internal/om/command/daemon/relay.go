package daemon

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Relayer tells what relays have.
type Relayer interface {
	RelayStatus(ctx context.Context, q api.RelayStatusQuery) ([]api.RelayStatus, error)
}

// Relay is the command on the relays of heartbeats.
var Relay = verb.Verb{
	Path: "relay status", Group: "query", Short: "Show what relays have of the nodes of clusters",
	Long: "Show the last message that each node left: at this daemon, when it is the relay of other clusters, and at the relays of the heartbeats of this cluster.",
	New:  verb.Needs(func(r Relayer) verb.Runner { return &relayed{relayer: r} }),
}

type relayed struct {
	relayer Relayer
	relays  []string
}

func (r *relayed) Flags(f *pflag.FlagSet) {
	f.StringSliceVar(&r.relays, "relay", nil, "of these `relays` only")
}

func (r *relayed) Run(ctx context.Context, c *verb.Call) error {
	rows := []api.RelayStatus{}
	for _, remote := range []bool{false, true} {
		list, err := r.relayer.RelayStatus(ctx, api.RelayStatusQuery{Relay: r.relays, Remote: remote})
		if p, ok := errors.AsType[*api.Problem](err); ok && remote && p.Status == http.StatusForbidden {
			continue // whoever may only see what it left here
		}
		if err != nil {
			return hint(err)
		}
		rows = append(rows, list...)
	}
	return verb.Write(c, []output.Column[api.RelayStatus]{
		{Name: "RELAY", Value: func(s api.RelayStatus) any { return s.Relay }},
		{Name: "USERNAME", Value: func(s api.RelayStatus) any { return s.User }},
		{Name: "CLUSTER_ID", Value: func(s api.RelayStatus) any { return s.ClusterID }},
		{Name: "CLUSTER_NAME", Value: func(s api.RelayStatus) any { return s.ClusterName }},
		{Name: "NODENAME", Value: func(s api.RelayStatus) any { return s.Node }},
		{Name: "NODE_ADDR", Value: func(s api.RelayStatus) any { return s.NodeAddr }},
		{Name: "UPDATED_AT", Value: func(s api.RelayStatus) any { return updated(s.UpdatedAt) }},
		{Name: "MSG_LEN", Value: func(s api.RelayStatus) any { return s.Length }},
		{Name: "STATUS", Value: func(s api.RelayStatus) any { return s.Status }},
	}, rows, rows)
}

func updated(at time.Time) any {
	if at.IsZero() {
		return ""
	}
	return when(at)
}
