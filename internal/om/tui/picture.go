package tui

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
)

// kinds are the events the picture is made of, and those worth telling.
func kinds() []string {
	return []string{
		"InstanceConfigUpdated", "InstanceConfigDeleted", "InstanceStatusUpdated", "InstanceStatusDeleted",
		"InstanceMonitorUpdated", "InstanceMonitorDeleted", "ObjectCreated", "ObjectDeleted", "ObjectStatusUpdated", "ObjectStatusDeleted",
		"NodeConfigUpdated", "NodeStatusUpdated", "NodeMonitorUpdated", "NodeStatsUpdated", "ClusterConfigUpdated", "ClusterStatusUpdated",
		"DaemonListenerUpdated", "ObjectOrchestrationAccepted", "ObjectOrchestrationRefused", "ObjectOrchestrationEnd",
		"Exec", "ExecSuccess", "ExecFailed",
	}
}

// picture keeps the state of a cluster up to date with its events. It shares
// nothing of what it was given out before.
type picture struct{ status api.ClusterStatus }

// snapshot returns what may be kept while the picture goes on.
func (p *picture) snapshot() api.ClusterStatus {
	s := p.status
	s.Cluster.Node, s.Cluster.Object = maps.Clone(s.Cluster.Node), maps.Clone(s.Cluster.Object)
	return s
}

// change is what the events of all kinds have.
type change struct {
	Path   string `json:"path"`
	Node   string `json:"node"`
	Labels struct {
		Path string `json:"path"`
		Node string `json:"node"`
	} `json:"labels"`
}

// apply takes an event in. It tells whether the state has to be asked for again.
func (p *picture) apply(e api.Event) (again bool) {
	if e.Kind == api.Resync {
		return true
	}
	var c change
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return true
	}
	ok := true
	switch e.Kind {
	case "InstanceConfigUpdated":
		ok = instancePart(p, c, e.Data, func(i *cluster.Instance, v event.InstanceConfigUpdated) { i.Config = &v.Config })
	case "InstanceStatusUpdated":
		ok = instancePart(p, c, e.Data, func(i *cluster.Instance, v event.InstanceStatusUpdated) { i.Status = &v.Status })
	case "InstanceMonitorUpdated":
		ok = instancePart(p, c, e.Data, func(i *cluster.Instance, v event.InstanceMonitorUpdated) { i.Monitor = &v.Monitor })
	case "InstanceMonitorDeleted":
		ok = instancePart(p, c, e.Data, func(i *cluster.Instance, _ event.InstanceMonitorDeleted) { i.Monitor = nil })
	case "InstanceStatusDeleted", "InstanceConfigDeleted":
		p.drop(c)
	case "ObjectStatusUpdated":
		ok = p.object(c, e.Data)
	case "ObjectStatusDeleted", "ObjectDeleted":
		delete(p.status.Cluster.Object, c.Path)
	case "NodeConfigUpdated":
		ok = nodePart(p, c, e.Data, func(n *cluster.Node, v event.NodeConfigUpdated) { n.Config = v.Config })
	case "NodeStatusUpdated":
		ok = nodePart(p, c, e.Data, func(n *cluster.Node, v event.NodeStatusUpdated) { n.Status = v.Status })
	case "NodeMonitorUpdated":
		ok = nodePart(p, c, e.Data, func(n *cluster.Node, v event.NodeMonitorUpdated) { n.Monitor = v.Monitor })
	case "NodeStatsUpdated":
		ok = nodePart(p, c, e.Data, func(n *cluster.Node, v event.NodeStatsUpdated) { n.Stats = v.Stats })
	case "DaemonListenerUpdated":
		ok = nodePart(p, c, e.Data, func(n *cluster.Node, v event.DaemonListenerUpdated) {
			n.Listener = cluster.Listener{State: v.Listener.State, Addr: v.Listener.Addr, Port: v.Listener.Port, Error: v.Listener.Error, UpdatedAt: v.Listener.UpdatedAt}
		})
	case "ClusterConfigUpdated":
		var v event.ClusterConfigUpdated
		if ok = json.Unmarshal(e.Data, &v) == nil; ok {
			p.status.Cluster.Config = v.Config
		}
	case "ClusterStatusUpdated":
		var v event.ClusterStatusUpdated
		if ok = json.Unmarshal(e.Data, &v) == nil; ok {
			p.status.Cluster.Status = v.Status
		}
	}
	return !ok
}

// instancePart replaces a part of an instance.
func instancePart[E any](p *picture, c change, data []byte, set func(*cluster.Instance, E)) bool {
	var v E
	if err := json.Unmarshal(data, &v); err != nil || c.Path == "" || c.Node == "" {
		return false
	}
	o := p.status.Cluster.Object[c.Path] // what follows from a new instance comes with the next event
	o.Instances = maps.Clone(o.Instances)
	if o.Instances == nil {
		o.Instances = map[string]cluster.Instance{}
	}
	i := o.Instances[c.Node]
	set(&i, v)
	o.Instances[c.Node] = i
	p.status.Cluster.Object[c.Path] = o
	return true
}

// drop removes an instance.
func (p *picture) drop(c change) {
	o, known := p.status.Cluster.Object[c.Path]
	if !known {
		return
	}
	o.Instances = maps.Clone(o.Instances)
	delete(o.Instances, c.Node)
	p.status.Cluster.Object[c.Path] = o
	if len(o.Instances) == 0 {
		delete(p.status.Cluster.Object, c.Path)
	}
}

// object replaces what follows from the instances of an object.
func (p *picture) object(c change, data []byte) bool {
	var v event.ObjectStatusUpdated
	if err := json.Unmarshal(data, &v); err != nil || c.Path == "" {
		return false
	}
	if v.Status.Instances == nil {
		v.Status.Instances = p.status.Cluster.Object[c.Path].Instances
	}
	p.status.Cluster.Object[c.Path] = v.Status
	return true
}

func nodePart[E any](p *picture, c change, data []byte, set func(*cluster.Node, E)) bool {
	var v E
	if err := json.Unmarshal(data, &v); err != nil || c.Node == "" {
		return false
	}
	n := p.status.Cluster.Node[c.Node]
	set(&n, v)
	p.status.Cluster.Node[c.Node] = n
	return true
}

// happening is an event as it is listed.
type happening struct {
	at               time.Time
	kind, path, node string
	detail           string
}

// tell makes a line of an event.
func tell(e api.Event) happening {
	var v struct {
		change
		Reason       string `json:"reason"`
		State        string `json:"state"`
		GlobalExpect string `json:"global_expect"`
		Title        string `json:"title"`
		Error        string `json:"error"`
		Status       *struct {
			Avail *cluster.Status `json:"avail"`
		} `json:"instance_status"`
		Object *struct {
			Avail *cluster.Status `json:"avail"`
		} `json:"object_status"`
		Monitor *struct {
			State string `json:"state"`
		} `json:"instance_monitor"`
	}
	h := happening{at: e.At, kind: e.Kind}
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return h
	}
	h.path, h.node = v.Path, v.Node
	words := []string{v.GlobalExpect, v.State, v.Reason, v.Title, v.Error}
	switch {
	case v.Status != nil && v.Status.Avail != nil:
		words = append(words, v.Status.Avail.String())
	case v.Object != nil && v.Object.Avail != nil:
		words = append(words, v.Object.Avail.String())
	case v.Monitor != nil:
		words = append(words, v.Monitor.State)
	}
	h.detail = join(words...)
	return h
}
