package nodemon_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/arbitrator"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/nodemon"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

var web = object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "web"}

// rig is a node monitor whose deeds are written down.
type rig struct {
	*nodemon.Monitor
	t     *testing.T
	state *state.State
	bus   *bus.Bus
	paths host.Paths
	began time.Time

	mu    sync.Mutex
	deeds []string
	fails map[string]error // by deed
	holds chan struct{}    // what empties the node, when there is one
}

func (r *rig) did(what string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deeds = append(r.deeds, what)
	return r.fails[what]
}

func (r *rig) done() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.deeds)
}

func (r *rig) fail(deed string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails[deed] = err
}

// Reboot and Crash take the node down.
func (r *rig) Reboot() error { return r.did("reboot") }
func (r *rig) Crash() error  { return r.did("crash after " + time.Since(r.began).String()) }

// Vote and Check are those of arbitrators.
func (r *rig) Vote(_ context.Context, a cluster.Arbitrator, q arbitrator.Question) (orchestrate.Answer, error) {
	if q.Release {
		return orchestrate.Answer{}, r.did("release " + a.Name)
	}
	err := r.did("vote " + a.Name + " of " + strings.Join(q.Claim.Members, " "))
	return orchestrate.Answer{Vote: err == nil}, err
}

func (r *rig) Check(context.Context, cluster.Arbitrator, arbitrator.Question) error { return nil }

// Run runs the commands that fence nodes.
func (r *rig) Run(_ context.Context, c host.Cmd) (host.Output, error) {
	time.Sleep(time.Second) //nolint:forbidigo // the time of a command, in a bubble
	return host.Output{}, r.did(strings.Join(c.Argv, " "))
}

func (r *rig) Start(host.Cmd) (host.Process, error) { return nil, errors.New("not started") }

// begin runs the monitor of n1 of a cluster of these nodes, in the bubble of a test.
func begin(t *testing.T, config cluster.Config, prepare ...func(*rig, *nodemon.Options)) *rig {
	t.Helper()
	b := bus.New("n1")
	r := &rig{t: t, bus: b, state: state.New("n1", b), paths: hosttest.Paths(t), began: time.Now(), fails: map[string]error{}}
	r.state.SetClusterConfig(config)
	r.state.SetNodeConfig("n1", cluster.NodeConfig{
		ReadyPeriod: 5 * time.Second, RejoinGracePeriod: 90 * time.Second, MaintenanceGracePeriod: time.Minute, SplitAction: "crash",
	})
	o := nodemon.Options{
		Paths: r.paths, State: r.state, Bus: b, Log: slog.New(slog.DiscardHandler), Power: r, Voter: r, Runner: r, BootID: "boot",
		Freeze: func(_ context.Context, frozen bool, _ string) error {
			if err := r.did(map[bool]string{true: "freeze", false: "unfreeze"}[frozen]); err != nil {
				return err
			}
			flag := filepath.Join(r.paths.Var(), "node", "frozen")
			if !frozen {
				return os.Remove(flag)
			}
			return errors.Join(os.MkdirAll(filepath.Dir(flag), 0o700), os.WriteFile(flag, nil, 0o600))
		},
		FreezeInstance: func(p object.Path) error { return r.did("freeze " + p.String()) },
		Empty: func(ctx context.Context, _ string) error {
			if r.holds != nil {
				select {
				case <-r.holds:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return r.did("empty")
		},
		Stonith: func(node string) ([]string, error) { return []string{"fence", node}, nil },
		Forget:  func(node string) { _ = r.did("forget " + node) },
	}
	for _, f := range prepare {
		f(r, &o)
	}
	r.Monitor = nodemon.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Monitor.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return r
}

func three(quorum bool, arbitrators ...cluster.Arbitrator) cluster.Config {
	return cluster.Config{ID: "c1", Nodes: []string{"n1", "n2", "n3"}, Quorum: quorum, Arbitrators: arbitrators}
}

// hear has nodes heard.
func (r *rig) hear(nodes ...string) {
	for _, name := range nodes {
		r.state.SetNodeMonitor(name, cluster.NodeMonitor{State: "idle", GlobalExpect: "none"})
		r.state.SetPeer(name, cluster.Peer{Beating: true, Heard: true, Synced: true, Since: time.Now()})
	}
	synctest.Wait()
}

// lose has nodes fall silent.
func (r *rig) lose(nodes ...string) {
	for _, name := range nodes {
		r.state.SetPeer(name, cluster.Peer{Heard: true, Since: time.Now()})
		r.state.Forget(name)
	}
	synctest.Wait()
}

func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // virtual time
	synctest.Wait()
}

func (r *rig) is(state string) {
	r.t.Helper()
	if got := r.state.View().Nodes["n1"].Monitor.State; got != state {
		r.t.Errorf("the node is %s, want %s: %v", got, state, r.Explain())
	}
}

func (r *rig) has(deeds ...string) {
	r.t.Helper()
	if got := r.done(); !slices.Equal(got, deeds) {
		r.t.Errorf("done %q, want %q", got, deeds)
	}
}

func TestANodeThatIsAloneGoesToWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, cluster.Config{Nodes: []string{"n1"}})
		r.is("idle")
		if held, _ := r.Quorum(); !held {
			t.Error("it may not act")
		}
		if _, err := os.Stat(filepath.Join(r.paths.Var(), "node", "last_shutdown")); err != nil {
			t.Error(err)
		}
	})
}

