package site_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/configtest"
	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/kind"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
)

func same(t *testing.T, pairs ...any) {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if diff := cmp.Diff(pairs[i+1], pairs[i]); diff != "" {
			t.Errorf("value %d (-want +got):\n%s", i/2, diff)
		}
	}
}

// scene is a host on which a teardown runs: its kind cluster, its management
// cluster, both servers of the tests; AWS and the engine are played.
type scene struct {
	*site.Site

	t        *testing.T
	settings *config.Settings
	kind     *server // nil when there is none
	target   *server // nil when there is none
	listing  error   // of the kind clusters
	gone     map[plan.Fact]bool
	removed  []string      // what was removed of hosts
	lost     []string      // Clusters whose controllers were removed
	patience time.Duration // of a wait

	mu    sync.Mutex
	lines []string
}

// set makes the scene of an environment. The servers may be nil.
func set(t *testing.T, profile string, kind, target *server, env ...string) *scene {
	t.Helper()
	home := t.TempDir()
	s := configtest.Settings(t, config.VerbTeardown, profile, append(env, "HOME="+home)...)
	x := &scene{t: t, settings: s, kind: kind, target: target, gone: map[plan.Fact]bool{}, patience: time.Minute}
	if target != nil {
		x.write(target.kubeconfig(s.Environment.MgmtCluster))
	}
	x.begin()
	return x
}

// begin is what a new process begins with.
func (x *scene) begin() {
	x.Site = site.New(site.Options{Settings: x.settings, Kinds: x, Dir: x.t.TempDir()})
}

