// Package remote is the backend of commands that act through the API of a
// daemon, this host's or another's. It is the whole backend of ox, and the part
// of the backend of om that goes through the daemon.
package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/daemon"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Backend acts through one daemon.
type Backend struct {
	// Connect returns the client of the daemon. It is called when needed, once
	// or more.
	Connect func() (*client.Client, error)
	// Env reads the environment: OSVC_NAMESPACE and OSVC_KIND narrow selections.
	Env func(string) string

	node string // whose configuration is the zero path: "" is the node that answers
}

// do calls an operation of the daemon.
func do[In, Out any](ctx context.Context, b *Backend, op api.Operation[In, Out], in In) (out Out, err error) {
	c, err := b.Connect()
	if err != nil {
		return out, err
	}
	return client.Do(ctx, c, op, in)
}

// Select implements [verb.Backend].
func (b *Backend) Select(ctx context.Context, selector string) ([]object.Path, error) {
	if _, err := object.ParseSelector(selector); err != nil {
		return nil, err
	}
	names, err := do(ctx, b, api.GetObjectPaths, api.ObjectPathQuery{Path: selector})
	if err != nil {
		return nil, err
	}
	paths := make([]object.Path, 0, len(names))
	for _, n := range names {
		p, err := object.Parse(n)
		if err != nil {
			return nil, fmt.Errorf("the daemon answered a selection: %w", err)
		}
		if b.Wanted(p) {
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// Wanted reports whether OSVC_NAMESPACE and OSVC_KIND leave the object in.
func (b *Backend) Wanted(p object.Path) bool {
	namespace, kind := b.Env("OSVC_NAMESPACE"), b.Env("OSVC_KIND")
	return (namespace == "" || namespace == p.Namespace) && (kind == "" || kind == string(p.Kind))
}

// Alive returns nil when the daemon answers.
func (b *Backend) Alive(ctx context.Context) error {
	c, err := b.Connect()
	if err != nil {
		return err
	}
	return c.Alive(ctx)
}

// Objects implements object.Lister.
func (b *Backend) Objects(ctx context.Context, selector string) ([]api.ObjectItem, error) {
	paths, err := b.Select(ctx, selector)
	if err != nil {
		return nil, err
	}
	list, err := do(ctx, b, api.GetObjects, api.ObjectQuery{Path: selector})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(i api.ObjectItem) bool {
		return !slices.ContainsFunc(paths, func(p object.Path) bool { return p.String() == i.Meta.Object })
	}), nil
}

// Instances implements instance.Observer.
func (b *Backend) Instances(ctx context.Context, p object.Path, f instance.Fresh) ([]api.InstanceItem, error) {
	list, err := do(ctx, b, api.GetInstances, api.InstanceQuery{Path: p.FQN(), Node: f.Node})
	if err != nil {
		return nil, err
	}
	if f.Refresh || f.Monitored {
		for i, item := range list.Items {
			if err := b.refresh(ctx, item.Meta.Node, p); err != nil {
				return nil, err
			}
			if list.Items[i], err = do(ctx, b, api.GetInstance, api.InstanceOf(item.Meta.Node, p)); err != nil {
				return nil, err
			}
		}
	}
	return list.Items, nil
}

// refreshLimit bounds the evaluation of a status elsewhere.
const refreshLimit = 5 * time.Minute

func (b *Backend) refresh(ctx context.Context, node string, p object.Path) error {
	ids, err := do(ctx, b, api.PostInstanceActionStatus, api.InstanceAction{InstanceName: api.InstanceOf(node, p)})
	if err != nil || ids.ExecID == "" {
		return err
	}
	_, err = b.WaitExec(ctx, node, ids.ExecID, refreshLimit)
	return err
}

// ResourceInfo implements instance.Informer.
func (b *Backend) ResourceInfo(ctx context.Context, p object.Path, rids []string, refresh bool) ([]api.ResourceInfoItem, error) {
	if refresh {
		if err := b.refreshInfo(ctx, p, rids); err != nil {
			return nil, err
		}
	}
	list, err := do(ctx, b, api.GetObjectResourceInfo, api.Named(p))
	return list.Items, err
}

func (b *Backend) refreshInfo(ctx context.Context, p object.Path, rids []string) error {
	list, err := do(ctx, b, api.GetInstances, api.InstanceQuery{Path: p.FQN()})
	if err != nil {
		return err
	}
	for _, item := range list.Items {
		in := api.InstanceAction{InstanceName: api.InstanceOf(item.Meta.Node, p), Rid: strings.Join(rids, ",")}
		ids, err := do(ctx, b, api.PostInstanceActionInfo, in)
		if err != nil {
			return err
		}
		if _, err := b.WaitExec(ctx, item.Meta.Node, ids.ExecID, refreshLimit); err != nil {
			return err
		}
	}
	return nil
}

// ClusterStatus implements monitor.Source.
func (b *Backend) ClusterStatus(ctx context.Context, selector string) (api.ClusterStatus, error) {
	status, err := do(ctx, b, api.GetClusterStatus, api.ClusterStatusQuery{Selector: selector})
	if err != nil {
		return status, err
	}
	for name := range status.Cluster.Object {
		if p, err := object.Parse(name); err == nil && !b.Wanted(p) {
			delete(status.Cluster.Object, name)
		}
	}
	return status, nil
}

// Events implements daemon.Streamer.
func (b *Backend) Events(ctx context.Context, q api.EventQuery) iter.Seq2[api.Event, error] {
	c, err := b.Connect()
	if err != nil {
		return func(yield func(api.Event, error) bool) { yield(api.Event{}, err) }
	}
	return client.Events(ctx, c, q)
}

// WatchObjects implements object.Watcher.
func (b *Backend) WatchObjects(ctx context.Context, c *verb.Call, selector string) error {
	return monitor.Watch(ctx, c, b, selector, []string{"objects"})
}

// Nodes implements node.Lister.
func (b *Backend) Nodes(ctx context.Context, selector string) ([]api.NodeItem, error) {
	list, err := do(ctx, b, api.GetNodes, api.NodeQuery{Node: selector})
	return list.Items, err
}

// ExpandNodes implements daemon.Historian and instance.Remote.
func (b *Backend) ExpandNodes(ctx context.Context, selector string) ([]string, error) {
	items, err := b.Nodes(ctx, selector)
	if refused(err) {
		return b.expandNames(ctx, selector)
	}
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, noSuchNode(selector)
	}
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Meta.Node
	}
	return names, nil
}

