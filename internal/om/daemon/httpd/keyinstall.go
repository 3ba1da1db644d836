package httpd

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// postInstanceActionKeyInstall submits an install in each instance of this node that
// has files made of the keys. The instances of the namespaces the caller may not read
// have theirs installed too, as when a key changes, and are not told of.
func (s *Server) postInstanceActionKeyInstall(ctx context.Context, in *api.KeyInstall) (api.KeyInstallList, error) {
	from, _, err := s.local(in.ObjectName)
	switch {
	case err != nil:
		return api.KeyInstallList{}, err
	case !from.Kind.Stores():
		return api.KeyInstallList{}, badRequest(errors.New(from.String() + " has no keys: keys are of cfg, sec and usr objects"))
	}
	session := cmp.Or(in.SessionID, uuid.NewString())
	if _, err := uuid.Parse(session); err != nil {
		return api.KeyInstallList{}, badRequest(errors.New("query.session_id: " + session + " is no uuid"))
	}
	list := api.KeyInstallList{Kind: "KeyInstallList", Items: []api.KeyInstallItem{}}
	objects := s.o.State.View().Objects
	for _, p := range slices.SortedFunc(maps.Keys(objects), object.Compare) {
		if _, here := objects[p].Instances[s.o.Node]; !here || !p.Kind.Runs() {
			continue
		}
		rids, err := s.o.Instances.Installs(p, from, cmp.Or(in.Key, "**"))
		if err != nil {
			return list, err
		}
		if len(rids) == 0 {
			continue
		}
		rid := strings.Join(rids, ",")
		ids, err := s.o.Executor.Submit(context.WithoutCancel(ctx), executor.Job{
			Path: p, Args: []string{"instance", "install", "--rid=" + rid}, RID: rid, Origin: executor.OriginAPI, SessionID: session,
		})
		if err != nil {
			return list, err
		}
		if !mayRead(ctx, p.Namespace) {
			continue
		}
		list.Items = append(list.Items, api.KeyInstallItem{
			Kind: "KeyInstallItem", Meta: api.InstanceMeta{Object: p.String(), Node: s.o.Node},
			Data: api.InstanceActionAccepted{SessionID: ids.SessionID, ExecID: ids.ExecID},
		})
	}
	return list, nil
}