func (x *scene) write(kubeconfig []byte) {
	x.t.Helper()
	path := x.settings.MgmtKubeconfig
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// Exists implements [site.Kinds].
func (x *scene) Exists(_ context.Context, name string) (bool, error) {
	return x.kind != nil && name == "mgmt" && !x.gone["host/kind-cluster"], x.listing
}

// Create implements [site.Kinds].
func (*scene) Create(context.Context, string, kind.Config, func(string)) error {
	return errors.New("a teardown makes no cluster")
}

// Delete implements [site.Kinds].
func (x *scene) Delete(context.Context, string) error {
	x.removed = append(x.removed, "kind")
	x.lost = append(x.lost, x.kind.left("clusters")...)
	x.gone["host/kind-cluster"] = true
	x.kind.Close()
	return nil
}

// Kubeconfig implements [site.Kinds].
func (x *scene) Kubeconfig(_ context.Context, name string, _ bool) ([]byte, error) {
	return x.kind.kubeconfig(name), nil
}

// Observe plays AWS and the engine, and leaves the rest to the site.
func (x *scene) Observe(ctx context.Context, w plan.World, f plan.Fact) plan.World {
	there := func(yes bool) plan.World {
		if yes {
			return w.With(f, plan.Present())
		}
		return w.With(f, plan.Absent("looked"))
	}
	switch where, _, _ := strings.Cut(string(f), "/"); {
	case f == "host/kind-cluster" && x.listing != nil:
		return w.With(f, plan.Failed(x.listing.Error()))
	case f == "host/kind-cluster":
		return there(x.kind != nil && !x.gone[f])
	case f == "host/mgmt-kubeconfig", f == "host/mgmt-kubeconfig-own":
		_, err := os.Stat(x.settings.MgmtKubeconfig)
		return there(err == nil)
	case f == "host/mgmt-containers":
		return there(x.target != nil && !x.gone[f])
	case where == "host", f == "source/inventory":
		return there(false)
	case where == "aws":
		return there(!x.gone[f])
	}
	return x.Site.Observe(ctx, w, f)
}

// Do plays AWS and the engine, and leaves the rest to the site.
func (x *scene) Do(ctx context.Context, s plan.Step, v run.Voice) error {
	switch {
	case s.ID == "delete-kind":
		return x.Delete(ctx, "mgmt")
	case s.ID == "delete-containers":
		x.leave("containers")
	case s.ID == "forget-kubeconfig":
		return os.Rename(x.settings.MgmtKubeconfig, x.settings.MgmtKubeconfig+".old")
	case strings.HasPrefix(s.ID, "sweep-"):
		if x.target != nil && s.ID == "sweep-nodegroups" {
			x.leave("nodes")
		}
		if x.target != nil && s.ID == "sweep-eks" {
			x.target.Close()
		}
	case s.ID == "aws-identity", s.ID == "verify", strings.HasPrefix(s.ID, "delete-workload-containers"), s.ID == "delete-registry":
	default:
		return x.Site.Do(ctx, s, v)
	}
	for _, f := range s.Takes {
		x.gone[f] = true
	}
	return nil
}

// leave removes the management cluster that manages itself.
func (x *scene) leave(what string) {
	x.removed = append(x.removed, what)
	for _, name := range x.target.left("clusters") {
		if name != "default/"+x.settings.Environment.MgmtCluster {
			x.lost = append(x.lost, name)
		}
	}
}

// Event keeps what is said.
func (x *scene) Event(e run.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lines = append(x.lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s", e.Name, e.Step.ID, e.Message)))
}

func (x *scene) said(words string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Contains(strings.Join(x.lines, "\n"), words)
}

// impatient gives up its waits soon: what they wait for does not come.
func (x *scene) impatient() { x.patience = 2 * time.Second }

// teardown runs it, with waits that look often.
func (x *scene) teardown(ctx context.Context) error {
	_, err := run.Run(ctx, run.Options{Site: x, Sink: x, Plan: x.plan})
	return err
}

func (x *scene) plan(w plan.World) plan.Plan {
	p := plan.Teardown(x.settings, w)
	for i := range p.Steps {
		if p.Steps[i].Kind == plan.Wait {
			p.Steps[i].Deadline, p.Steps[i].Every = x.patience, 20*time.Millisecond
		}
	}
	return p
}

// played lets controllers finish what is being deleted, as long as the test lasts.
func played(t *testing.T, servers ...*server) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				for _, s := range servers {
					s.finish()
				}
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

// furnished is a server with the objects of an environment.
func furnished(t *testing.T, clusters ...string) *server {
	t.Helper()
	s := startServer(t)
	for _, name := range clusters {
		s.cluster(name)
	}
	s.put(kustomizationsAt, "flux-system", "kustomizations", "flux-apps")
	s.put(kustomizationsAt, "flux-system", "kustomizations", "docker-workload-cluster")
	s.put(kustomizationsAt, "default", "kustomizations", "remote")
	s.put(providersAt, "caaph-system", "addonproviders", "helm", "provider.cluster.x-k8s.io")
	s.put(providersAt, "capi-system", "coreproviders", "cluster-api")
	for _, name := range []string{"flux-system/flux-github-pat", "flux-system/sops-age", "default/sops-age", "capa-system/aws-credentials", "default/mine"} {
		namespace, name, _ := strings.Cut(name, "/")
		s.put("/api/v1", namespace, "secrets", name)
	}
	return s
}

const mgmt = "default/eu-north-1-management"

func TestATeardownOnKindDeletesAllAndThenTheHost(t *testing.T) {
	t.Parallel()
	kind := furnished(t, mgmt, "default/eu-north-1-workload", "team-a/w", "team-a/eu-north-1-management")
	played(t, kind)
	x := set(t, "aws", kind, nil)

	if err := x.teardown(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(x.lines, "\n"))
	}

	same(t, x.removed, []string{"kind"}, len(x.lost), 0, kind.left("clusters"), []string(nil), kind.left("addonproviders"), []string(nil),
		kind.left("secrets"), []string{"default/mine"})
	for _, name := range []string{"flux-apps", "docker-workload-cluster"} {
		same(t, kind.suspended(kustomizationsAt+"/namespaces/flux-system/kustomizations/"+name), true)
	}
	same(t, kind.suspended(kustomizationsAt+"/namespaces/default/kustomizations/remote"), false)
	for _, line := range []string{ // a wait for what is gone already is skipped
		"detail discover-host: the controllers run on kind cluster 'mgmt'", "done suspend-flux: Flux Kustomizations suspended",
		"wait-clusters: All CAPI workload clusters deleted", "detail delete-providers: Deleting addonprovider: helm (namespace: caaph-system)",
		"wait-providers: All CAPI providers removed",
	} {
		if !x.said(line) {
			t.Errorf("nobody said %q:\n%s", line, strings.Join(x.lines, "\n"))
		}
	}
}

func TestNothingAsksAClusterThatTheSweepHasRemoved(t *testing.T) {
	t.Parallel()
	target := furnished(t, mgmt, "default/eu-north-1-workload", "team-a/w")
	played(t, target)
	x := set(t, "aws", nil, target)

	err := x.teardown(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(x.lines, "\n"))
	}
	same(t, x.removed, []string{"nodes"}, x.lost, []string(nil), target.left("clusters"), []string{mgmt}, target.asked("DELETE "+clustersAt+"/namespaces/default/clusters/eu-north-1-management"), 0,
		target.asked("DELETE "+providersAt), 0)
	if !x.said("Management cluster removed by the sweep – provider and Helm cleanup skipped") {
		t.Errorf("the lines are\n%s", strings.Join(x.lines, "\n"))
	}
}