func noSuchNode(selector string) error { return fmt.Errorf("--node %s: no such node", selector) }

// expandNames is ExpandNodes for those who may not read the configuration of nodes:
// an operator of a namespace acts on its instances, wherever they are. Names and
// labels are open to every user.
func (b *Backend) expandNames(ctx context.Context, expr string) ([]string, error) {
	if expr == api.Localhost {
		return []string{api.Localhost}, nil
	}
	selector, err := object.ParseNodeSelector(expr)
	if err != nil {
		return nil, err
	}
	info, err := do(ctx, b, api.GetNodesInfo, api.None{})
	if err != nil {
		return nil, err
	}
	labels := map[string]map[string]string{}
	for name, n := range info {
		labels[name] = map[string]string{}
		for _, l := range n.Labels {
			labels[name][l.Name] = l.Value
		}
	}
	names, err := selector.Select(slices.Sorted(maps.Keys(labels)), labels)
	if err == nil && len(names) == 0 {
		err = noSuchNode(expr)
	}
	return names, err
}

// NewSession implements instance.Remote.
func (b *Backend) NewSession() string {
	if id := b.Env("OSVC_SESSION_ID"); id != "" {
		return id
	}
	return uuid.NewString()
}

// Token implements daemon.Issuer.
func (b *Backend) Token(ctx context.Context, q api.TokenQuery) (api.AuthToken, error) {
	return do(ctx, b, api.PostAuthToken, q)
}

// DaemonState implements daemon.Stater.
func (b *Backend) DaemonState(ctx context.Context) (daemon.State, error) {
	s, err := do(ctx, b, api.GetClusterStatus, api.ClusterStatusQuery{})
	if err != nil {
		return daemon.State{}, err
	}
	node := s.Cluster.Node[s.Daemon.Nodename]
	return daemon.State{
		Node: s.Daemon.Nodename, State: "running", Pid: s.Daemon.Pid, StartedAt: s.Daemon.StartedAt,
		Version: node.Status.Agent, Cluster: s.Cluster.Config.Name, Listener: node.Listener.String(),
		ListenerError: node.Listener.Error, Objects: len(s.Cluster.Object),
		Issues: s.Cluster.Config.Issues,
	}, nil
}

// ShutdownDaemon implements daemon.Shutter.
func (b *Backend) ShutdownDaemon(ctx context.Context, limit time.Duration) error {
	_, err := do(ctx, b, api.PostDaemonShutdown, api.DaemonShutdown{NodeName: here(), Duration: limit.String()})
	return err
}

func here() api.NodeName { return api.NodeName{Node: api.Localhost} }

// isStatus tells whether err is a refusal of that status.
func isStatus(err error, status int) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Status == status
}

// stillRunning turns the refusal of a wait that expired into what is known.
func stillRunning(err error) bool { return isStatus(err, http.StatusRequestTimeout) }
