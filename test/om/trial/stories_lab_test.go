//go:build lab

package trial_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/test/om/bed"
	"github.com/holdfast-ops/holdfast/test/om/bed/witness"
	"github.com/holdfast-ops/holdfast/test/om/trial"
)

// long is how long a condition is waited for: no test measures time.
const long = 90 * time.Second

// quorum is the part of a configuration that has the smaller side end.
const quorum = "\n[cluster]\nquorum = true\n"

// story is a trial with a service, web, that a client asks for.
type story struct {
	*trial.Trial
	t      *testing.T
	client *trial.Client
}

func svc(name string) object.Path {
	return object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: name}
}

// tell begins a story: a failover service that runs on node1.
func tell(t *testing.T, o bed.Options, conf string) *story {
	t.Helper()
	return tellOf(t, o, conf, trial.Failover("web"))
}

func tellOf(t *testing.T, o bed.Options, conf, web string) *story {
	t.Helper()
	s := &story{Trial: beginWith(t, o, conf), t: t}
	s.create("web", web)
	s.ask(trial.Port)
	s.answers("node1")
	return s
}

func (s *story) create(name, conf string) {
	s.t.Helper()
	s.must(s.Create(s.t.Context(), svc(name), conf))
	for _, n := range s.Nodes() {
		s.until(n.Name+" knows of "+name, func() bool {
			_, err := n.Run(s.t.Context(), "om", name, "instance", "status")
			return err == nil
		})
	}
	s.om("node1", name, "unfreeze", "--wait", "--time", "60s")
}

func (s *story) ask(port string, addresses ...string) {
	s.t.Helper()
	c, err := s.Ask(s.t.Context(), port, addresses...)
	s.must(err)
	s.client = c
}

func (s *story) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// om runs om on a node; it must succeed.
func (s *story) om(node string, argv ...string) string {
	s.t.Helper()
	s.Say("%s: om %s", node, strings.Join(argv, " "))
	out, err := s.Node(node).Run(s.t.Context(), append([]string{"om"}, argv...)...)
	s.must(err)
	return out
}

func (s *story) until(what string, holds func() bool) {
	s.t.Helper()
	s.must(s.Await(s.t.Context(), long, what, func(context.Context) (bool, error) { return holds(), nil }))
}

// answers waits until the client is answered by these nodes.
func (s *story) answers(who string) {
	s.t.Helper()
	s.until("the client is answered by "+who, func() bool { return s.client.Who() == who })
	s.Say("the client is answered by %s", who)
}

// starts counts the starts of web.
func (s *story) starts() int {
	s.t.Helper()
	stamps, err := s.Stamps("web")
	s.must(err)
	count := 0
	for _, stamp := range stamps {
		if stamp.What == witness.Start {
			count++
		}
	}
	return count
}

// alone proves that no two instances of web lived at once, where it is promised.
func (s *story) alone() {
	s.t.Helper()
	if broken := s.broken(); len(broken) > 0 {
		s.t.Errorf("web: %v", broken)
	}
}

func (s *story) broken() []witness.Fact {
	s.t.Helper()
	stamps, err := s.Stamps("web")
	s.must(err)
	return witness.Check(stamps, witness.Promise{Free: s.Windows(trial.Free), Stopped: s.Windows("stopped web"), Frozen: s.Windows("frozen web")})
}

// quiet checks that nothing of what follows happens by itself for some heartbeats: it
// gives what must not happen the time to.
func (s *story) quiet(what string, holds func() bool) {
	s.t.Helper()
	held := time.Now() // a client that a busy host made wait is no event
	err := s.Await(s.t.Context(), 6*time.Second, "it happens", func(context.Context) (bool, error) {
		if holds() {
			held = time.Now()
		}
		return time.Since(held) > 3*time.Second, nil
	})
	if err == nil {
		s.t.Fatalf("not any more: %s", what)
	}
}

func (s *story) outages() {
	for _, o := range s.client.Since() {
		s.t.Logf("outage of %v: %s, then %s", o.For().Round(time.Millisecond), o.Before, o.By)
	}
}

func TestAServiceSurvivesALossOfPower(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, trial.Short)
	s.must(s.Node("node1").PowerOff())
	s.answers("node2")
	s.must(s.Revive(t.Context(), s.Node("node1")))
	s.must(s.AwaitAll(t.Context()))
	s.quiet("the service stays on node2", func() bool { return s.client.Who() == "node2" })
	s.alone()
	s.outages()
}

func TestAServiceSurvivesTheDeathOfEveryProcessOfItsNode(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, trial.Short)
	s.must(s.Node("node1").KillAll())
	s.answers("node2")
	s.must(s.Node("node2").KillAll())
	s.answers("node3")
	s.alone()
	s.outages()
}

