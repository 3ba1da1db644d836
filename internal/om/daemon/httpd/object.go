package httpd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

type objectQuery struct {
	api.ObjectQuery
	IfNoneMatch string `header:"If-None-Match" doc:"Entity tag of the answer already held."`
}

func (s *Server) getObjects(ctx context.Context, in *objectQuery) (body, error) {
	v, paths, err := s.selected(ctx, in.Path, false)
	if err != nil {
		return nil, err
	}
	items, err := s.encoded.of(v, paths)
	if err != nil {
		return nil, err
	}
	all := s.encoded.join(items)
	return func(c huma.Context, status int) {
		c.SetHeader("ETag", all.tag)
		if holds(in.IfNoneMatch, all.tag) {
			c.SetStatus(http.StatusNotModified)
			return
		}
		writeBytes(c, status, "application/json", all.data)
	}, nil
}

// holds reports whether an If-None-Match header names a tag. The comparison is
// the weak one, that RFC 9110 asks for.
func holds(header, tag string) bool {
	return header != "" && matchesList(header, func(word string) bool {
		return word == "*" || strings.TrimPrefix(word, "W/") == tag
	})
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

func (s *Server) getObject(_ context.Context, in *api.ObjectName) (api.ObjectItem, error) {
	p, err := path(*in)
	if err != nil {
		return api.ObjectItem{}, err
	}
	o, err := s.known(p)
	if err != nil {
		return api.ObjectItem{}, err
	}
	return api.ObjectItem{Kind: "ObjectItem", Meta: api.ObjectMeta{Object: p.String()}, Data: *o}, nil
}

// getClusterStatus writes the objects from their encodings: they are most of the
// answer.
func (s *Server) getClusterStatus(ctx context.Context, in *api.ClusterStatusQuery) (body, error) {
	v, paths, err := s.selected(ctx, in.Selector, false)
	if err != nil {
		return nil, err
	}
	items, err := s.encoded.of(v, paths)
	if err != nil {
		return nil, err
	}
	nodes := v.Nodes
	if !principal(ctx).Grants.Has(rbac.Root) {
		nodes = publicNodes(nodes)
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
