package httpd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

func (s *Server) postDaemonStop(context.Context, *api.NodeName) (api.DaemonPid, error) {
	s.o.Ending.Stop()
	return api.DaemonPid{Pid: s.o.Pid}, nil
}

func (s *Server) postDaemonRestart(context.Context, *api.NodeName) (api.DaemonRestarting, error) {
	s.o.Ending.Restart()
	ok := said("the daemon of " + s.o.Node + " restarts")
	return api.DaemonRestarting{DaemonPid: api.DaemonPid{Pid: s.o.Pid}, Title: ok.Title, Detail: ok.Detail, Status: ok.Status}, nil
}

func (s *Server) postDaemonShutdown(ctx context.Context, in *api.DaemonShutdown) (api.DaemonPid, error) {
	ctx, cancel, err := within(ctx, "duration", in.Duration)
	if err != nil {
		return api.DaemonPid{}, err
	}
	defer cancel()
	if err := s.o.Ending.Shutdown(ctx); err != nil {
		if statusOf(err) == http.StatusRequestTimeout {
			return api.DaemonPid{}, err
		}
		return api.DaemonPid{}, api.NewProblem(http.StatusConflict, err.Error())
	}
	return api.DaemonPid{Pid: s.o.Pid}, nil
}

func (s *Server) getDaemonExecs(ctx context.Context, in *api.ExecQuery) (api.ExecList, error) {
	wanted, err := s.wanted(ctx, in)
	if err != nil {
		return api.ExecList{}, err
	}
	return execs(s.o.Executor.Records(func(r executor.Record) bool { return wanted(r) && mayFollow(ctx, r.Path) })), nil
}

// wanted returns what a query selects. It is called under the lock of the
// executor: what it needs of the rest is looked up before.
func (s *Server) wanted(ctx context.Context, in *api.ExecQuery) (func(executor.Record) bool, error) {
	chosen, err := s.choose(ctx, in.Selector)
	if err != nil {
		return nil, err
	}
	return func(r executor.Record) bool {
		return equals(in.State, string(r.State)) && equals(in.Origin, origin(r)) && equals(in.SessionID, r.SessionID) &&
			equals(in.ExecID, r.ExecID) && equals(in.OrchestrationID, r.OrchestrationID) && equals(in.Rid, r.RID) && chosen(r.Path)
	}, nil
}

func (s *Server) getDaemonExec(ctx context.Context, in *api.WaitQuery) (api.Exec, error) {
	r, err := await(ctx, in, awaited[executor.Record]{
		what: "exec", node: s.o.Node, now: s.o.Executor.Record, end: s.o.Executor.Wait,
		of: func(r executor.Record) object.Path { return r.Path },
	})
	if err != nil {
		return api.Exec{}, err
	}
	return exec(r), nil
}

func (s *Server) getDaemonOrchestrations(ctx context.Context, in *api.OrchestrationQuery) (api.OrchestrationList, error) {
	chosen, err := s.choose(ctx, in.Selector)
	if err != nil {
		return api.OrchestrationList{}, err
	}
	list := api.OrchestrationList{Kind: "OrchestrationList", Items: []api.Orchestration{}}
	for _, o := range s.orchestrations() {
		if equals(in.State, o.State) && chosen(o.Path) && mayFollow(ctx, o.Path) {
			list.Items = append(list.Items, orchestration(o))
		}
	}
	return list, nil
}

func (s *Server) getDaemonOrchestration(ctx context.Context, in *api.WaitQuery) (api.Orchestration, error) {
	o, err := await(ctx, in, awaited[monitor.Orchestration]{
		what: "orchestration", node: s.o.Node, now: s.orchestrationNow, end: s.orchestrationEnd,
		of: func(o monitor.Orchestration) object.Path { return o.Path },
	})
	if err != nil {
		return api.Orchestration{}, err
	}
	return orchestration(o), nil
}

// mayFollow reports whether the caller may follow what happens to an object; to
// the node, for the zero path.
func mayFollow(ctx context.Context, p object.Path) bool {
	if p.IsZero() {
		return principal(ctx).Grants.Has(rbac.Root)
	}
	return mayRead(ctx, p.Namespace)
}

