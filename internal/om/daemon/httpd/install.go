package httpd

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

func (s *Server) postInstanceInstalled(_ context.Context, in *api.InstanceInstalled) (api.None, error) {
	p, _, err := s.local(in.ObjectName)
	if err != nil {
		return api.None{}, err
	}
	if _, _, ok := resource.SplitID(in.Body.Rid); !ok {
		return api.None{}, badRequest(fmt.Errorf("body.rid: %q is no resource id", in.Body.Rid))
	}
	if len(in.Body.Files) == 0 {
		return api.None{}, badRequest(errors.New("body.files: no file"))
	}
	s.o.Bus.Publish(event.FileInstalled{Path: p, Node: s.o.Node, RID: in.Body.Rid, Files: in.Body.Files})
	return api.None{}, nil
}