func TestANodeRejoinsItsPeers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, three(false))
		r.is("rejoin")
		r.hear("n2")
		r.is("rejoin")
		r.hear("n3")
		r.is("idle")
		r.has()
		if !r.state.View().Nodes["n1"].Status.IsLeader {
			t.Error("the first node does not speak for the cluster")
		}
	})
}

func TestANodeWhosePeersStayAwayFreezesItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, three(true))
		r.hear("n2")
		pass(89 * time.Second)
		r.is("rejoin")
		r.has()
		pass(2 * time.Second)
		r.is("idle")
		r.has("freeze")
		if r.state.View().Nodes["n1"].Status.FrozenAt.IsZero() {
			t.Error("the freeze is not seen")
		}
	})
}

func TestADrainEmptiesTheNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, cluster.Config{Nodes: []string{"n1"}})
		id, err := r.Drain()
		if err != nil {
			t.Fatal(err)
		}
		if o, err := r.Wait(t.Context(), id); err != nil || o.State != "succeeded" || o.GlobalExpect != "drained" {
			t.Errorf("%+v, %v", o, err)
		}
		synctest.Wait()
		r.is("idle")
		r.has("empty")
		r.fail("empty", errors.New("web does not stop"))
		if id, err = r.Drain(); err != nil {
			t.Fatal(err)
		}
		if o, err := r.Wait(t.Context(), id); err != nil || o.State != "failed" || o.Reason != "web does not stop" {
			t.Errorf("%+v, %v", o, err)
		}
		synctest.Wait()
		r.is("drain failed")
		if was := r.Clear(); was != "drain failed" {
			t.Errorf("cleared %q", was)
		}
		r.is("idle")
	})
}

func TestADrainThatIsAbortedEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, cluster.Config{Nodes: []string{"n1"}}, func(r *rig, _ *nodemon.Options) { r.holds = make(chan struct{}) })
		id, err := r.Drain()
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.is("draining")
		if _, err := r.Drain(); err == nil || !strings.Contains(err.Error(), id) {
			t.Errorf("a second drain: %v", err)
		}
		r.GiveWay(t.Context())
		if o, err := r.Wait(t.Context(), id); err != nil || o.State != "aborted" {
			t.Errorf("%+v, %v", o, err)
		}
		synctest.Wait()
		r.is("idle")
		r.has()
	})
}

func TestTheFreezeOfTheClusterIsThatOfItsNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, three(false))
		r.hear("n2", "n3")
		id, err := r.Ask("frozen")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.has("freeze")
		own := r.state.View().Nodes["n1"].Monitor
		if !own.OrchestrationIsDone || own.OrchestrationID != id {
			t.Errorf("its part is done, and it says %+v", own)
		}
		for _, n := range []string{"n2", "n3"} {
			r.state.SetNodeMonitor(n, cluster.NodeMonitor{
				State: "idle", GlobalExpect: "frozen", GlobalExpectUpdatedAt: own.GlobalExpectUpdatedAt, OrchestrationID: id, OrchestrationIsDone: true,
			})
		}
		if o, err := r.Wait(t.Context(), id); err != nil || o.State != "succeeded" {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

func TestTheSmallerPartOfASplitClusterGoesDownBeforeTheOtherStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, three(true))
		r.hear("n2", "n3")
		told := r.bus.Subscribe("test", func(e *event.Envelope) bool { return e.Kind == event.NodeSplitAction{}.Kind() })
		defer told.Close()
		r.lose("n2")
		if held, votes := r.Quorum(); !held || votes.Have != 2 {
			t.Errorf("two of three: %t, %v", held, votes)
		}
		r.lose("n3")
		if held, _ := r.Quorum(); held {
			t.Error("one of three may act")
		}
		if e, ok := (<-told.C()).Event.(event.NodeSplitAction); !ok || e.Action != "crash" || e.NodeVotes != 1 || e.Voting != 3 {
			t.Errorf("told %+v", e)
		}
		pass(5 * time.Second)
		r.has("crash after 500ms")
	})
}