func TestLocalHostBeforeAndAfterThePivot(t *testing.T) {
	t.Parallel()
	for name, pivoted := range map[string]bool{"Q13 before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := furnished(t, "default/local-management", "default/local-workload")
			played(t, s)
			x, want := set(t, "local-host", s, nil), []string{"kind"}
			if pivoted {
				x, want = set(t, "local-host", nil, s), []string{"containers"}
			}

			if err := x.teardown(t.Context()); err != nil {
				t.Fatalf("%v\n%s", err, strings.Join(x.lines, "\n"))
			}

			same(t, x.removed, want, x.lost, []string(nil), s.suspended(kustomizationsAt+"/namespaces/flux-system/kustomizations/docker-workload-cluster"), true)
			x.begin()
			if err := x.teardown(t.Context()); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}

func TestClustersOfOthersKeepTheHost(t *testing.T) {
	t.Parallel()
	kind := furnished(t, "default/local-management", "default/local-workload", "team-a/theirs")
	played(t, kind)
	x := set(t, "local-host", kind, nil)

	err := x.teardown(t.Context())

	if err == nil || !strings.Contains(err.Error(), "team-a/theirs") || len(x.removed) > 0 {
		t.Errorf("%v, removed %v", err, x.removed)
	}
	same(t, kind.left("clusters"), []string{"default/local-management", "team-a/theirs"})
}

func TestHardwareIsReleasedByTheDeletionOfEveryCluster(t *testing.T) {
	t.Parallel()
	target := furnished(t, "default/local-talos-management", "team-a/w")
	played(t, target)
	x := set(t, "local-talos", nil, target)

	if err := x.teardown(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(x.lines, "\n"))
	}

	same(t, target.left("clusters"), []string(nil), x.removed, []string(nil))
	for _, words := range []string{"All CAPI clusters deleted; Hardware released to the pool", "NOT wiped: it still runs Talos"} {
		if !x.said(words) {
			t.Errorf("nobody said %q:\n%s", words, strings.Join(x.lines, "\n"))
		}
	}
	x.begin()
	if err := x.teardown(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestAClusterThatDoesNotGoKeepsItsHost(t *testing.T) {
	t.Parallel()
	kind := furnished(t, mgmt, "team-a/w") // and no controllers
	x := set(t, "aws", kind, nil)
	x.impatient()

	err := x.teardown(t.Context())

	if err == nil || !strings.HasPrefix(err.Error(), "teardown aborted: CAPI workload clusters did not finish deleting") || len(x.removed) > 0 {
		t.Errorf("%v, removed %v", err, x.removed)
	}
	for _, words := range []string{"1 cluster(s) still deleting...\nteam-a/w: waiting for finalizer cluster.cluster.x-k8s.io", "ABORTING teardown. The management cluster"} {
		if !x.said(words) {
			t.Errorf("nobody said %q:\n%s", words, strings.Join(x.lines, "\n"))
		}
	}
	// The next run goes on where this one stopped.
	played(t, kind)
	x.begin()
	if err := x.teardown(t.Context()); err != nil || len(x.lost) > 0 {
		t.Errorf("%v, lost %v", err, x.lost)
	}
}

func TestAClusterMadeMeanwhileIsDeletedToo(t *testing.T) {
	t.Parallel()
	kind := furnished(t, mgmt, "team-a/w")
	x := set(t, "aws", kind, nil)
	made := false
	kind.failing(func(r *http.Request) http.HandlerFunc {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/clusters/w") && !made {
			made = true
			kind.cluster("team-b/new")
		}
		return nil
	})
	played(t, kind)

	if err := x.teardown(t.Context()); err != nil || len(x.lost) > 0 {
		t.Errorf("%v, lost %v\n%s", err, x.lost, strings.Join(x.lines, "\n"))
	}
	same(t, kind.asked("DELETE "+clustersAt+"/namespaces/team-b/clusters/new"), 1)
}

func TestQ4ForceRemovesTheHostAndEndsWithAnError(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(r *http.Request) http.HandlerFunc{
		"a Cluster stays": nil,
		"nothing can be listed": func(r *http.Request) http.HandlerFunc {
			if strings.HasSuffix(r.URL.Path, "/clusters") {
				return status(403, "Forbidden", "")
			}
			return nil
		},
		"the server does not answer": func(*http.Request) http.HandlerFunc { return reset },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := furnished(t, mgmt, "team-a/w")
			x := set(t, "aws", kind, nil, "FORCE_KIND_DELETE=1")
			x.impatient()
			kind.failing(fault)

			err := x.teardown(t.Context())

			if err == nil || !errors.Is(err, run.ErrIncomplete) || !slices.Equal(x.removed, []string{"kind"}) {
				t.Errorf("%v, removed %v\n%s", err, x.removed, strings.Join(x.lines, "\n"))
			}
		})
	}
}

