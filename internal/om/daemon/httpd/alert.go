package httpd

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func (s *Server) getObjectConfigAlerts(_ context.Context, in *api.ObjectName) (api.AlertList, error) {
	p, err := path(*in)
	if err != nil {
		return api.AlertList{}, err
	}
	return s.alerts(p)
}

func (s *Server) getClusterConfigAlerts(context.Context, *api.None) (api.AlertList, error) {
	return s.alerts(object.Cluster())
}

func (s *Server) getNodeConfigAlerts(context.Context, *api.NodeName) (api.AlertList, error) {
	return s.alerts(object.Path{})
}

// alerts lists what is wrong in a configuration; that of the node for the zero path.
func (s *Server) alerts(p object.Path) (api.AlertList, error) {
	f, err := s.o.Store.Load(p)
	if err != nil {
		return api.AlertList{}, err
	}
	alerts := s.o.Store.Validate(p, f.Doc)
	if alerts == nil {
		alerts = []keyword.Alert{}
	}
	return api.AlertList{Kind: "AlertList", Items: alerts}, nil
}