func TestAServiceMovesUnderItsClient(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, trial.Short)
	for _, to := range []string{"node2", "node3", "node1"} {
		s.om("node1", "web", "switch", "--to", to, "--wait", "--time", "60s")
		s.answers(to)
	}
	s.om("node3", "web", "switch", "--wait", "--time", "60s")
	s.answers("node2")
	s.om("node3", "web", "giveback", "--wait", "--time", "60s")
	s.answers("node1")
	if n := s.starts(); n != 6 {
		t.Errorf("%d starts", n)
	}
	s.alone()
	s.outages()
}

func TestTheSmallerSideOfAPartitionEndsBeforeTheOtherStarts(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, quorum+trial.Short)
	n := s.Node("node1")
	s.Network().Cut([]string{"node1"}, []string{"node2", "node3"})
	s.until("node1 takes itself down", func() bool { return !n.Up() })
	s.answers("node2")
	if len(n.Fell()) != 1 {
		t.Errorf("node1 fell %v", n.Fell())
	}
	s.Network().Heal()
	s.must(s.Revive(t.Context(), n))
	s.must(s.AwaitAll(t.Context()))
	s.quiet("the service stays on node2", func() bool { return s.client.Who() == "node2" })
	s.alone()
}

func TestADaemonThatIsKilledAndStartedAgainLeavesServicesAlone(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, trial.Short)
	n := s.Node("node1")
	for range 3 {
		s.must(n.KillDaemon(t.Context(), 9))
		s.must(n.StartDaemon(t.Context()))
		s.must(s.AwaitAll(t.Context()))
	}
	s.om("node1", "daemon", "restart")
	s.must(s.AwaitAll(t.Context()))
	s.quiet("node1 answers", func() bool { return s.client.Who() == "node1" })
	if n := s.starts(); n != 1 {
		t.Errorf("%d starts", n)
	}
	s.alone()
}

func TestAnOperatorsStopSurvivesRebootsAndFailovers(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, trial.Short)
	s.om("node2", "web", "stop", "--wait", "--time", "60s")
	s.Open("stopped web", "it was stopped by an operator")
	s.answers("")
	s.must(s.Node("node1").KillDaemon(t.Context(), 9))
	s.must(s.Node("node1").StartDaemon(t.Context()))
	for _, n := range s.Nodes() {
		s.must(n.PowerOff())
	}
	for _, n := range s.Nodes() {
		s.must(s.Revive(t.Context(), n))
	}
	s.must(s.AwaitAll(t.Context()))
	s.quiet("nobody answers", func() bool { return s.client.Who() == "" })
	s.alone()
}

func TestWhatIsFrozenIsNotStarted(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, trial.Short)
	s.om("node2", "web", "freeze", "--wait", "--time", "60s")
	end := s.Open("frozen web", "it is frozen")
	s.must(s.Node("node1").PowerOff())
	s.answers("")
	s.quiet("nobody answers", func() bool { return s.client.Who() == "" })
	end()
	s.om("node2", "web", "unfreeze")
	s.answers("node2")
	s.alone()
}

func TestAFlexServiceKeepsItsNumber(t *testing.T) {
	t.Parallel()
	s := &story{Trial: begin(t, trial.Short), t: t}
	s.create("duo", "[DEFAULT]\nnodes = *\norchestrate = ha\ntopology = flex\nflex_min = 1\nflex_target = 2\n\n[app#1]\ntype = simple\nstart = /mnt/bin/service serve duo :8101\n")
	s.ask("8101")
	s.answers("node1,node2")
	s.must(s.Node("node1").PowerOff())
	s.answers("node2,node3")
	s.must(s.Revive(t.Context(), s.Node("node1")))
	s.must(s.AwaitAll(t.Context()))
	s.until("two answer", func() bool { return strings.Count(s.client.Who(), ",") == 1 })
	s.quiet("two or three answer", func() bool { return strings.Contains(s.client.Who(), ",") })
}

func TestOneHeartbeatOfTwoIsEnough(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{Networks: 2}, quorum+trial.Short+`
[hb#2]
type = unicast
port = 10002
addr@node1 = node1-1
addr@node2 = node2-1
addr@node3 = node3-1
interval = 500ms
timeout = 2s
`)
	cut := bed.Fault{Loss: 1}
	s.Network().Between(0, "node1", "node2", cut)
	s.Network().Between(0, "node1", "node3", cut)
	s.until("the loss of a heartbeat is shown", func() bool {
		out := s.om("node1", "daemon", "hb", "status")
		return strings.Contains(out, "hb#1.rx")
	})
	s.quiet("node1 runs", func() bool { return s.Node("node1").Up() && s.starts() == 1 })
	s.alone()
}

