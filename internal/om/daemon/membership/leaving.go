package membership

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/store"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Evict orders another node to leave the cluster.
func (m *Manager) Evict(ctx context.Context, who auth.Principal, in api.EvictOrder) error {
	if _, err := limit(in.Timeout); err != nil {
		return err
	}
	if _, err := parseCredential(in.Credential); err != nil {
		return err
	}
	nodes := m.o.State.View().Config.Nodes
	switch {
	case in.Node == m.self():
		return problem(http.StatusBadRequest, "nodename: %s is the node that serves the request: ask one of its peers, or use om cluster leave on it", in.Node)
	case !slices.Contains(nodes, in.Node):
		return problem(http.StatusNotFound, "node %s is not of this cluster, whose nodes are %s", in.Node, strings.Join(nodes, ", "))
	}
	token, err := m.o.Tokens.IssueProxy(who, time.Now())
	if err != nil {
		return err
	}
	c, err := m.peerWith(in.Node, token)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	_, err = ask(ctx, c, "node "+in.Node, api.PostDaemonLeave, api.DaemonLeave{
		NodeName: api.NodeName{Node: api.Localhost},
		Body:     api.LeaveOrder{Node: m.self(), Credential: in.Credential, Timeout: in.Timeout},
	})
	return err
}

// peer returns a client of another node of the cluster, as this node.
func (m *Manager) peer(name string) (*client.Client, error) {
	token, _, err := m.o.Tokens.Issue(m.self(), rbac.Grants{{Role: rbac.Leave}}, time.Minute, time.Now())
	if err != nil {
		return nil, err
	}
	return m.peerWith(name, token)
}

func (m *Manager) peerWith(name string, token secret.String) (*client.Client, error) {
	address, err := m.o.Peers.Address(name)
	if err != nil {
		return nil, problem(http.StatusBadGateway, "%v", err)
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, problem(http.StatusBadGateway, "node %s: %v", name, err)
	}
	return connect(address, token.Reveal(), m.o.Authority)
}

// drained refuses a node on which something runs, or might start.
func (m *Manager) drained() error {
	const hint = "drain it first, with om node drain --wait"
	if !isFrozen(m.o.Host.Paths) {
		return problem(http.StatusConflict, "node %s is not frozen: %s", m.self(), hint)
	}
	v := m.o.State.View()
	if n := v.Nodes[m.self()]; n != nil && n.Monitor.State != "idle" && n.Monitor.State != "drained" {
		return problem(http.StatusConflict, "node %s is %s: %s", m.self(), n.Monitor.State, hint)
	}
	if up := append(atWork(v, m.self()), m.o.Running()...); len(up) > 0 {
		more := ""
		if len(up) > 5 {
			up, more = up[:5], ", and others"
		}
		return problem(http.StatusConflict, "node %s is not drained: %s%s: %s", m.self(), strings.Join(up, ", "), more, hint)
	}
	return nil
}

// atWork says what the instances of a node do that a drained one has none of, sorted.
func atWork(v *cluster.View, node string) []string {
	var up []string
	for p, o := range v.Objects {
		i, there := o.Instances[node]
		if !there || p.Kind != object.KindSvc && p.Kind != object.KindVol {
			continue
		}
		if state := busy(i); state != "" {
			up = append(up, p.String()+" is "+state)
		}
	}
	slices.Sort(up)
	return up
}

// busy says what an instance does that a drained node has none of; "" when it is down.
func busy(i cluster.Instance) string {
	if i.Monitor != nil && i.Monitor.State != "" && i.Monitor.State != "idle" && !strings.HasSuffix(i.Monitor.State, " failed") {
		return i.Monitor.State
	}
	if i.Status == nil {
		return "not known yet"
	}
	if avail := i.Status.Avail; avail != cluster.Down && avail != cluster.NotApplicable && avail != cluster.StandbyDown {
		return avail.String()
	}
	return ""
}

// credential is a user to create.
type credential struct {
	name     string
	password secret.String
}

// parseCredential reads <user>:<password>; the zero credential is none.
func parseCredential(text string) (credential, error) {
	text = strings.TrimRight(text, "\r\n")
	if text == "" {
		return credential{}, nil
	}
	name, password, ok := strings.Cut(text, ":")
	if !ok || password == "" {
		return credential{}, problem(http.StatusBadRequest, "credential: write <user>:<password>")
	}
	if err := auth.UserPath(name).Validate(); err != nil {
		return credential{}, problem(http.StatusBadRequest, "credential: user: %v", err)
	}
	return credential{name, secret.New(password)}, nil
}

// found prepares the configurations of a cluster of this node alone. Whatever could
// go wrong with them does before the node has left.
func (m *Manager) found(ctx context.Context, c credential, now time.Time) error {
	configs := m.fresh()
	data := datastore.New(configs)
	if _, err := setup.Run(ctx, setup.Options{
		Node: m.self(), Store: configs, Data: data, Log: m.o.Log, Now: now, Addresses: m.o.Addresses(),
	}); err != nil {
		return fmt.Errorf("prepare a cluster of this node alone: %w", err)
	}
	if c.name == "" {
		return nil
	}
	p := auth.UserPath(c.name)
	grant := config.Op{Key: config.Key{Section: config.DefaultSection, Option: "grant"}, Operator: config.OpSet, Value: string(rbac.Root)}
	if _, err := configs.Create(ctx, p, nil, store.CreateOptions{Change: config.Change{Set: []config.Op{grant}}}); err != nil {
		return problem(http.StatusBadRequest, "credential: %v", err)
	}
	if err := data.Set(ctx, p, "password", []byte(c.password.Reveal())); err != nil {
		return problem(http.StatusBadRequest, "credential: %v", err)
	}
	return nil
}
