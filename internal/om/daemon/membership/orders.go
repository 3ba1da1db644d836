package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Join has this node leave its cluster, where it is alone, for another one. It
// returns once that is accepted: the other cluster is there, believes the token, and
// wants the node.
func (m *Manager) Join(ctx context.Context, in api.JoinOrder) (api.Enrolled, error) {
	const hint = "make one on a node of the cluster to join, with om daemon auth --role join --duration 1h"
	var none api.Enrolled
	life, err := limit(in.Timeout)
	if err != nil {
		return none, err
	}
	v := m.o.State.View()
	if len(v.Config.Nodes) > 1 {
		return none, problem(http.StatusConflict, "node %s is of cluster %s with %s: its peers would keep it: evict it there first, or om cluster leave on it",
			m.self(), v.Config.Name, strings.Join(others(v.Config.Nodes, m.self()), ", "))
	}
	if n := v.Nodes[m.self()]; n != nil && (n.Monitor.State == "draining" || strings.HasPrefix(n.Monitor.State, "shut")) {
		return none, problem(http.StatusConflict, "node %s is %s: wait for the end of that, or abort it", m.self(), n.Monitor.State)
	}
	f, err := m.foreign(in.Token, hint)
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	there, err := connect(in.Node, strings.TrimSpace(in.Token), f.Authority)
	if err != nil {
		return none, problem(http.StatusBadRequest, "node: %v", err)
	}
	defer there.Close()
	status, err := ask(ctx, there, "the cluster to join, at "+in.Node+" as node "+m.self()+" reaches it,", api.GetClusterStatus, api.ClusterStatusQuery{Namespace: object.SystemNamespace})
	if err != nil {
		return none, err
	}
	if err := m.mayJoin(status, f.Cluster); err != nil {
		return none, err
	}
	now := time.Now()
	o := &order{
		Kind: kindJoin, State: stateAccepted, Via: in.Node, Cluster: f.Cluster, Name: status.Cluster.Config.Name, Token: strings.TrimSpace(in.Token),
		Frozen: isFrozen(m.o.Host.Paths), Drain: true, At: now, Deadline: now.Add(life),
	}
	return api.Enrolled{Node: m.self()}, m.accept(o, nil)
}

func (m *Manager) mayJoin(there api.ClusterStatus, id string) error {
	name, nodes := there.Cluster.Config.Name, there.Cluster.Config.Nodes
	member, known := there.Cluster.Node[m.self()]
	switch {
	case there.Cluster.Config.ID != id:
		return problem(http.StatusConflict, "the cluster to join is not the one that made the token")
	case there.Daemon.Nodename == m.self(), slices.Contains(nodes, m.self()) && known && isAlive(member.Monitor):
		return problem(http.StatusConflict, "a node called %s is of cluster %s, and alive: give this one another host name, then try again", m.self(), name)
	}
	if n, ok := there.Cluster.Node[there.Daemon.Nodename]; ok && n.Status.Compat != m.o.Compat {
		return problem(http.StatusConflict, "the nodes of cluster %s run agent %s, which this one does not understand: upgrade the older of them, then try again", name, n.Status.Agent)
	}
	return nil
}