func TestArbitratorsAreAskedOnceASplit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, three(true, cluster.Arbitrator{Name: "a", URI: "n9", Weight: 1}, cluster.Arbitrator{Name: "b", URI: "n8", Weight: 1}))
		r.hear("n2", "n3")
		r.lose("n2", "n3")
		pass(30 * time.Second)
		asked := r.done()
		slices.Sort(asked)
		if want := []string{"vote a of n1", "vote b of n1"}; !slices.Equal(slices.Compact(slices.Clone(asked)), want) {
			t.Errorf("done %q, want %q", asked, want)
		}
		if held, votes := r.Quorum(); !held || votes != (orchestrate.Tally{Have: 3, Total: 5}) {
			t.Errorf("held %t, votes %v", held, votes)
		}
		if got := r.state.View().Nodes["n1"].Status.Arbitrators["a"]; got.Status != cluster.Up || got.URL != "n9" {
			t.Errorf("the arbitrator is shown as %+v", got)
		}
	})
}

func TestAnArbitratorThatDoesNotVoteIsNoVote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, three(true, cluster.Arbitrator{Name: "a", URI: "n9", Weight: 2}))
		r.hear("n2", "n3")
		r.fail("vote a of n1", errors.New("no route"))
		r.lose("n2", "n3")
		pass(5 * time.Second)
		if got := r.done(); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "crash") {
			t.Errorf("done %q", got)
		}
	})
}

func TestAnExclusiveVoteIsRenewedThenGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, cluster.Config{
			Nodes: []string{"n1", "n2"}, Quorum: true, Arbitrators: []cluster.Arbitrator{{Name: "a", Weight: 1, Exclusive: true}},
		})
		r.hear("n2")
		r.lose("n2")
		pass(11 * time.Second)
		if held, _ := r.Quorum(); !held {
			t.Errorf("one of two with the vote may not act: %v", r.Explain())
		}
		r.hear("n2")
		r.has("vote a of n1", "vote a of n1", "vote a of n1", "release a")
	})
}

// running has n2 run web.
func running(r *rig, bestEffort bool) {
	r.hear("n2", "n3")
	r.state.SetInstanceConfig(web, "n1", cluster.InstanceConfig{Path: web, Stonith: true, StonithBestEffort: bestEffort})
	r.state.SetInstanceConfig(web, "n2", cluster.InstanceConfig{Path: web, Stonith: true})
	r.state.SetInstanceStatus(web, "n2", cluster.InstanceStatus{Avail: cluster.Up})
	synctest.Wait()
}

func (r *rig) fence(want orchestrate.FenceState) {
	r.t.Helper()
	if got := r.Fences(web)["n2"]; got != want {
		r.t.Errorf("the fencing of n2 is %s, want %s", got, want)
	}
}

func TestALostNodeIsFencedOnceForAllThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, three(false))
		running(r, false)
		r.fence(orchestrate.FenceNone)
		r.lose("n2")
		r.fence(orchestrate.FenceDue)
		errs := make(chan error)
		for range 3 {
			go func() { errs <- r.Fence(t.Context(), "n2", web) }()
		}
		synctest.Wait()
		r.fence(orchestrate.FenceRunning)
		for range 3 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		r.fence(orchestrate.FenceDone)
		r.has("fence n2")
		if told := r.state.View().Nodes["n1"].Status.Fences["n2"]; told.State != "done" {
			t.Errorf("told %+v", told)
		}
		r.hear("n2")
		r.fence(orchestrate.FenceNone)
	})
}

