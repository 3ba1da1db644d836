package membership_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/membership"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// enroll has a node enroll another one.
func (s *site) enroll(other *site, change func(*api.EnrollOrder)) error {
	s.t.Helper()
	in := api.EnrollOrder{Node: other.where[other.name], Token: other.token(), JoinAddr: s.where[s.name]}
	change(&in)
	answer, err := s.manager.Enroll(s.t.Context(), in)
	if err == nil && answer.Node != other.name {
		s.t.Errorf("the node to enroll is said to be %q", answer.Node)
	}
	return err
}

func asIs(*api.EnrollOrder) {}

// settle carries the order of a node out, as daemons do one after the other.
func (s *site) settle() {
	s.t.Helper()
	for range 3 {
		s.manager.Work(s.t.Context())
		s.begin()
		if membership.Pending(s.host.Paths) == "" {
			return
		}
	}
	s.t.Errorf("%s: the order is still %s", s.name, membership.Pending(s.host.Paths))
}

func (s *site) nodes() string { return strings.Join(s.View().Config.Nodes, " ") }

func (s *site) refusal(err error, status int, texts ...string) {
	s.t.Helper()
	p, ok := errors.AsType[*api.Problem](err)
	if !ok || p.Status != status {
		s.t.Fatalf("%v, want a refusal of status %d", err, status)
	}
	for _, text := range texts {
		if !strings.Contains(p.Detail, text) {
			s.t.Errorf("%q does not say %q", p.Detail, text)
		}
	}
}