// Leave has this node leave its cluster. It returns once that is accepted.
func (m *Manager) Leave(ctx context.Context, in api.LeaveOrder) error {
	life, err := limit(in.Timeout)
	if err != nil {
		return err
	}
	credential, err := parseCredential(in.Credential)
	if err != nil {
		return err
	}
	v := m.o.State.View()
	peers := others(v.Config.Nodes, m.self())
	switch {
	case len(peers) == 0:
		return problem(http.StatusConflict, "node %s is alone in its cluster: there is nothing to leave", m.self())
	case in.Node != "" && !slices.Contains(peers, in.Node):
		return problem(http.StatusBadRequest, "node: %s is no peer of %s, which are %s", in.Node, m.self(), strings.Join(peers, ", "))
	case in.Node != "":
		peers = []string{in.Node}
	}
	if !in.Drain {
		if err := m.drained(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if err := m.anyAnswers(ctx, peers); err != nil {
		return err
	}
	now := time.Now()
	o := &order{
		Kind: kindLeave, State: stateAccepted, Via: in.Node, Name: v.Config.Name, Frozen: isFrozen(m.o.Host.Paths), Drain: in.Drain,
		At: now, Deadline: now.Add(life),
	}
	return m.accept(o, func() error { return m.found(ctx, credential, now) })
}

// anyAnswers refuses to leave a cluster of which no peer answers.
func (m *Manager) anyAnswers(ctx context.Context, peers []string) error {
	var errs []error
	for _, peer := range peers {
		c, err := m.peer(peer)
		if err == nil {
			_, err = ask(ctx, c, "node "+peer+", as node "+m.self()+" reaches it,", api.GetClusterStatus, api.ClusterStatusQuery{Namespace: object.SystemNamespace})
			c.Close()
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return problem(http.StatusBadGateway, "no peer answers: %v", errors.Join(errs...))
}

// accept takes an order, the only one; prepare is called before it is kept.
func (m *Manager) accept(o *order, prepare func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.current; c != nil {
		return problem(http.StatusConflict, "node %s is to %s cluster %s since %s: wait for the end of that", m.self(), c.Kind, c.Name, c.At.Format(time.RFC3339))
	}
	m.o.step("accepting")
	if err := os.RemoveAll(m.files.dir()); err != nil {
		return fmt.Errorf("forget a former order: %w", err)
	}
	if prepare != nil {
		if err := prepare(); err != nil {
			return err
		}
	}
	if err := m.files.save(o); err != nil {
		return err
	}
	m.current = o
	m.orders <- o // there is room: one at a time
	return nil
}

// Run does what is ordered, what a former daemon was ordered first.
func (m *Manager) Run(ctx context.Context) error {
	select {
	case <-m.o.Ready: // before, it is not known what a drain is to stop
	case <-ctx.Done():
		return nil
	}
	m.recall()
	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-m.orders:
			m.do(ctx, o)
		}
	}
}

// recall goes on with an order that was interrupted.
func (m *Manager) recall() {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, err := m.files.load()
	if err != nil {
		m.o.Log.Error("the order is left as it is, and nothing is done about it", slog.Any("err", err))
	}
	if o == nil || m.current != nil {
		return
	}
	m.o.Log.Warn("what this node was ordered was interrupted, and goes on", slog.String("action", o.purpose()), slog.Time("at", o.At))
	m.current = o
	m.orders <- o
}

// do carries an order out, until the daemon restarts or the order is given up.
func (m *Manager) do(ctx context.Context, o *order) {
	limited, cancel := context.WithDeadline(ctx, o.Deadline)
	defer cancel()
	work := m.join
	if o.Kind == kindLeave {
		work = m.leave
	}
	m.o.Log.Info("what this node was ordered begins", slog.String("action", o.purpose()))
	err := work(limited, o)
	if err == nil {
		m.o.Log.Info("the daemon restarts in its other cluster", slog.String("action", o.purpose()))
		m.o.Restart() // the order stays the current one: there is no other until then
		return
	}
	if ctx.Err() != nil {
		return // the daemon ends: the next one goes on
	}
	m.giveUp(ctx, o, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = nil
}

// join comes to another cluster.
func (m *Manager) join(ctx context.Context, o *order) error {
	f, err := m.foreign(o.Token, "enroll the node again")
	if err != nil {
		return err
	}
	there, err := connect(o.Via, o.Token, f.Authority)
	if err != nil {
		return err
	}
	defer there.Close()
	m.o.step("accepted")
	if err := m.mark(o, stateAsked); err != nil { // before: it may be done though the answer is lost
		return err
	}
	m.o.step("marked asked")
	candidate := api.Candidate{Node: m.self()}
	for _, ip := range m.o.Addresses() {
		candidate.Addr = append(candidate.Addr, ip.String())
	}
	what := "the cluster to join, at " + o.Via + ","
	if _, err := ask(ctx, there, what, api.PostClusterJoin, candidate); err != nil {
		return err
	}
	m.o.step("added")
	if err := m.fetch(ctx, there, what, o); err != nil { // what cannot be used is known before anything stops
		return err
	}
	m.o.step("fetched")
	if err := m.drain(ctx); err != nil {
		return fmt.Errorf("drain the node: %w", err)
	}
	m.o.step("drained")
	if err := m.fetch(ctx, there, what, o); err != nil {
		return err
	}
	m.o.step("fetched again")
	return m.mark(o, stateReady)
}

// drain waits for a node that comes to its cluster to be at work there, and drains it.
func (m *Manager) drain(ctx context.Context) error {
	settled := func(context.Context) (bool, error) {
		n := m.o.State.View().Nodes[m.self()]
		return n == nil || n.Monitor.State != "init" && n.Monitor.State != "rejoin", nil
	}
	if err := retry.Until(ctx, retry.Policy{Interval: 20 * time.Millisecond, Max: 500 * time.Millisecond}, settled); err != nil {
		return fmt.Errorf("wait for the node to have rejoined its cluster: %w", err)
	}
	return m.o.Drain(ctx)
}

// leave comes to a cluster of this node alone, which was prepared.
func (m *Manager) leave(ctx context.Context, o *order) error {
	if o.Drain && o.State == stateAccepted {
		if err := m.drain(ctx); err != nil {
			return fmt.Errorf("drain the node: %w", err)
		}
	}
	m.o.step("drained")
	if o.State == stateAccepted {
		if err := m.drained(); err != nil { // since it was accepted
			return err
		}
	}
	if err := m.mark(o, stateAsked); err != nil {
		return err
	}
	m.o.step("marked asked")
	if err := m.askLeave(ctx, o); err != nil {
		return err
	}
	m.o.step("removed")
	return m.mark(o, stateReady)
}

// askLeave has a peer remove this node. A refusal is final; a peer that does not
// answer is asked again, as long as there is time: it may have done it.
func (m *Manager) askLeave(ctx context.Context, o *order) error {
	var last error
	err := retry.Until(ctx, retry.Policy{Interval: 100 * time.Millisecond, Max: 5 * time.Second}, func(ctx context.Context) (bool, error) {
		peers := others(m.o.State.View().Config.Nodes, m.self())
		if o.Via != "" {
			peers = []string{o.Via}
		}
		var refused error
		for _, name := range peers {
			c, err := m.peer(name)
			if err != nil {
				return false, err
			}
			_, err = ask(ctx, c, "node "+name, api.PostClusterLeave, api.Member{Node: m.self()})
			c.Close()
			if err == nil {
				return true, nil
			}
			last = err
			if p, ok := errors.AsType[*api.Problem](err); ok && p.Status < http.StatusInternalServerError {
				refused = err
			}
		}
		return false, refused
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

// mark records how far an order is.
func (m *Manager) mark(o *order, state string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := *o
	next.State = state
	if state == stateReady {
		next.Token = ""
	}
	if err := m.files.save(&next); err != nil {
		return err
	}
	*o = next
	return nil
}

// giveUp leaves the node as it was, and says why and how to go on.
func (m *Manager) giveUp(ctx context.Context, o *order, err error) {
	goOn := "this node stays alone, with what it had: enroll it again once that is mended"
	switch {
	case o.Kind == kindLeave && o.State == stateAccepted:
		goOn = "this node stays in its cluster: evict it again, or om cluster leave, once that is mended"
	case o.Kind == kindLeave:
		goOn = "the cluster may have removed this node already, so it stays frozen: om cluster leave on it goes on"
	}
	m.o.Log.Error("what this node was ordered is given up", slog.String("action", o.purpose()), slog.Any("err", err), slog.String("reason", goOn))
	if o.Kind == kindJoin {
		m.undo(ctx, o, err)
		m.o.Bus.Publish(event.JoinError{CandidateNode: m.self(), Reason: err.Error()})
	} else {
		m.o.Bus.Publish(event.LeaveError{CandidateNode: m.self(), Reason: err.Error()})
	}
	if !o.Frozen && o.Drain && (o.Kind == kindJoin || o.State == stateAccepted) {
		if err := unfreeze(m.o.Host.Paths); err != nil {
			m.o.Log.Error("the node stays frozen", slog.Any("err", err))
		}
	}
	if err := m.files.forget(); err != nil {
		m.o.Log.Error("an order that was given up", slog.Any("err", err))
	}
}

// undo has the cluster forget a node that does not join after all.
func (m *Manager) undo(ctx context.Context, o *order, why error) {
	if o.State == stateAccepted {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	f, err := m.foreign(o.Token, "")
	if err == nil {
		var c *client.Client
		if c, err = connect(o.Via, o.Token, f.Authority); err == nil {
			_, err = ask(ctx, c, "the cluster", api.PostClusterLeave, api.Member{Node: m.self(), Reason: why.Error()})
			c.Close()
		}
	}
	if err != nil {
		m.o.Log.Error("the cluster has this node among its own though it does not join", slog.Any("err", err),
			slog.String("reason", "on a node of cluster "+o.Name+": om cluster config update --set cluster.nodes-="+m.self()))
	}
}

// fetch prepares the configurations of the cluster to join, and checks them.
func (m *Manager) fetch(ctx context.Context, c *client.Client, what string, o *order) error {
	all, err := ask(ctx, c, what, api.GetClusterJoin, api.None{})
	if err != nil {
		return err
	}
	paths := m.files.fresh()
	if err := os.RemoveAll(paths.Root); err != nil {
		return fmt.Errorf("prepare the configurations: %w", err)
	}
	for _, f := range all.Files {
		if err := prepare(paths, f); err != nil {
			return fmt.Errorf("prepare the configurations: %w", err)
		}
	}
	if err := m.check(o); err != nil {
		return fmt.Errorf("the configurations that the cluster gave cannot be used: %w", err)
	}
	return nil
}

// prepare writes a configuration. Only names of objects are names of files.
func prepare(paths host.Paths, f api.JoinFile) error {
	p, err := object.Parse(f.Path)
	if err != nil {
		return err
	}
	if p != object.Cluster() {
		if err := p.Validate(); err != nil {
			return err
		}
	}
	name := filepath.Join(paths.Etc(), filepath.FromSlash(p.ConfigFile()))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if err := renameio.WriteFile(name, f.Data, 0o600); err != nil {
		return err
	}
	if err := os.Chtimes(name, f.Modified, f.Modified); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// fresh is the store of the configurations that are prepared.
func (m *Manager) fresh() *store.Store {
	h := m.o.Host
	h.Paths = m.files.fresh()
	return store.New(h, m.o.Sections)
}

// check opens what was prepared with the secret that came with it.
func (m *Manager) check(o *order) error {
	configs := m.fresh()
	settings, err := configs.Cluster()
	if err != nil {
		return err
	}
	switch {
	case settings.ID != o.Cluster:
		return fmt.Errorf("they are of cluster %s, not of the one to join", settings.Name)
	case !slices.Contains(settings.Nodes, m.self()):
		return fmt.Errorf("the nodes of cluster %s are %s, without %s", settings.Name, strings.Join(settings.Nodes, ", "), m.self())
	}
	data := datastore.New(configs)
	for p, keys := range map[object.Path][]string{
		setup.Authority():   {certificate.KeyPrivate, certificate.KeyCertificate, certificate.KeyChain},
		setup.Certificate(): {certificate.KeyPrivate, certificate.KeyCertificate, certificate.KeyChain},
		setup.TokenKey():    {certificate.KeyPrivate},
	} {
		for _, key := range keys {
			if _, err := data.Decode(p, key); err != nil {
				return err
			}
		}
	}
	return nil
}
