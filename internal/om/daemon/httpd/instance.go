package httpd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// eachInstance calls f for the instances designated, in order of path and node.
func (s *Server) eachInstance(ctx context.Context, paths, nodes string, f func(object.Path, string, cluster.Instance)) error {
	v, selected, err := s.selected(ctx, paths, false)
	if err != nil {
		return err
	}
	names, err := s.nodes(v, nodes)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, p := range selected {
		for _, node := range names {
			if i, ok := v.Objects[p].Instances[node]; ok {
				f(p, node, i)
			}
		}
	}
	return nil
}

func (s *Server) getInstances(ctx context.Context, in *api.InstanceQuery) (body, error) {
	var keys []instanceKey
	values := map[instanceKey]cluster.Instance{}
	err := s.eachInstance(ctx, in.Path, in.Node, func(p object.Path, node string, i cluster.Instance) {
		k := instanceKey{path: p, node: node}
		keys, values[k] = append(keys, k), i
	})
	if err != nil {
		return nil, err
	}
	encoded := s.instances.narrow(fields(ctx))
	items, err := encoded.of(keys, func(k instanceKey) cluster.Instance { return values[k] }, s.hasInstance, s.countInstances())
	if err != nil {
		return nil, err
	}
	return encoded.join(items).write, nil
}

func (s *Server) hasInstance(k instanceKey) bool {
	o := s.o.State.View().Objects[k.path]
	if o == nil {
		return false
	}
	_, ok := o.Instances[k.node]
	return ok
}

func (s *Server) countInstances() int {
	count := 0
	for _, o := range s.o.State.View().Objects {
		count += len(o.Instances)
	}
	return count
}

// local returns the instance of an object on this node.
func (s *Server) local(n api.ObjectName) (object.Path, cluster.Instance, error) {
	p, err := path(n)
	if err != nil {
		return p, cluster.Instance{}, err
	}
	o, err := s.known(p)
	if err != nil {
		return p, cluster.Instance{}, err
	}
	i, ok := o.Instances[s.o.Node]
	if !ok {
		return p, cluster.Instance{}, &instance.NotFoundError{Path: p, Node: s.o.Node}
	}
	return p, i, nil
}

func (s *Server) getInstance(_ context.Context, in *api.InstanceName) (body, error) {
	p, i, err := s.local(in.ObjectName)
	if err != nil {
		return nil, err
	}
	k := instanceKey{path: p, node: s.o.Node}
	items, err := s.instances.of([]instanceKey{k}, func(instanceKey) cluster.Instance { return i }, s.hasInstance, s.countInstances())
	if err != nil {
		return nil, err
	}
	return single(items[0]), nil
}

