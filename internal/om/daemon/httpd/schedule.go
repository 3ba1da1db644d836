package httpd

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Schedules tells what runs by itself; *scheduler.Scheduler does it.
type Schedules interface {
	// Schedule lists the jobs of an object on this node, those of the node for the
	// zero path.
	Schedule(p object.Path) []cluster.Schedule
}

func (s *Server) getNodeSchedule(context.Context, *api.NodeName) (api.ScheduleList, error) {
	if err := s.o.Discover.Refresh(object.Path{}); err != nil { // what was just written counts
		return api.ScheduleList{}, err
	}
	return s.schedule(object.Path{}), nil
}

func (s *Server) getInstanceSchedule(_ context.Context, in *api.InstanceName) (api.ScheduleList, error) {
	return s.instanceSchedule(in.ObjectName)
}

func (s *Server) getObjectSchedule(_ context.Context, in *api.ObjectName) (api.ScheduleList, error) {
	return s.instanceSchedule(*in)
}

func (s *Server) instanceSchedule(n api.ObjectName) (api.ScheduleList, error) {
	p, _, err := s.local(n)
	if err == nil {
		err = s.o.Discover.Refresh(p) // what was just written counts
	}
	if err != nil {
		return api.ScheduleList{}, err
	}
	return s.schedule(p), nil
}

func (s *Server) schedule(p object.Path) api.ScheduleList {
	list := api.ScheduleList{Kind: "ScheduleList", Items: []api.ScheduleItem{}}
	meta := api.InstanceMeta{Node: s.o.Node}
	if !p.IsZero() {
		meta.Object = p.String()
	}
	for _, line := range s.o.Schedules.Schedule(p) {
		list.Items = append(list.Items, api.ScheduleItem{Kind: "ScheduleItem", Meta: meta, Data: line})
	}
	return list
}
