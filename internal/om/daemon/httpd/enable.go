package httpd

import (
	"context"
	"fmt"

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
func (s *Server) disable(ctx context.Context, in api.SvcResources, disabled bool) (api.None, error) {
	p, _, err := s.local(api.ObjectName{Namespace: in.Namespace, Kind: string(object.KindSvc), Name: in.Name})
	if err != nil {
		return api.None{}, err
	}
	r, err := instance.RequestOf(instance.Info, api.InstanceAction{Rid: in.Rid, Subset: in.Subset, Tag: in.Tag})
	if err != nil {
		return api.None{}, badRequest(fmt.Errorf("query.%w", err))
	}
	set, unset, err := s.o.Instances.Switch(p, r, disabled)
	if err != nil || len(set)+len(unset) == 0 {
		return api.None{}, configProblem(err)
	}
	_, err = s.change(ctx, p, api.ConfigChange{Set: set, Unset: unset})
	return api.None{}, err
}
