package orchestrate_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// explained is a world of one node, whose instance may be changed.
func explained(edit func(*orchestrate.World, *cluster.InstanceStatus, *cluster.InstanceMonitor)) orchestrate.World {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	status := &cluster.InstanceStatus{
		Avail: cluster.Down, Overall: cluster.Down, Provisioned: cluster.ProvisionedTrue,
		Resources: map[string]cluster.ResourceStatus{"app#1": {Status: cluster.Down, Provisioned: cluster.ProvisionedAt{State: cluster.ProvisionedTrue}}},
	}
	m := &cluster.InstanceMonitor{State: orchestrate.StateIdle, GlobalExpect: orchestrate.None, LocalExpect: orchestrate.None}
	w := orchestrate.World{
		Now: at, Self: "n1", Path: object.Path{Namespace: "ns1", Kind: object.KindSvc, Name: "web"}, Quorum: true,
		Config: cluster.InstanceConfig{
			Orchestrate: cluster.OrchestrateHA, Topology: cluster.TopologyFailover, Scope: []string{"n1"},
			Resources: map[string]cluster.ResourceConfig{"app#1": {}},
		},
	}
	edit(&w, status, m)
	frozen := w.Nodes["n1"].Frozen
	w.Nodes = map[string]orchestrate.Node{"n1": {State: orchestrate.StateIdle, Frozen: frozen, Status: status, Monitor: m}}
	return w
}

func TestExplanations(t *testing.T) {
	t.Parallel()
	type (
		world  = orchestrate.World
		status = cluster.InstanceStatus
		mon    = cluster.InstanceMonitor
	)
	for name, edit := range map[string]func(*world, *status, *mon){
		"ha down": func(*world, *status, *mon) {},
		"ha ready": func(w *world, _ *status, m *mon) {
			w.ReadyPeriod, m.State, m.StateUpdatedAt = time.Minute, orchestrate.StateReady, w.Now
		},
		"resource stopped on purpose": func(_ *world, s *status, _ *mon) {
			s.Avail, s.Resources["app#1"] = cluster.StandbyUp, cluster.ResourceStatus{Status: cluster.Down, Stopped: true}
		},
		"frozen": func(_ *world, s *status, _ *mon) { s.FrozenAt = time.Unix(1, 0) },
		"not orchestrated and frozen": func(w *world, s *status, _ *mon) {
			w.Config.Orchestrate, s.FrozenAt = cluster.OrchestrateNo, time.Unix(1, 0)
		},
		"stopped on purpose": func(_ *world, s *status, _ *mon) { s.StoppedAt = time.Unix(1, 0) },
		"node frozen": func(w *world, _ *status, _ *mon) {
			w.Nodes = map[string]orchestrate.Node{"n1": {Frozen: true}}
		},
		"start failed": func(_ *world, s *status, m *mon) {
			m.State = orchestrate.StateStartFailed
			r := s.Resources["app#1"]
			r.Log = []cluster.ResourceLogEntry{{Level: "error", Message: "exit status 1"}, {Level: "info", Message: "not shown"}}
			s.Resources["app#1"] = r
		},
		"parents waited for": func(w *world, _ *status, m *mon) {
			w.Parents = map[string]cluster.Status{"ns1/svc/db": cluster.Down}
			m.GlobalExpect, m.OrchestrationID = orchestrate.Started, "o1"
		},
		"not provisioned": func(_ *world, s *status, _ *mon) {
			s.Provisioned = cluster.ProvisionedFalse
			r := s.Resources["app#1"]
			r.Provisioned.State = cluster.ProvisionedFalse
			s.Resources["app#1"] = r
		},
		"restarts used up": func(w *world, s *status, m *mon) {
			s.Avail, s.FrozenAt = cluster.Warn, time.Unix(1, 0)
			w.Config.Resources["app#1"] = cluster.ResourceConfig{Restart: 2}
			m.LocalExpect = orchestrate.Started
			m.Resources = map[string]cluster.ResourceMonitor{"app#1": {}}
		},
		"starting":      func(_ *world, _ *status, m *mon) { m.State = orchestrate.StateStarting },
		"broken config": func(w *world, _ *status, _ *mon) { w.Config.Issues = []string{"app#1.start: no such key"} },
		"up and not orchestrated": func(w *world, s *status, _ *mon) {
			w.Config.Orchestrate, s.Avail = cluster.OrchestrateNo, cluster.Up
			s.Resources["app#1"] = cluster.ResourceStatus{Status: cluster.Up}
		},
		"up": func(_ *world, s *status, _ *mon) {
			s.Avail = cluster.Up
			s.Resources["app#1"] = cluster.ResourceStatus{Status: cluster.Up}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.MarshalIndent(orchestrate.Explain(explained(edit)), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "explain", strings.ReplaceAll(name, " ", "-")+".json")
			if *update {
				if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// passing lists the reasons that need no change: they pass by themselves, or say
// what is done.
func passing() []string {
	return []string{
		"converge", "ended", "peer-unacked", "peer-stops", "wait-peers", "wait-priors", "wait-stop", "catch-up", "taken-over", "peer-restarts",
		"acting", "action-done", "action-running", "adopt", "await", "boot", "delete", "deleted", "down", "evaluating", "freeze", "ha-start",
		"hold", "locked", "monitor-action", "monitor-action-done", "no-instance", "no-status", "peer-acting", "peer-ready", "pre-monitor-action",
		"provision", "provisioned", "record-boot", "recovered", "release", "restart", "restart-delay", "resume", "settled", "start", "stop",
		"stopped", "unfreeze", "unknown-state", "unprovision", "up",
	}
}

func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// A reason that nobody can do anything about is said to be one, so that a new one
// is thought of.
func TestEveryReasonSaysWhatChangesItOrPasses(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && (f.Recv != nil && receiver(f) != "decider" || f.Name.Name == "DecideNode") {
				return false // what is decided about the node is explained elsewhere
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if (name == "because" || name == "no") && ok && literal.Kind == token.STRING {
				id, _ := strconv.Unquote(literal.Value)
				reasons[id] = true
			}
			return true
		})
	}
	if len(reasons) < 40 {
		t.Fatalf("%d reasons only", len(reasons))
	}
	for id := range reasons {
		if changes, passes := orchestrate.Change(id, "web") != "", slices.Contains(passing(), id); changes == passes {
			t.Errorf("%s: changed by %t, passes %t", id, changes, passes)
		}
	}
}