// awaited is a kind of thing that has an id, an object and an end.
type awaited[T any] struct {
	what, node string
	now        func(id string) (T, error)
	end        func(ctx context.Context, id string) (T, error)
	of         func(T) object.Path
}

// await returns what is known of an id now or, with a wait, at its end. What the
// caller may not follow is not known, as in the lists.
func await[T any](ctx context.Context, in *api.WaitQuery, a awaited[T]) (v T, err error) {
	if _, err := uuid.Parse(in.ID); err != nil {
		return v, badRequest(fmt.Errorf("%q is no id of an %s: an id is a uuid, the list has them", in.ID, a.what))
	}
	limited, cancel, err := within(ctx, "wait", in.Wait)
	if err != nil {
		return v, err
	}
	defer cancel()
	if v, err = a.now(in.ID); err == nil && !mayFollow(ctx, a.of(v)) {
		var nothing T
		return nothing, &executor.ForgottenError{What: a.what, ID: in.ID, Node: a.node}
	}
	if in.Wait == "" || err != nil {
		return v, err
	}
	v, err = a.end(limited, in.ID)
	if errors.Is(err, context.DeadlineExceeded) {
		return v, api.NewProblem(http.StatusRequestTimeout, fmt.Sprintf("%s %s is still running after %s", a.what, in.ID, in.Wait))
	}
	return v, err
}

// choose returns what a selector chooses by path: objects that are gone are
// still chosen by their exact path.
func (s *Server) choose(ctx context.Context, expr string) (func(object.Path) bool, error) {
	if expr == "" {
		return func(object.Path) bool { return true }, nil
	}
	_, paths, err := s.selected(ctx, expr, false)
	if err != nil {
		return nil, err
	}
	chosen := map[object.Path]bool{}
	for _, p := range paths {
		chosen[p] = true
	}
	if selector, err := object.ParseSelector(expr); err == nil {
		exact, _ := selector.Exact()
		for _, p := range exact {
			chosen[p] = true
		}
	}
	return func(p object.Path) bool { return chosen[p] }, nil
}

func equals(wanted, got string) bool { return wanted == "" || wanted == got }

func execs(records []executor.Record) api.ExecList {
	list := api.ExecList{Kind: "ExecList", Items: make([]api.Exec, len(records))}
	for i, r := range records {
		list.Items[i] = exec(r)
	}
	return list
}

func exec(r executor.Record) api.Exec {
	return api.Exec{
		Node: r.Node, State: string(r.State), ExecID: r.ExecID, SessionID: r.SessionID, OrchestrationID: r.OrchestrationID,
		Path: r.Path.String(), Rid: r.RID, Origin: origin(r), Pid: r.Pid, StartedAt: started(r), EndedAt: ended(r.EndedAt),
		ExitCode: r.ExitCode, Command: r.Command, Error: r.Error,
	}
}

// started is when a run began, or was asked for when it has not yet.
func started(r executor.Record) time.Time {
	if r.StartedAt.IsZero() {
		return r.QueuedAt
	}
	return r.StartedAt
}

// origin is the word of the documentation for who submitted a run.
func origin(r executor.Record) string {
	switch {
	case r.Origin == executor.OriginAPI:
		return "api"
	case r.Origin == executor.OriginMonitor && r.Path.IsZero():
		return "nmon"
	case r.Origin == executor.OriginMonitor:
		return "imon"
	case r.Origin == executor.OriginScheduler:
		return "scheduler"
	}
	return r.Origin
}

func orchestration(o monitor.Orchestration) api.Orchestration {
	return api.Orchestration{
		OrchestrationID: o.ID, State: o.State, Path: o.Path.String(), GlobalExpect: o.GlobalExpect, AcceptedBy: o.AcceptedBy,
		StartedAt: o.StartedAt, EndedAt: ended(o.EndedAt), Reason: o.Reason,
	}
}

func ended(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}