func (s *Server) getResources(ctx context.Context, in *api.ResourceQuery) (body, error) {
	if err := object.CheckGlob(in.Resource); err != nil {
		return nil, badRequest(fmt.Errorf("query.resource: %q: %w", in.Resource, err))
	}
	var keys []resourceKey
	values := map[instanceKey]cluster.Instance{}
	err := s.eachInstance(ctx, in.Path, in.Node, func(p object.Path, node string, i cluster.Instance) {
		k := instanceKey{path: p, node: node}
		values[k] = i
		for _, rid := range resourceIDs(i) {
			if matchesResource(in.Resource, rid) {
				keys = append(keys, resourceKey{k, rid})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	encoded := s.resources.narrow(fields(ctx))
	items, err := encoded.of(keys, func(k resourceKey) cluster.Instance { return values[k.instanceKey] }, s.hasResource, s.countResources())
	if err != nil {
		return nil, err
	}
	return encoded.join(items).write, nil
}

func (s *Server) hasResource(k resourceKey) bool {
	o := s.o.State.View().Objects[k.path]
	return o != nil && slices.Contains(resourceIDs(o.Instances[k.node]), k.rid)
}

// countResources returns at least as many resources as there are.
func (s *Server) countResources() int {
	count := 0
	for _, o := range s.o.State.View().Objects {
		for _, i := range o.Instances {
			if i.Config != nil {
				count += len(i.Config.Resources)
			}
			if i.Status != nil {
				count += len(i.Status.Resources)
			}
		}
	}
	return count
}

// matchesResource reads a list of ids, groups and globs.
func matchesResource(list, rid string) bool {
	group, _, _ := strings.Cut(rid, "#")
	return matchesList(list, func(word string) bool { return word == group || object.Glob(word, rid) })
}

func resourceIDs(i cluster.Instance) []string {
	ids := map[string]struct{}{}
	if i.Config != nil {
		for rid := range i.Config.Resources {
			ids[rid] = struct{}{}
		}
	}
	if i.Status != nil {
		for rid := range i.Status.Resources {
			ids[rid] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

func resourceOf(i cluster.Instance, rid string) api.Resource {
	var r api.Resource
	if i.Config != nil {
		r.Config = part(i.Config.Resources, rid)
	}
	if i.Status != nil {
		r.Status = part(i.Status.Resources, rid)
	}
	if i.Monitor != nil {
		r.Monitor = part(i.Monitor.Resources, rid)
	}
	return r
}

func part[T any](m map[string]T, rid string) *T {
	if v, ok := m[rid]; ok {
		return &v
	}
	return nil
}

func (s *Server) getInstanceConfigFile(ctx context.Context, in *api.InstanceName) (api.ConfigFile, error) {
	return s.getObjectConfigFile(ctx, &in.ObjectName)
}

func (s *Server) getInstanceResourceInfo(ctx context.Context, in *api.InstanceName) (api.ResourceInfoList, error) {
	return s.resourceInfo(ctx, in.ObjectName)
}

func (s *Server) resourceInfo(ctx context.Context, n api.ObjectName) (api.ResourceInfoList, error) {
	p, _, err := s.local(n)
	if err != nil {
		return api.ResourceInfoList{}, err
	}
	info, err := s.o.Instances.Info(ctx, p, instance.Request{Action: instance.Info}, false)
	if err != nil {
		return api.ResourceInfoList{}, err
	}
	list := api.ResourceInfoList{Kind: "ResourceInfoList", Items: make([]api.ResourceInfoItem, len(info))}
	for i, item := range info {
		list.Items[i] = api.ResourceInfoItem{Object: item.Object, Node: item.Node, Rid: item.RID, Key: item.Key, Value: item.Value}
	}
	return list, nil
}

func (s *Server) postInstanceClear(ctx context.Context, in *api.InstanceName) (api.None, error) {
	p, _, err := s.local(in.ObjectName)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.o.Monitor.Clear(ctx, p)
}

func (s *Server) postInstanceProgress(ctx context.Context, in *api.InstanceProgress) (api.None, error) {
	p, _, err := s.local(in.ObjectName)
	if err != nil {
		return api.None{}, err
	}
	if _, err := uuid.Parse(in.Body.SessionID); err != nil {
		return api.None{}, badRequest(fmt.Errorf("body.session_id: %q is no uuid", in.Body.SessionID))
	}
	if !slices.Contains(orchestrate.States(), in.Body.State) {
		return api.None{}, badRequest(fmt.Errorf("body.state: %q is no state of an instance: use one of %s", in.Body.State, strings.Join(orchestrate.States(), ", ")))
	}
	return api.None{}, s.o.Monitor.Progress(ctx, p, in.Body.SessionID, in.Body.State, in.Body.IsPartial)
}

func (s *Server) postInstanceStatus(_ context.Context, in *api.InstanceStatusPost) (api.None, error) {
	p, _, err := s.local(in.ObjectName)
	if err != nil {
		return api.None{}, err
	}
	if err := checkStatus(in.Body); err != nil {
		return api.None{}, badRequest(err)
	}
	s.o.Bus.Publish(event.InstanceStatusPost{Path: p, Node: s.o.Node, Status: in.Body})
	if !s.o.State.SetInstanceStatus(p, s.o.Node, in.Body) {
		return api.None{}, fmt.Errorf("status of %s: %w", p, &instance.NotFoundError{Path: p, Node: s.o.Node})
	}
	return api.None{}, nil
}

// checkStatus refuses a status that says nothing: decoding has checked its words.
func checkStatus(i cluster.InstanceStatus) error {
	if i.Resources == nil && i.Avail == cluster.Undef && i.Overall == cluster.Undef && i.UpdatedAt.IsZero() {
		return errors.New("body: no status: avail, overall and resources are all missing")
	}
	for rid := range i.Resources {
		if group, _, _ := strings.Cut(rid, "#"); group == "" {
			return fmt.Errorf("body.resources: %q is no resource id", rid)
		}
	}
	return nil
}
