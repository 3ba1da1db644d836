package state

import (
	"maps"
	"reflect"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// SetInstanceConfig replaces the configuration of the instance of p on node. An
// unknown object is known from there on.
func (s *State) SetInstanceConfig(p object.Path, node string, v cluster.InstanceConfig) {
	s.apply(func(c *change) { c.setInstanceConfig(p, node, v) })
}

func (c *change) setInstanceConfig(p object.Path, node string, v cluster.InstanceConfig) {
	i, existed := instanceOf(c, p, node)
	if i.Config != nil && reflect.DeepEqual(*i.Config, v) {
		return
	}
	i.Config = &v
	// The rest is told after the configuration, always: without it it is refused.
	c.touchInstance(p, node, i)
	if !existed && c.view.Objects[p] == nil {
		c.emit(event.ObjectCreated{Path: p, Node: node})
	}
	e := event.InstanceConfigUpdated{Path: p, Node: node, Config: v}
	c.emit(e)
	c.setInstance(p, node, &i, e.Kind())
}

// SetInstanceStatus replaces the status of an instance. A status of an instance
// that has no configuration is refused with false: it would outlive a deletion.
// One that only says that nothing changed is recorded, and announced to nobody.
func (s *State) SetInstanceStatus(p object.Path, node string, v cluster.InstanceStatus) (known bool) {
	known, _ = s.setStatus(p, node, v, func(*cluster.InstanceStatus) bool { return true })
	return known
}

// RenewInstanceStatus is [State.SetInstanceStatus] of what was looked at while the
// status was the one given. Another one that came meanwhile may know more, and stays:
// then it is overtaken.
func (s *State) RenewInstanceStatus(p object.Path, node string, was *cluster.InstanceStatus, v cluster.InstanceStatus) (known, overtaken bool) {
	known, set := s.setStatus(p, node, v, func(is *cluster.InstanceStatus) bool { return is == was })
	return known, known && !set
}

func (s *State) setStatus(p object.Path, node string, v cluster.InstanceStatus, replaces func(*cluster.InstanceStatus) bool) (known, set bool) {
	s.apply(func(c *change) { known, set = c.setInstanceStatus(p, node, v, replaces) })
	return known, set
}

func (c *change) setInstanceStatus(p object.Path, node string, v cluster.InstanceStatus, replaces func(*cluster.InstanceStatus) bool) (known, set bool) {
	i, existed := instanceOf(c, p, node)
	if known = existed && i.Config != nil; !known {
		return known, false
	}
	if set = replaces(i.Status); !set {
		return known, set
	}
	e := event.InstanceStatusUpdated{Path: p, Node: node, Status: v}
	switch same, identical := sameStatus(i.Status, &v); {
	case identical:
		return known, set
	case same: // evaluated again with the same result
		i.Status = &v
		o := *c.view.Objects[p]
		o.Instances = maps.Clone(o.Instances)
		o.Instances[node] = i
		c.setObject(p, &o)
		return known, set
	}
	i.Status = &v
	c.touch(node, keyOf(p, keyStatus))
	c.emit(e)
	c.setInstance(p, node, &i, e.Kind())
	return known, set
}

func sameStatus(old, v *cluster.InstanceStatus) (same, identical bool) {
	if old == nil {
		return false, false
	}
	dated := *old
	dated.UpdatedAt = v.UpdatedAt
	same = reflect.DeepEqual(dated, *v)
	return same, same && old.UpdatedAt.Equal(v.UpdatedAt)
}

// SetInstanceMonitor replaces what the monitor of an instance does and wants;
// false when the instance has no configuration.
func (s *State) SetInstanceMonitor(p object.Path, node string, v cluster.InstanceMonitor) (known bool) {
	s.apply(func(c *change) { known = c.setInstanceMonitor(p, node, v) })
	return known
}

func (c *change) setInstanceMonitor(p object.Path, node string, v cluster.InstanceMonitor) (known bool) {
	i, existed := instanceOf(c, p, node)
	if known = existed && i.Config != nil; !known {
		return known
	}
	if i.Monitor != nil {
		dated := *i.Monitor
		dated.UpdatedAt = v.UpdatedAt
		if reflect.DeepEqual(dated, v) {
			return known
		}
	}
	i.Monitor = &v
	c.touch(node, keyOf(p, keyMonitor))
	e := event.InstanceMonitorUpdated{Path: p, Node: node, Monitor: v}
	c.emit(e)
	c.setInstance(p, node, &i, e.Kind())
	return known
}

// DeleteInstance forgets the instance of p on node, and the object with its last
// instance. It reports whether there was one.
func (s *State) DeleteInstance(p object.Path, node string) (existed bool) {
	s.apply(func(c *change) { existed = c.deleteInstance(p, node) })
	return existed
}

func (c *change) deleteInstance(p object.Path, node string) (existed bool) {
	i, existed := instanceOf(c, p, node)
	if !existed {
		return false
	}
	c.touchInstance(p, node, i)
	if node == c.self {
		c.gone = append(c.gone, keyOf(p, keyConfig), keyOf(p, keyStatus), keyOf(p, keyMonitor))
	}
	c.emit(event.InstanceConfigDeleted{Path: p, Node: node})
	if i.Status != nil {
		c.emit(event.InstanceStatusDeleted{Path: p, Node: node})
	}
	if i.Monitor != nil {
		c.emit(event.InstanceMonitorDeleted{Path: p, Node: node})
	}
	c.setInstance(p, node, nil, event.InstanceConfigDeleted{}.Kind())
	return true
}

// withdraw forgets the status or the monitor of an instance that keeps its
// configuration.
func (c *change) withdraw(p object.Path, node, part string) {
	i, existed := instanceOf(c, p, node)
	if !existed {
		return
	}
	var e event.Event
	switch {
	case part == keyStatus && i.Status != nil:
		i.Status, e = nil, event.InstanceStatusDeleted{Path: p, Node: node}
	case part == keyMonitor && i.Monitor != nil:
		i.Monitor, e = nil, event.InstanceMonitorDeleted{Path: p, Node: node}
	default:
		return
	}
	c.emit(e)
	c.setInstance(p, node, &i, e.Kind())
}

func (c *change) touchInstance(p object.Path, node string, i cluster.Instance) {
	c.touch(node, keyOf(p, keyConfig))
	if i.Status != nil {
		c.touch(node, keyOf(p, keyStatus))
	}
	if i.Monitor != nil {
		c.touch(node, keyOf(p, keyMonitor))
	}
}

func instanceOf(c *change, p object.Path, node string) (i cluster.Instance, existed bool) {
	if o := c.view.Objects[p]; o != nil {
		i, existed = o.Instances[node]
	}
	return i, existed
}

// setInstance replaces or, when i is nil, removes an instance, and aggregates
// its object again.
func (c *change) setInstance(p object.Path, node string, i *cluster.Instance, source string) {
	old := c.view.Objects[p]
	instances := map[string]cluster.Instance{}
	if old != nil {
		maps.Copy(instances, old.Instances)
	}
	if i == nil {
		delete(instances, node)
	} else {
		instances[node] = *i
	}
	if len(instances) == 0 {
		c.setObject(p, nil)
		c.emit(event.ObjectStatusDeleted{Path: p, Node: c.self})
		c.emit(event.ObjectDeleted{Path: p, Node: c.self})
		c.emit(event.ObjectStatusDone{Path: p})
		return
	}
	o := cluster.Aggregate(p, instances)
	if changed := old == nil || !sameObject(old, &o); changed {
		o.UpdatedAt = c.now
		shown := o
		shown.Instances = nil // told by their own events
		c.emit(event.ObjectStatusUpdated{Path: p, Node: c.self, Status: shown, Source: source})
	} else {
		o.UpdatedAt = old.UpdatedAt
	}
	c.setObject(p, &o)
}

func sameObject(a, b *cluster.Object) bool {
	x, y := *a, *b
	x.Instances, y.Instances = nil, nil
	x.UpdatedAt, y.UpdatedAt = time.Time{}, time.Time{}
	return reflect.DeepEqual(x, y)
}