func TestAFullDiskStopsNoHeartbeat(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{VarSize: "32m"}, quorum+trial.Short)
	n := s.Node("node1")
	s.must(n.FillDisk(t.Context()))
	s.quiet("node1 answers", func() bool { return s.client.Who() == "node1" })
	before, err := os.ReadFile(filepath.Join(n.Etc(), "opensvc/web.conf"))
	s.must(err)
	s.must(s.AwaitAll(t.Context()))
	s.must(n.EmptyDisk(t.Context()))
	s.om("node1", "web", "config", "update", "--set", "env.a=b")
	after, err := os.ReadFile(filepath.Join(n.Etc(), "opensvc/web.conf"))
	s.must(err)
	if string(before) == string(after) {
		t.Error("the configuration does not change once there is room")
	}
	if n := s.starts(); n != 1 {
		t.Errorf("%d starts", n)
	}
	s.alone()
}

func TestAClockThatStepsMovesNothing(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, quorum+trial.Short)
	for _, by := range []time.Duration{time.Hour, -time.Hour, 0} {
		s.Say("the clock of node1 steps by %v", by)
		s.must(s.Node("node1").StepClock(t.Context(), by))
		s.quiet("node1 answers", func() bool { return s.client.Who() == "node1" })
	}
	s.must(s.AwaitAll(t.Context()))
	s.must(s.Node("node2").StepClock(t.Context(), -time.Hour))
	s.must(s.Node("node1").PowerOff())
	s.answers("node2")
	s.alone()
}

// Two that are started by hand are seen: the checker is no fig leaf.
func TestTheCheckerSeesTwoThatAreStartedByHand(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, trial.Short)
	s.om("node2", "web", "instance", "start")
	s.until("the checker sees two", func() bool { return len(s.broken()) > 0 })
	s.answers("node1,node2")
}

func TestAnAddressMovesWithItsService(t *testing.T) {
	t.Parallel()
	s := &story{Trial: begin(t, trial.Short), t: t}
	s.create("web", trial.Floating("web", "10.88.0.100"))
	s.ask(trial.Port, "10.88.0.100")
	s.answers("node1")
	s.om("node2", "web", "switch", "--to", "node3", "--wait", "--time", "60s")
	s.answers("node3")
	s.must(s.Node("node3").PowerOff())
	s.until("the address answers elsewhere", func() bool { return s.client.Who() == "node1" || s.client.Who() == "node2" })
	s.alone()
	s.outages()
}

// withFences are a quorum and the commands that cut the power of a node.
func withFences() string {
	return quorum + trial.Short + fences("node1") + fences("node2") + fences("node3")
}

// fenced is web, whose former node is fenced before it starts elsewhere.
func fenced() string {
	return strings.Replace(trial.Failover("web"), "[DEFAULT]\n", "[DEFAULT]\nstonith = true\n", 1)
}

func TestANodeThatIsPausedIsFencedBeforeItsServiceStartsElsewhere(t *testing.T) {
	t.Parallel()
	s := tellOf(t, bed.Options{}, withFences(), fenced())
	go s.Fence(t.Context())
	s.must(s.Node("node1").Freeze())
	s.answers("node2")
	if s.Node("node1").Up() {
		t.Fatal("node1 has power")
	}
	s.must(s.Revive(t.Context(), s.Node("node1")))
	s.must(s.AwaitAll(t.Context()))
	s.alone()
	s.outages()
}

func TestAFenceThatFailsHoldsBackTheTakeover(t *testing.T) {
	t.Parallel()
	s := tellOf(t, bed.Options{}, quorum+trial.Short+"\n[stonith#node1]\ncommand = /bin/false\n", fenced())
	s.must(s.Node("node1").PowerOff())
	s.answers("")
	s.quiet("nobody answers", func() bool { return s.client.Who() == "" })
	s.om("node2", "node", "stonith", "--node", "node1", "--confirmed")
	s.answers("node2")
	s.alone()
}

// Without a fence a node that is paused comes back to a service that runs elsewhere: both
// are shown, and nothing is stopped by itself.
func TestAPauseWithoutAFenceLeavesTwoThatAreShown(t *testing.T) {
	t.Parallel()
	s := tell(t, bed.Options{}, trial.Short)
	s.Open(trial.Free, "a node is paused, and nobody fences")
	s.must(s.Node("node1").Freeze())
	s.answers("node2")
	s.must(s.Node("node1").Thaw())
	s.answers("node1,node2")
	s.must(s.AwaitAll(t.Context()))
	for _, n := range s.Nodes() {
		s.until(n.Name+" shows that web is amiss", func() bool {
			v, err := s.View(t.Context(), n)
			return err == nil && v.Cluster.Object["web"].Avail == "warn"
		})
	}
	s.quiet("both live", func() bool { return s.client.Who() == "node1,node2" })
	s.om("node3", "web", "instance", "stop", "--node", "node1")
	s.answers("node2")
	s.until("all is well", func() bool {
		v, err := s.View(t.Context(), s.Node("node1"))
		return err == nil && v.Cluster.Object["web"].Avail == "up"
	})
}
