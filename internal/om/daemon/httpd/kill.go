package httpd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
)

// deleteDaemonExecs refuses an empty selection: signaling everything is nothing one
// does by leaving parameters out.
func (s *Server) deleteDaemonExecs(ctx context.Context, in *api.ExecKill) (api.ExecList, error) {
	if in.SessionID+in.ExecID+in.OrchestrationID+in.Selector+in.Origin+in.Rid == "" {
		return api.ExecList{}, badRequest(errors.New(
			"nothing narrows the selection: give exec_id, session_id, orchestration_id, selector, origin or rid"))
	}
	sig, err := signalOf(in.Signal)
	if err != nil {
		return api.ExecList{}, badRequest(err)
	}
	wanted, err := s.wanted(ctx, &in.ExecQuery)
	if err != nil {
		return api.ExecList{}, err
	}
	hit, err := s.o.Executor.Kill(wanted, sig, in.DryRun)
	if err != nil {
		return api.ExecList{}, err
	}
	return execs(hit), nil
}

// signalOf reads the name or the number of a signal.
func signalOf(text string) (syscall.Signal, error) {
	if text == "" {
		return syscall.SIGTERM, nil
	}
	if n, err := strconv.Atoi(text); err == nil {
		if name := unix.SignalName(syscall.Signal(n)); name != "" {
			return syscall.Signal(n), nil
		}
	}
	name := strings.ToUpper(text)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	if sig := unix.SignalNum(name); sig != 0 {
		return sig, nil
	}
	return 0, fmt.Errorf("query.signal: %q is no signal: write a name, as TERM, INT, HUP or KILL, or a number", text)
}

func (s *Server) getDaemonProcesses(ctx context.Context, in *api.ProcessQuery) (api.ProcessList, error) {
	wanted, err := s.wanted(ctx, &api.ExecQuery{State: api.StateRunning, Origin: in.Sub, Selector: in.Selector, Rid: in.Rid})
	if err != nil {
		return api.ProcessList{}, err
	}
	list := api.ProcessList{Kind: "ProcessList", Items: []api.Process{}}
	for _, r := range s.o.Executor.Records(wanted) {
		list.Items = append(list.Items, s.process(r))
	}
	return list, nil
}

func (s *Server) process(r executor.Record) api.Process {
	p := api.Process{
		Node: r.Node, Pid: r.Pid, Object: r.Path.String(), StartedAt: r.StartedAt, Elapsed: time.Since(r.StartedAt).Round(time.Millisecond).String(),
		Sub: origin(r), Sid: r.SessionID, Cmd: r.Command, Rid: r.RID,
	}
	if o, err := s.o.Monitor.Orchestration(r.OrchestrationID); err == nil {
		p.GlobalExpect = o.GlobalExpect
	}
	return p
}

func (s *Server) deleteDaemonProcesses(_ context.Context, in *api.ProcessKill) (api.None, error) {
	if len(in.Pid) == 0 {
		return api.None{}, badRequest(errors.New("query.pid: which processes: give their ids, as the list has them"))
	}
	named := func(r executor.Record) bool { return r.State == executor.Running && slices.Contains(in.Pid, r.Pid) }
	found, err := s.o.Executor.Kill(named, 0, true)
	if err != nil {
		return api.None{}, err
	}
	for _, pid := range in.Pid {
		if !slices.ContainsFunc(found, func(r executor.Record) bool { return r.Pid == pid }) {
			return api.None{}, api.NewProblem(http.StatusConflict, fmt.Sprintf("process %d is none that the daemon of %s runs: it ended, or is another's", pid, s.o.Node))
		}
	}
	// The ids are resolved again: what ended meanwhile gets nothing.
	_, err = s.o.Executor.Kill(named, syscall.SIGTERM, false)
	return api.None{}, err
}
