package httpd

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// path returns the path of n, checked.
func path(n api.ObjectName) (object.Path, error) {
	p, err := n.ObjectPath()
	if err != nil {
		return p, badRequest(err)
	}
	return p, nil
}

// known returns the state of an object. One that was just written is looked for
// on disk before it is said not to exist.
func (s *Server) known(p object.Path) (*cluster.Object, error) {
	if o := s.o.State.View().Objects[p]; o != nil {
		return o, nil
	}
	if s.o.Store.Exists(p) {
		if err := s.o.Discover.Refresh(p); err != nil {
			return nil, fmt.Errorf("read the configuration of %s: %w", p, err)
		}
		if o := s.o.State.View().Objects[p]; o != nil {
			return o, nil
		}
	}
	return nil, &object.NotFoundError{What: p.String()}
}

// selected returns the view and the paths a selector designates in it, among
// those the caller may read; every one when the selector is empty. An exact path
// nobody wrote is an error when strict is set.
func (s *Server) selected(ctx context.Context, expr string, strict bool) (*cluster.View, []object.Path, error) {
	var selector *object.Selector
	if expr != "" {
		var err error
		if selector, err = object.ParseSelector(expr); err != nil {
			return nil, nil, badRequest(err)
		}
		if exact, ok := selector.Exact(); ok {
			s.refreshMissing(exact)
		}
	}
	v := s.o.State.View()
	all := s.index.of(v)
	if !principal(ctx).Grants.Has(rbac.Root) {
		all = slices.DeleteFunc(slices.Clone(all), func(p object.Path) bool { return !mayRead(ctx, p.Namespace) })
	}
	if selector == nil {
		return v, all, nil
	}
	paths, err := selector.Select(all, s.configs(principal(ctx).Caller()))
	if err != nil {
		if !strict && statusOf(err) == http.StatusNotFound {
			return v, nil, nil
		}
		return nil, nil, err
	}
	return v, paths, nil
}

// index remembers the sorted paths of the last view.
type index struct{ last atomic.Pointer[indexed] }

type indexed struct {
	view  *cluster.View
	paths []object.Path // shared: not to be changed
}

func (i *index) of(v *cluster.View) []object.Path {
	if last := i.last.Load(); last != nil && last.view == v {
		return last.paths
	}
	paths := slices.SortedFunc(maps.Keys(v.Objects), object.Compare)
	i.last.Store(&indexed{view: v, paths: paths})
	return paths
}

// refreshMissing reads the configurations written since the view was made. An
// object that cannot be read is one the view does not have.
func (s *Server) refreshMissing(paths []object.Path) {
	for _, p := range paths {
		_, _ = s.known(p)
	}
}

// nodes returns the nodes a selector designates; every one when it is empty.
func (s *Server) nodes(v *cluster.View, expr string) ([]string, error) {
	all := make([]string, 0, len(v.Nodes))
	labels := make(map[string]map[string]string, len(v.Nodes))
	for name, n := range v.Nodes {
		all, labels[name] = append(all, name), n.Config.Labels
	}
	slices.Sort(all)
	if expr == "" {
		return all, nil
	}
	words := strings.FieldsFunc(expr, func(r rune) bool { return r == ',' || r == ' ' })
	for i, word := range words {
		if word == api.Localhost {
			words[i] = s.o.Node
		}
	}
	selector, err := object.ParseNodeSelector(strings.Join(words, ","))
	if err != nil {
		return nil, badRequest(err)
	}
	return selector.Select(all, labels)
}

// within returns ctx limited to the duration written in a parameter, when one is.
func within(ctx context.Context, name, text string) (context.Context, context.CancelFunc, error) {
	if text == "" {
		return ctx, func() {}, nil
	}
	d, err := config.ParseDuration(text)
	if err != nil || d <= 0 {
		return nil, nil, badRequest(fmt.Errorf("query.%s: %q is no duration: write 30s or 5m", name, text))
	}
	limited, cancel := context.WithTimeout(ctx, d)
	return limited, cancel, nil
}

// timestamp prints a time as the OM-Last-Modified header carries it.
func timestamp(t time.Time) string { return t.Format(api.TimeHeader) }