func TestAFenceThatFailsBlocksAndIsRetriedUnlessSomebodySaysTheNodeIsOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, three(false))
		running(r, false)
		r.fail("fence n2", &host.ExitError{Argv: []string{"fence", "n2", "hunter2"}, Code: 3, Stderr: "no answer"})
		if err := r.Stonith(t.Context(), "n2", true); err == nil {
			t.Error("a node that is heard is taken for off")
		}
		r.lose("n2")
		err := r.Fence(t.Context(), "n2", web)
		if err == nil || !strings.Contains(err.Error(), "exit status 3: no answer") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		r.fence(orchestrate.FenceFailed)
		pass(11 * time.Second)
		r.fence(orchestrate.FenceDue)
		if err := r.Stonith(t.Context(), "n2", true); err != nil {
			t.Error(err)
		}
		r.fence(orchestrate.FenceOverridden)
		for node, want := range map[string]string{"n1": "does not fence itself", "n9": "no node of the cluster"} {
			if err := r.Stonith(t.Context(), node, false); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", node, err)
			}
		}
	})
}

func TestAFailedFenceDoesNotBlockWhatIsBestEffort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, three(false))
		running(r, true)
		r.lose("n2")
		r.fence(orchestrate.FenceDue)
		r.fail("fence n2", errors.New("no such command"))
		if err := r.Fence(t.Context(), "n2", web); err == nil {
			t.Error("it did not fail")
		}
		r.fence(orchestrate.FenceOverridden)
	})
}

func TestANodeThatAnotherOneFencedIsFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, three(false))
		running(r, false)
		r.lose("n2")
		r.state.EditNodeStatus("n3", func(s *cluster.NodeStatus) {
			s.Fences = map[string]cluster.FenceStatus{"n2": {State: "done", UpdatedAt: time.Now()}}
		})
		synctest.Wait()
		r.fence(orchestrate.FenceDone)
		r.has()
	})
}

func TestAnOverloadIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, cluster.Config{Nodes: []string{"n1"}})
		told := r.bus.Subscribe("test", func(e *event.Envelope) bool { return strings.HasSuffix(e.Kind, "OverloadPeriod") })
		defer told.Close()
		r.state.SetNodeConfig("n1", cluster.NodeConfig{MinAvailMemPct: 2})
		r.state.SetNodeStats("n1", cluster.NodeStats{MemTotalMB: 100, MemAvailPct: 1})
		if e := <-told.C(); e.Kind != "EnterOverloadPeriod" || !r.state.View().Nodes["n1"].Status.IsOverloaded {
			t.Errorf("told %s", e.Kind)
		}
		r.state.SetNodeStats("n1", cluster.NodeStats{MemTotalMB: 100, MemAvailPct: 50})
		if e := <-told.C(); e.Kind != "LeaveOverloadPeriod" || r.state.View().Nodes["n1"].Status.IsOverloaded {
			t.Errorf("told %s", e.Kind)
		}
	})
}

func TestTheKernelFreezesTheNodeOncePerBoot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		frozen := func(r *rig, o *nodemon.Options) { o.KernelArgs = "ro osvc.freeze quiet" }
		r := begin(t, cluster.Config{Nodes: []string{"n1"}}, frozen)
		r.is("idle")
		r.has("freeze")
		again := begin(t, cluster.Config{Nodes: []string{"n1"}}, frozen, func(_ *rig, o *nodemon.Options) { o.Paths = r.paths })
		again.has()
	})
}

func TestADaemonThatStartsAgainWithoutItsPeersEndsItsNodeUnlessTheFormerSaidGoodbye(t *testing.T) {
	t.Parallel()
	for _, goodbye := range []bool{false, true} {
		paths := hosttest.Paths(t)
		there := func(_ *rig, o *nodemon.Options) { o.Paths = paths }
		synctest.Test(t, func(t *testing.T) {
			r := begin(t, three(true), there)
			r.hear("n2", "n3")
			if goodbye {
				r.Become(orchestrate.StateMaintenance)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			r := begin(t, three(true), there)
			pass(2 * time.Second)
			r.has()
			pass(3 * time.Second)
			if crashed := len(r.done()) > 0; crashed == goodbye {
				t.Errorf("goodbye %t, done %q", goodbye, r.done())
			}
		})
	}
}
