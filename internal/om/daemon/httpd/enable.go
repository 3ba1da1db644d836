package httpd

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func (s *Server) postSvcDisable(ctx context.Context, in *api.SvcResources) (api.None, error) {
	return s.disable(ctx, *in, true)
}

func (s *Server) postSvcEnable(ctx context.Context, in *api.SvcResources) (api.None, error) {
	return s.disable(ctx, *in, false)
}

// disable sets or removes the disable keyword of the selected resources, of the
// service itself when none is selected.
func (s *Server) disable(ctx context.Context, in api.SvcResources, on bool) (api.None, error) {
	p, err := path(api.ObjectName{Namespace: in.Namespace, Kind: string(object.KindSvc), Name: in.Name})
	if err != nil {
		return api.None{}, err
	}
	if _, err := s.known(p); err != nil {
		return api.None{}, err
	}
	sections := []string{"DEFAULT"}
	if in.Rid != "" || in.Subset != "" || in.Tag != "" {
		r, err := instance.RequestOf(instance.Info, api.InstanceAction{Rid: in.Rid, Subset: in.Subset, Tag: in.Tag})
		if err != nil {
			return api.None{}, badRequest(fmt.Errorf("query.%w", err))
		}
		if sections, err = s.o.Instances.Selected(p, r); err != nil {
			return api.None{}, configProblem(err)
		}
	}
	change, err := s.disableChange(p, sections, on)
	if err != nil || len(change.Set)+len(change.Unset) == 0 {
		return api.None{}, err
	}
	_, err = s.change(ctx, p, change)
	return api.None{}, err
}

// disableChange is what disables, or enables, sections. One that is enabled says
// nothing of it, on any node.
func (s *Server) disableChange(p object.Path, sections []string, on bool) (api.ConfigChange, error) {
	f, err := s.o.Store.Load(p)
	if err != nil {
		return api.ConfigChange{}, err
	}
	var c api.ConfigChange
	for _, section := range sections {
		if on {
			c.Set = append(c.Set, section+".disable=true")
		}
		for _, key := range f.Doc.Keys(section) {
			if strings.EqualFold(key.Option, "disable") && (!on || key.Scope != "") {
				c.Unset = append(c.Unset, key.String())
			}
		}
	}
	return c, nil
}
