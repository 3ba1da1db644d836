package httpd

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

func (s *Server) getObjects(ctx context.Context, in *api.ObjectQuery) (body, error) {
	v, paths, err := s.selected(ctx, in.Path, false)
	if err != nil {
		return nil, err
	}
	encoded := s.objects.narrow(fields(ctx))
	items, err := encodedObjects(encoded, v, paths)
	if err != nil {
		return nil, err
	}
	return encoded.join(items).write, nil
}

func encodedObjects(e *encodings[object.Path, *cluster.Object], v *cluster.View, paths []object.Path) ([]encoding[*cluster.Object], error) {
	value := func(p object.Path) *cluster.Object { return v.Objects[p] }
	return e.of(paths, value, func(p object.Path) bool { return v.Objects[p] != nil }, len(v.Objects))
}

func (s *Server) getObjectPaths(ctx context.Context, in *api.ObjectPathQuery) (api.ObjectPaths, error) {
	_, paths, err := s.selected(ctx, in.Path, true)
	if err != nil {
		return nil, err
	}
	list := make(api.ObjectPaths, len(paths))
	for i, p := range paths {
		list[i] = p.String()
	}
	return list, nil
}

func (s *Server) getObject(_ context.Context, in *api.ObjectName) (body, error) {
	p, err := path(*in)
	if err != nil {
		return nil, err
	}
	o, err := s.known(p)
	if err != nil {
		return nil, err
	}
	v := s.o.State.View()
	items, err := s.objects.of([]object.Path{p}, func(object.Path) *cluster.Object { return o }, func(p object.Path) bool { return v.Objects[p] != nil }, len(v.Objects))
	if err != nil {
		return nil, err
	}
	return single(items[0]), nil
}

// getClusterStatus writes the objects from their encodings: they are most of the
// answer.
func (s *Server) getClusterStatus(ctx context.Context, in *api.ClusterStatusQuery) (body, error) {
	v, paths, err := s.selected(ctx, in.Selector, false)
	if err != nil {
		return nil, err
	}
	items, err := encodedObjects(s.objects, v, paths)
	if err != nil {
		return nil, err
	}
	nodes := v.Nodes
	if !principal(ctx).Grants.Has(rbac.Root) {
		nodes = publicNodes(nodes)
	}
	if s.o.Heartbeats != nil {
		nodes = withGens(nodes, s.o.Heartbeats.Gens())
	}
	head, err := json.Marshal(struct {
		Config cluster.Config           `json:"config"`
		Status cluster.Health           `json:"status"`
		Node   map[string]*cluster.Node `json:"node"`
	}{v.Config, v.Health, nodes})
	if err != nil {
		return nil, fmt.Errorf("encode the cluster: %w", err)
	}
	local, err := json.Marshal(api.DaemonLocal{
		Nodename: s.o.Node, Pid: s.o.Pid, Routines: runtime.NumGoroutine(), StartedAt: timestamp(s.o.Started),
	})
	if err != nil {
		return nil, fmt.Errorf("encode the daemon: %w", err)
	}
	return func(c huma.Context, status int) {
		chunks := [][]byte{[]byte(`{"cluster":`), head[:len(head)-1], []byte(`,"object":{`)}
		separator := ""
		for i, item := range items {
			if in.Namespace != "" && paths[i].Namespace != in.Namespace {
				continue
			}
			// A path holds no character that JSON escapes.
			chunks = append(chunks, []byte(separator+`"`+paths[i].String()+`":`), item.data)
			separator = ","
		}
		// How many routines the daemon has is of no interest to who knows the rest.
		if toldUnchanged(c, "W/"+tagOf(s.seed, chunks...)) {
			return
		}
		chunks = append(chunks, []byte(`}},"daemon":`), local, []byte("}"))
		writeBytes(c, status, "application/json", chunks...)
	}, nil
}

func (s *Server) getObjectResourceInfo(ctx context.Context, in *api.ObjectName) (api.ResourceInfoList, error) {
	return s.resourceInfo(ctx, *in)
}

// matchesList reports whether a value is in a comma separated list; an empty
// list holds everything.
func matchesList(list string, match func(word string) bool) bool {
	if list == "" {
		return true
	}
	for word := range strings.SplitSeq(list, ",") {
		if match(strings.TrimSpace(word)) {
			return true
		}
	}
	return false
}