// host asks where the controllers run.
func (x *scene) host() (plan.Host, string) {
	w := x.Site.Observe(x.t.Context(), plan.World{}, "controller/host")
	why, _ := w.Of("controller/host").Failed()
	return w.Host, why
}

func TestTheControllersAreWhereTheClustersAre(t *testing.T) {
	t.Parallel()
	const own = "default/eu-north-1-management"
	one := func(names ...string) func(*testing.T) *server {
		return func(t *testing.T) *server { t.Helper(); return furnished(t, names...) }
	}
	with := func(prepare func(*testing.T) *server, f func(*server)) func(*testing.T) *server {
		return func(t *testing.T) *server { t.Helper(); s := prepare(t); f(s); return s }
	}
	fails := func(h http.HandlerFunc, at string) func(*server) {
		return func(s *server) {
			s.failing(func(r *http.Request) http.HandlerFunc {
				if strings.HasPrefix(r.URL.Path, at) {
					return h
				}
				return nil
			})
		}
	}
	silent := func(s *server) { s.Close() }
	moved := func(s *server) { s.journal("done") }
	for name, c := range map[string]struct {
		profile      string
		kind, target func(*testing.T) *server
		listing      error
		named        string // the cluster of the file
		want         plan.Host
		why          string
	}{
		"kind alone":                                         {profile: "aws", kind: one(own), want: plan.HostKind},
		"kind without Clusters":                              {profile: "aws", kind: one(), want: plan.HostKind},
		"the management cluster alone":                       {profile: "aws", target: one(own), want: plan.HostSelfManaged},
		"neither":                                            {profile: "aws", want: plan.HostUnreachable},
		"a file that leads nowhere":                          {profile: "aws", target: with(one(own), silent), want: plan.HostUnreachable},
		"kind, and a file that leads nowhere":                {profile: "aws", kind: one(own), target: with(one(own), silent), want: plan.HostKind},
		"kind that does not answer":                          {profile: "aws", kind: with(one(own), silent), why: "kind cluster 'mgmt' exists and cannot be asked"},
		"kind that lets nobody in":                           {profile: "aws", kind: with(one(own), fails(status(401, "Unauthorized", ""), "/")), why: "exists and cannot be asked"},
		"kind that is not ready":                             {profile: "aws", kind: with(one(own), fails(status(503, "ServiceUnavailable", ""), "/readyz")), why: "exists and cannot be asked"},
		"the list of kind clusters fails":                    {profile: "aws", target: one(own), listing: errors.New("broken pipe"), why: "cannot tell whether kind cluster 'mgmt' exists: broken pipe"},
		"no engine, self-managed":                            {profile: "aws", target: one(own), listing: engine.ErrNone, want: plan.HostSelfManaged},
		"no engine, nothing else":                            {profile: "aws", listing: engine.ErrNone, want: plan.HostUnreachable},
		"no engine, no Clusters":                             {profile: "aws", target: one(), listing: engine.ErrNone, why: "no container engine to tell"},
		"no engine, containers":                              {profile: "local-host", listing: engine.ErrNone, why: "cannot tell whether kind cluster"},
		"no engine, hardware":                                {profile: "local-talos", listing: engine.ErrNone, why: "cannot tell whether kind cluster"},
		"a management cluster with an expired token":         {profile: "aws", target: with(one(own), fails(status(401, "Unauthorized", ""), "/")), why: "the management cluster is there and cannot be asked"},
		"a management cluster that may not be asked":         {profile: "aws", target: with(one(own), fails(status(403, "Forbidden", ""), clustersAt)), why: "cannot list the CAPI Clusters"},
		"that of another environment":                        {profile: "aws", target: one("default/other-management"), why: "it is that of another environment"},
		"any cluster":                                        {profile: "aws", target: one(), named: "minikube", why: "it may be any cluster"},
		"ours, whose Clusters are gone":                      {profile: "local-talos", target: one(), want: plan.HostSelfManaged},
		"ours by another name":                               {profile: "aws", target: one(own), named: "arn:aws:eks", want: plan.HostSelfManaged},
		"kind, kept after the pivot":                         {profile: "aws", kind: one(), target: one(own, "default/w"), want: plan.HostSelfManaged},
		"kind, before the move":                              {profile: "aws", kind: one(own), target: one(), want: plan.HostKind},
		"kind, and the file of another environment":          {profile: "aws", kind: one(own), target: one("default/other-management"), want: plan.HostKind},
		"in the middle of a move":                            {profile: "aws", kind: one(own, "default/w"), target: one(own), why: "a move between them did not end"},
		"late in a move":                                     {profile: "aws", kind: one("default/w"), target: one(own), why: "a move between them did not end"},
		"moved, and the other one is silent":                 {profile: "aws", kind: with(one(), moved), target: with(one(own), silent), why: "Clusters were moved from kind cluster 'mgmt'"},
		"a move that was begun, and the other one is silent": {profile: "aws", kind: with(one(own), func(s *server) { s.journal("pausing") }), target: with(one(own), silent), want: plan.HostKind},
		"a move nobody can read of":                          {profile: "aws", kind: with(one(own), func(s *server) { s.put("/api/v1", "default", "configmaps", "krops-move") }), why: "cannot tell whether the Clusters of kind cluster 'mgmt' were moved"},
		"moved, and the other one lets nobody in":            {profile: "aws", kind: with(one(), moved), target: with(one(own), fails(status(401, "Unauthorized", ""), "/")), why: "is there and cannot be asked"},
		"kind, and one side cannot be listed":                {profile: "aws", kind: with(one(own), fails(nonsense, clustersAt)), target: one(own), why: "cannot list the CAPI Clusters"},
		"a server without Cluster API":                       {profile: "aws", kind: with(one(), func(s *server) { s.drop(clustersAt, "clusters") }), target: one(own), want: plan.HostSelfManaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kind, target *server
			if c.kind != nil {
				kind = c.kind(t)
			}
			if c.target != nil {
				target = c.target(t)
			}
			x := set(t, c.profile, kind, target)
			x.listing = c.listing
			if c.named != "" {
				x.write(target.kubeconfig(c.named))
			}

			host, why := x.host()

			if host != c.want || !strings.Contains(why, c.why) || (c.why == "") != (why == "") {
				t.Errorf("%v, %q", host, why)
			}
		})
	}
}

func TestTheHostIsFoundOnce(t *testing.T) {
	t.Parallel()
	kind := furnished(t, mgmt)
	x := set(t, "aws", kind, nil)
	if host, why := x.host(); host != plan.HostKind {
		t.Fatal(host, why)
	}
	kind.Close()

	host, _ := x.host()
	clusters := x.Site.Observe(t.Context(), plan.World{}, "clusters/listed").Clusters

	same(t, host, plan.HostKind, clusters.Known().Unknown(), true)
}
