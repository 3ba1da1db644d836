package httpd

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func (s *Server) getPools(_ context.Context, in *api.PoolQuery) (api.PoolList, error) {
	if _, err := s.nodes(s.o.State.View(), in.Node); err != nil {
		return api.PoolList{}, err
	}
	return api.PoolList{Kind: "PoolList", Items: []api.Pool{}}, s.noneDeclared("pool", in.Name)
}

func (s *Server) getPoolVolumes(_ context.Context, in *api.PoolVolumeQuery) (api.PoolVolumeList, error) {
	return api.PoolVolumeList{Kind: "PoolVolumeList", Items: []api.PoolVolume{}}, s.noneDeclared("pool", in.Name)
}

func (s *Server) getNetworks(_ context.Context, in *api.NetworkQuery) (api.NetworkList, error) {
	return api.NetworkList{Kind: "NetworkList", Items: []api.Network{}}, s.noneDeclared("network", in.Name)
}

func (s *Server) getNetworkIP(_ context.Context, in *api.NetworkQuery) (api.NetworkIPList, error) {
	return api.NetworkIPList{Kind: "NetworkIPList", Items: []api.NetworkIP{}}, s.noneDeclared("network", in.Name)
}

// noneDeclared lets a list be empty when nothing is declared. What is declared
// cannot be used yet, and an empty list would say it does not exist.
func (s *Server) noneDeclared(kind, name string) error {
	var declared []string
	for _, p := range []object.Path{object.Cluster(), {}} {
		f, err := s.o.Store.Load(p)
		if err != nil {
			return fmt.Errorf("list the %ss: %w", kind, err)
		}
		for _, section := range f.Doc.Sections() {
			if of, ok := strings.CutPrefix(section, kind+"#"); ok && !slices.Contains(declared, of) {
				declared = append(declared, of)
			}
		}
	}
	switch {
	case name != "" && !slices.Contains(declared, name):
		return &object.NotFoundError{What: kind + " " + name}
	case name != "":
		declared = []string{name}
	}
	if len(declared) == 0 {
		return nil
	}
	return api.NewProblem(http.StatusNotImplemented, fmt.Sprintf("%s %s: declared, and this agent has no driver for a %s yet: nothing is known of it",
		kind, strings.Join(declared, ", "), kind))
}