// A node that is enrolled has what the cluster has, and nothing of what it had but in
// its backup directory. It is not frozen, unless it was before.
func TestAnEnrolledNodeIsOfTheCluster(t *testing.T) {
	t.Parallel()
	for name, isFrozen := range map[string]bool{"free": false, "frozen": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := newSite(t, "node1"), newSite(t, "node2")
			one.create("system/usr/admin")
			one.create("web")
			two.create("old")
			if isFrozen {
				two.freeze()
			}
			former := tree(t, two.host.Paths.Etc())
			if err := one.enroll(two, asIs); err != nil {
				t.Fatal(err)
			}
			two.settle()

			if got, want := two.identity.ClusterID, one.identity.ClusterID; got != want || two.nodes() != "node1 node2" || one.nodes() != "node1 node2" {
				t.Errorf("cluster %s with %s, want %s", got, two.nodes(), want)
			}
			if two.drained != 1 || two.restarted != 1 || two.isFrozen() != isFrozen {
				t.Errorf("drained %d times, restarted %d times, frozen %t", two.drained, two.restarted, two.isFrozen())
			}
			etc := tree(t, two.host.Paths.Etc())
			if etc["namespaces/system/usr/admin.conf"] == "" || etc["old.conf"] != "" || etc["web.conf"] != "" {
				t.Errorf("the node has %v", etc)
			}
			if _, err := os.Stat(filepath.Join(two.host.Paths.Var(), "svc", "old")); err == nil {
				t.Error("the state of an object of the former cluster is still there")
			}
			kept, err := filepath.Glob(filepath.Join(two.host.Paths.Var(), "backup", ".pre-cluster-join-etc-*"))
			if err != nil || len(kept) != 1 {
				t.Fatalf("backups: %q, %v", kept, err)
			}
			if diff := cmp.Diff(former, tree(t, kept[0])); diff != "" {
				t.Errorf("the backup is not what was there: %s", diff)
			}
			pair, err := tls.X509KeyPair(slices.Concat(one.key("certificate"), one.key("certificate_chain")), one.key("private_key"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"node1", "node2", "192.0.2.7"} {
				if err := pair.Leaf.VerifyHostname(name); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff([]string{
				`JoinRequest {"labels":{"candidate_node":"node2","node":"node1"},"candidate_node":"node2"}`,
				`JoinSuccess {"labels":{"added_node":"node2","node":"node1"},"added_node":"node2"}`,
			}, one.told()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (s *site) key(name string) []byte {
	s.t.Helper()
	value, err := s.data.Decode(setup.Certificate(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}

// Whatever is wrong with an order is told before anything changes, with what to do.
func TestWhatCannotBeEnrolledIsRefusedBeforeAnythingChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(one, two *site)
		order   func(one, two *site, in *api.EnrollOrder)
		status  int
		says    []string
	}{
		"no token": {order: func(_, _ *site, in *api.EnrollOrder) { in.Token = "s3cret" }, status: 400, says: []string{"token: it is no token", "om daemon auth --role join"}},
		"a token of this cluster": {
			order: func(one, _ *site, in *api.EnrollOrder) { in.Token = one.token() }, status: 409, says: []string{"made by the cluster of this node", "on the node to enroll"},
		},
		"a token without the role": {
			order: func(_, two *site, in *api.EnrollOrder) { in.Token = two.issue(rbac.Guest, time.Hour) }, status: 400, says: []string{"no join role"},
		},
		"an expired token": {
			order: func(_, two *site, in *api.EnrollOrder) { in.Token = two.issue(rbac.Join, -time.Hour) }, status: 400, says: []string{"it expired at ", "make one"},
		},
		"a token without authority": {
			order: func(_, two *site, in *api.EnrollOrder) { in.Token = two.issue(rbac.Root, time.Hour) }, status: 400, says: []string{"no ca claim"},
		},
		"a token of another node": {
			order: func(one, _ *site, in *api.EnrollOrder) { in.Token = newSite(one.t, "node3").token() }, status: 502, says: []string{"is not recognised", "was the token made there?"},
		},
		"nobody there": {
			order: func(_, _ *site, in *api.EnrollOrder) { in.Node = "127.0.0.1:1" }, status: 502, says: []string{"the node to enroll, 127.0.0.1:1 does not answer"},
		},
		"a location that is none": {
			order: func(_, _ *site, in *api.EnrollOrder) { in.Node = "http://node2" }, status: 400, says: []string{"node: ", "https://host:port"},
		},
		"a timeout that is none": {
			order: func(_, _ *site, in *api.EnrollOrder) { in.Timeout = "soon" }, status: 400, says: []string{"timeout: "},
		},
		"a timeout too long": {
			order: func(_, _ *site, in *api.EnrollOrder) { in.Timeout = "48h" }, status: 400, says: []string{"between 1s and 24h"},
		},
		"a join address that the certificate does not name": {
			order: func(_, _ *site, in *api.EnrollOrder) { in.JoinAddr = "192.0.2.1" }, status: 400, says: []string{"join_addr: the certificate of this node"},
		},
		"a join address that is not reached": {
			order: func(_, _ *site, in *api.EnrollOrder) { in.JoinAddr = "127.0.0.1:1" }, status: 502, says: []string{"the cluster to join, at https://127.0.0.1:1 as node node2 reaches it, does not answer"},
		},
		"a join address that is another cluster": {
			order: func(one, _ *site, in *api.EnrollOrder) {
				third := newSite(one.t, "node3")
				in.JoinAddr = third.where["node3"]
			}, status: 502, says: []string{"is not recognised"},
		},
		"a node with peers": {
			prepare: func(_, two *site) { two.setNodes("node2 node9") }, status: 409, says: []string{"with node9", "evict it there first"},
		},
		"the name of this node": {
			prepare: func(one, two *site) { two.nodename = "node1" }, status: 409, says: []string{"calls itself node1, as this node does"},
		},
		"the name of a node that is alive": {
			prepare: func(one, _ *site) {
				one.setNodes("node1 node2")
				one.alive = []string{"node2"}
			}, status: 409, says: []string{"another node called node2 is of this cluster, and alive"},
		},
		"a node that is being drained": {
			prepare: func(_, two *site) { two.state = "draining" }, status: 409, says: []string{"node node2 is draining"},
		},
		"a certificate that is made elsewhere": {
			prepare: func(one, _ *site) { one.set("system/sec/cert", "ca", "system/sec/corporate") }, status: 409, says: []string{"system/sec/cert does not name node2", "alt_names"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := newSite(t, "node1"), newSite(t, "node2")
			if c.prepare != nil {
				c.prepare(one, two)
			}
			before := []map[string]string{tree(t, one.host.Paths.Etc()), tree(t, two.host.Paths.Etc())}
			err := one.enroll(two, func(in *api.EnrollOrder) {
				if c.order != nil {
					c.order(one, two, in)
				}
			})
			one.refusal(err, c.status, c.says...)
			if diff := cmp.Diff(before, []map[string]string{tree(t, one.host.Paths.Etc()), tree(t, two.host.Paths.Etc())}); diff != "" {
				t.Error(diff)
			}
			if p := membership.Pending(two.host.Paths); p != "" || two.drained > 0 || len(one.told()) > 0 {
				t.Errorf("the node has an order, %q, and was drained %d times", p, two.drained)
			}
		})
	}
}

func (s *site) issue(role rbac.Role, life time.Duration) string {
	s.t.Helper()
	now := time.Now()
	if life < 0 {
		now, life = now.Add(2*life), -life
	}
	token, _, err := s.tokens.Issue("root", rbac.Grants{{Role: role}}, life, now)
	if err != nil {
		s.t.Fatal(err)
	}
	return token.Reveal()
}

// A node that gives up is alone as it was, and the cluster forgets it and says why.
func TestAJoinThatFailsIsUndone(t *testing.T) {
	t.Parallel()
	one, two := newSite(t, "node1"), newSite(t, "node2")
	before := tree(t, two.host.Paths.Etc())
	two.drainFails = errors.New("web does not shut down")
	if err := one.enroll(two, asIs); err != nil {
		t.Fatal(err)
	}
	two.manager.Work(t.Context())
	if diff := cmp.Diff(before, tree(t, two.host.Paths.Etc())); diff != "" {
		t.Error(diff)
	}
	if one.nodes() != "node1" || two.isFrozen() || two.restarted > 0 || membership.Pending(two.host.Paths) != "" {
		t.Errorf("the nodes are %s, frozen %t, restarted %d times", one.nodes(), two.isFrozen(), two.restarted)
	}
	const why = `JoinError {"labels":{"candidate_node":"node2","node":"node1"},"candidate_node":"node2","reason":"drain the node: web does not shut down"}`
	if told := one.told(); !slices.Contains(told, why) {
		t.Errorf("the cluster told %q", told)
	}
	two.drainFails = nil
	if err := one.enroll(two, asIs); err != nil {
		t.Fatalf("once it is mended: %v", err)
	}
}

func TestOneOrderAtATime(t *testing.T) {
	t.Parallel()
	one, two := newSite(t, "node1"), newSite(t, "node2")
	if err := one.enroll(two, asIs); err != nil {
		t.Fatal(err)
	}
	one.refusal(one.enroll(two, asIs), http.StatusConflict, "node node2 is to join cluster ", "wait for the end of that")
}

// cluster returns two nodes of one cluster, the second drained.
func newCluster(t *testing.T) (one, two *site) {
	t.Helper()
	one, two = newSite(t, "node1"), newSite(t, "node2")
	if err := one.enroll(two, asIs); err != nil {
		t.Fatal(err)
	}
	two.settle()
	one.told()
	one.where["node2"], two.where["node1"] = two.where["node2"], one.where["node1"]
	two.freeze()
	two.drained, two.restarted = 0, 0
	return one, two
}

func root() auth.Principal {
	return auth.Principal{Name: "root", Namespace: "system", Method: auth.MethodToken, Grants: rbac.Grants{{Role: rbac.Root}}}
}

// An evicted node is alone in a cluster of its own, which nobody of the former one
// can reach; the user it was given can.
func TestAnEvictedNodeIsAlone(t *testing.T) {
	t.Parallel()
	one, two := newCluster(t)
	two.create("web")
	former := two.identity.ClusterID
	if err := one.manager.Evict(t.Context(), root(), api.EvictOrder{Node: "node2", Credential: "admin:s3cret"}); err != nil {
		t.Fatal(err)
	}
	two.settle()
	if one.nodes() != "node1" || two.nodes() != "node2" || two.identity.ClusterID == former || two.isFrozen() || two.drained > 0 {
		t.Errorf("the nodes are %s and %s, frozen %t", one.nodes(), two.nodes(), two.isFrozen())
	}
	if ok, err := two.data.CheckPassword(auth.UserPath("admin"), []byte("s3cret")); !ok || err != nil {
		t.Errorf("the password of the user: %t, %v", ok, err)
	}
	if grants, err := (&auth.Directory{Store: two.store}).Grants("admin"); err != nil || grants.String() != "root" {
		t.Errorf("the grants of the user: %s, %v", grants, err)
	}
	if _, err := two.tokens.Verify(one.token(), time.Now()); err == nil {
		t.Error("a token of the former cluster is good")
	}
	if two.store.Exists(path(t, "web")) {
		t.Error("an object of the former cluster is still there")
	}
	told := one.told()
	if want := `LeaveSuccess {"labels":{"node":"node1","removed_node":"node2"},"removed_node":"node2"}`; !slices.Contains(told, want) {
		t.Errorf("the cluster told %q", told)
	}
	if err := one.enroll(two, asIs); err != nil {
		t.Fatalf("enroll it again: %v", err)
	}
	two.settle()
	if two.identity.ClusterID != former || two.nodes() != "node1 node2" {
		t.Errorf("the node is of cluster %s with %s", two.identity.ClusterID, two.nodes())
	}
}

func path(t *testing.T, name string) object.Path {
	t.Helper()
	p, err := object.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A node on which something runs, or might, is not evicted: it would be free to start
// a second time elsewhere.
func TestWhatCannotBeEvictedIsRefusedBeforeAnythingChanges(t *testing.T) {
	t.Parallel()
	instance := func(name, state string, avail cluster.Status) func(one, two *site) {
		return func(_, two *site) {
			i := cluster.Instance{Monitor: &cluster.InstanceMonitor{State: state}, Status: &cluster.InstanceStatus{Avail: avail}}
			two.objects[path(two.t, name)] = &cluster.Object{Instances: map[string]cluster.Instance{"node2": i}}
		}
	}
	for name, c := range map[string]struct {
		prepare func(one, two *site)
		order   api.EvictOrder
		status  int
		says    []string
	}{
		"this node":          {order: api.EvictOrder{Node: "node1"}, status: 400, says: []string{"node1 is the node that serves the request"}},
		"no node":            {order: api.EvictOrder{Node: "node9"}, status: 404, says: []string{"whose nodes are node1, node2"}},
		"a bad credential":   {order: api.EvictOrder{Node: "node2", Credential: "admin"}, status: 400, says: []string{"<user>:<password>"}},
		"a bad user":         {order: api.EvictOrder{Node: "node2", Credential: "Ad min:x"}, status: 400, says: []string{"credential: user"}},
		"a bad timeout":      {order: api.EvictOrder{Node: "node2", Timeout: "x"}, status: 400, says: []string{"timeout"}},
		"not frozen":         {prepare: func(_, two *site) { _ = os.Remove(two.frozen()) }, status: 409, says: []string{"node node2 is not frozen", "om node drain"}},
		"an instance is up":  {prepare: instance("web", "idle", cluster.Up), status: 409, says: []string{"web is up"}},
		"one is starting":    {prepare: instance("web", "starting", cluster.Down), status: 409, says: []string{"web is starting"}},
		"one may start":      {prepare: instance("web", "ready", cluster.Down), status: 409, says: []string{"web is ready"}},
		"a volume is up":     {prepare: instance("vol/data", "idle", cluster.Up), status: 409, says: []string{"vol/data is up"}},
		"one is half up":     {prepare: instance("web", "idle", cluster.Warn), status: 409, says: []string{"web is warn"}},
		"a start is running": {prepare: func(_, two *site) { two.running = []string{"om web instance start is running"} }, status: 409, says: []string{"om web instance start is running"}},
		"one is not known": {prepare: func(_, two *site) {
			two.objects[path(two.t, "web")] = &cluster.Object{Instances: map[string]cluster.Instance{"node2": {}}}
		}, status: 409, says: []string{"web is not known yet"}},
		"it is being drained": {prepare: func(_, two *site) { two.state = "draining" }, status: 409, says: []string{"node node2 is draining"}},
		"it does not answer":  {prepare: func(one, _ *site) { one.where["node2"] = "127.0.0.1:1" }, status: 502, says: []string{"node node2 does not answer"}},
		"it does not reach the cluster": {
			prepare: func(_, two *site) { two.where["node1"] = "127.0.0.1:1" }, status: 502, says: []string{"node node1, as node node2 reaches it, does not answer"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := newCluster(t)
			if c.prepare != nil {
				c.prepare(one, two)
			}
			if c.order.Node == "" {
				c.order.Node = "node2"
			}
			before := []map[string]string{tree(t, one.host.Paths.Etc()), tree(t, two.host.Paths.Etc())}
			one.refusal(one.manager.Evict(t.Context(), root(), c.order), c.status, c.says...)
			if diff := cmp.Diff(before, []map[string]string{tree(t, one.host.Paths.Etc()), tree(t, two.host.Paths.Etc())}); diff != "" {
				t.Error(diff)
			}
			if p := membership.Pending(two.host.Paths); p != "" || len(one.told()) > 0 {
				t.Errorf("the node has an order, %q", p)
			}
		})
	}
}

// What is down does not hold a drained node back.
func TestADrainedNodeHasInstancesThatAreDown(t *testing.T) {
	t.Parallel()
	one, two := newCluster(t)
	for name, avail := range map[string]cluster.Status{"a": cluster.Down, "b": cluster.NotApplicable, "c": cluster.StandbyDown, "cfg/d": cluster.Up} {
		i := cluster.Instance{Monitor: &cluster.InstanceMonitor{State: "start failed"}, Status: &cluster.InstanceStatus{Avail: avail}}
		two.objects[path(t, name)] = &cluster.Object{Instances: map[string]cluster.Instance{"node2": i, "node1": {}}}
	}
	if err := one.manager.Evict(t.Context(), root(), api.EvictOrder{Node: "node2"}); err != nil {
		t.Error(err)
	}
}

// A node that leaves by itself is drained first; the last one has nothing to leave.
func TestANodeLeaves(t *testing.T) {
	t.Parallel()
	one, two := newCluster(t)
	if err := os.Remove(two.frozen()); err != nil {
		t.Fatal(err)
	}
	if err := two.manager.Leave(t.Context(), api.LeaveOrder{Drain: true}); err != nil {
		t.Fatal(err)
	}
	two.settle()
	if two.drained != 1 || two.nodes() != "node2" || one.nodes() != "node1" || two.isFrozen() {
		t.Errorf("drained %d times, the nodes are %s and %s, frozen %t", two.drained, two.nodes(), one.nodes(), two.isFrozen())
	}
	two.refusal(two.manager.Leave(t.Context(), api.LeaveOrder{Drain: true}), http.StatusConflict, "alone in its cluster")
}

// A node at work that its peers forget would start what they run.
func TestANodeAtWorkIsNotRemoved(t *testing.T) {
	t.Parallel()
	one, _ := newCluster(t)
	one.alive = []string{"node2"}

	one.refusal(one.manager.Dismiss(t.Context(), api.Member{Node: "node2"}), http.StatusConflict, "node2 is not frozen", "drain it first")
	if one.nodes() != "node1 node2" {
		t.Errorf("the nodes are %s", one.nodes())
	}

	one.frozenPeers = true
	up := cluster.Instance{Monitor: &cluster.InstanceMonitor{State: "idle"}, Status: &cluster.InstanceStatus{Avail: cluster.Up}}
	one.objects[path(t, "web")] = &cluster.Object{Instances: map[string]cluster.Instance{"node2": up}}
	one.refusal(one.manager.Dismiss(t.Context(), api.Member{Node: "node2"}), http.StatusConflict, "node2 is not drained: web is up")

	clear(one.objects)
	if err := one.manager.Dismiss(t.Context(), api.Member{Node: "node2"}); err != nil || one.nodes() != "node1" {
		t.Errorf("a drained node: %v, the nodes are %s", err, one.nodes())
	}
}

// Who asks for what is done already is told so, and nothing changes.
func TestWhatIsDoneAlreadyIsIgnored(t *testing.T) {
	t.Parallel()
	one, _ := newCluster(t)
	if err := one.manager.Admit(t.Context(), api.Candidate{Node: "node2"}); err != nil {
		t.Error(err)
	}
	if err := one.manager.Dismiss(t.Context(), api.Member{Node: "node9"}); err != nil {
		t.Error(err)
	}
	one.refusal(one.manager.Dismiss(t.Context(), api.Member{Node: "node1"}), http.StatusConflict, "removed by one of its peers")
	one.alive = []string{"node2"}
	one.refusal(one.manager.Admit(t.Context(), api.Candidate{Node: "node2"}), http.StatusConflict, "alive")
	var kinds []string
	for _, text := range one.told() {
		kind, _, _ := strings.Cut(text, " ")
		kinds = append(kinds, kind)
	}
	if diff := cmp.Diff([]string{"JoinRequest", "JoinIgnored", "LeaveRequest", "LeaveIgnored", "LeaveRequest", "LeaveError", "JoinRequest", "JoinIgnored"}, kinds); diff != "" {
		t.Error(diff)
	}
}

func (s *site) set(name, option, value string) {
	s.t.Helper()
	update(s, path(s.t, name), "DEFAULT", option, value)
}

func (s *site) setNodes(nodes string) {
	s.t.Helper()
	update(s, object.Cluster(), "cluster", "nodes", nodes)
}
