package site_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// query is a question of a teardown.
type query struct {
	name  string
	is    func(r *http.Request) bool
	spare bool // its failure does not keep the host from being removed
	slow  bool // what it is about is waited for
}

func queries() []query {
	get := func(name string, spare bool, is func(path string, r *http.Request) bool) query {
		return query{name: name, spare: spare, is: func(r *http.Request) bool { return r.Method == http.MethodGet && is(r.URL.Path, r) }}
	}
	at := func(name, path string) query {
		return get(name, false, func(p string, _ *http.Request) bool { return p == path })
	}
	list := []query{
		at("the Clusters (D5)", clustersAt+"/clusters"),
		get("one Cluster", false, func(p string, _ *http.Request) bool { return strings.Contains(p, "/clusters/") }),
		at("the Kustomizations (D11)", kustomizationsAt+"/namespaces/flux-system/kustomizations"),
		at("the group of the Clusters", "/apis/cluster.x-k8s.io"),
		at("the kinds of the group of the Clusters", clustersAt),
		at("the kinds of the group of the Kustomizations", kustomizationsAt),
		at("the kinds of the group of the providers", providersAt),
		get("a Secret", true, func(p string, _ *http.Request) bool { return strings.Contains(p, "/secrets/") }),
		get("the releases of Helm", true, func(p string, r *http.Request) bool {
			return strings.HasSuffix(p, "/secrets") && r.URL.Query().Get("labelSelector") != ""
		}),
	}
	list[1].slow = true
	for _, kind := range []string{"addon", "controlplane", "bootstrap", "infrastructure", "core"} {
		list = append(list, at("the "+kind+"providers (D12)", providersAt+"/"+kind+"providers"))
	}
	return list
}

func failures() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"401": status(401, "Unauthorized", ""), "403": status(403, "Forbidden", ""), "504": status(504, "Timeout", ""), "503": status(503, "ServiceUnavailable", ""),
		"404 of something else": status(404, "NotFound", "other"), "no such page": noPage, "nonsense": nonsense, "reset": reset,
		"an empty answer": func(http.ResponseWriter, *http.Request) {},
	}
}

// A teardown in which one query fails in one way, from its beginning or from the
// moment its first Cluster is deleted.
func TestAQueryThatFailsNeverCostsTheControllers(t *testing.T) {
	t.Parallel()
	for _, q := range queries() {
		for how, h := range failures() {
			if q.slow && how != "403" && how != "404 of something else" {
				continue
			}
			for _, when := range []string{"always", "after the first deletion"} {
				if how == "reset" && when != "always" {
					continue // the client tries again for seconds
				}
				t.Run(q.name+", "+how+", "+when, func(t *testing.T) {
					t.Parallel()
					kind := furnished(t, mgmt, "default/eu-north-1-workload", "team-a/w")
					var deleted atomic.Bool
					var asked atomic.Int64 // of what is answered by many goroutines
					kind.failing(func(r *http.Request) http.HandlerFunc {
						if r.Method == http.MethodDelete {
							deleted.Store(true)
						}
						if q.is(r) && (when == "always" || deleted.Load()) {
							asked.Add(1)
							return h
						}
						return nil
					})
					played(t, kind)
					x := set(t, "aws", kind, nil)

					err := x.teardown(t.Context())

					if len(x.lost) > 0 {
						t.Fatalf("the controllers of %v are gone\n%s", x.lost, strings.Join(x.lines, "\n"))
					}
					met := asked.Load() > 0
					switch {
					case !met && err == nil: // it was asked before, and remembered
					case q.spare && err == nil && slices.Equal(x.removed, []string{"kind"}): // it went with the cluster
					case err == nil:
						t.Errorf("it ended well\n%s", strings.Join(x.lines, "\n"))
					case !q.spare && len(x.removed) > 0:
						t.Errorf("removed %v, and %v", x.removed, err)
					case q.spare && !slices.Equal(x.removed, []string{"kind"}):
						t.Errorf("removed %v, and %v", x.removed, err)
					}
					// Nothing was lost: a run without failures gets to the end.
					if len(x.removed) == 0 && how == "403" {
						kind.failing(nil)
						x.begin()
						if err := x.teardown(t.Context()); err != nil || len(x.lost) > 0 {
							t.Errorf("the next run: %v, lost %v", err, x.lost)
						}
					}
				})
			}
		}
	}
}

func TestTheWordsOfAnAbort(t *testing.T) {
	t.Parallel()
	forbid := func(path string) func(*http.Request) http.HandlerFunc {
		return func(r *http.Request) http.HandlerFunc {
			if r.URL.Path == path {
				return status(403, "Forbidden", "")
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		profile, path string
		late          bool
		want          string
	}{
		"D4":         {"local-host", clustersAt + "/clusters", false, "cannot confirm the state of CAPD workload cluster 'local-workload'; leaving the management cluster intact (re-run once the query works): forbidden"},
		"D5":         {"aws", clustersAt + "/clusters", false, "teardown aborted: cannot list the CAPI Clusters; the management cluster and its controllers have been left intact: forbidden"},
		"D6":         {"aws", clustersAt + "/clusters", true, "teardown aborted: cannot list the CAPI Clusters; the management cluster and its controllers have been left intact: forbidden"},
		"D6 talos":   {"local-talos", clustersAt + "/clusters", true, "the Hardware is not released and the management cluster was left intact: forbidden"},
		"D11":        {"aws", kustomizationsAt + "/namespaces/flux-system/kustomizations", false, "cannot list the Flux Kustomizations; aborting before any deletion: forbidden"},
		"D12":        {"aws", providersAt + "/addonproviders", false, "cannot list the CAPI addonproviders providers"},
		"D12 others": {"aws", providersAt + "/coreproviders", false, "cannot list the CAPI coreproviders providers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := map[string]string{"aws": mgmt, "local-host": "default/local-management", "local-talos": "default/local-talos-management"}[c.profile]
			kind := furnished(t, own, "default/local-workload")
			refuse := forbid(c.path)
			late := false
			kind.failing(func(r *http.Request) http.HandlerFunc {
				late = late || r.Method == http.MethodDelete
				if c.late && !late {
					return nil
				}
				return refuse(r)
			})
			if !c.late {
				played(t, kind)
			}
			x := set(t, c.profile, kind, nil)

			err := x.teardown(t.Context())

			if err == nil || !strings.Contains(err.Error(), c.want) || len(x.removed) > 0 {
				t.Errorf("%v, removed %v\n%s", err, x.removed, strings.Join(x.lines, "\n"))
			}
			if name == "D11" && kind.asked("DELETE") > 0 {
				t.Error("something was deleted before the abort")
			}
		})
	}
}

func TestD2AClusterWithoutTheKindsHasNothingToDelete(t *testing.T) {
	t.Parallel()
	kind := startServer(t)
	for full := range kind.kinds {
		if strings.HasPrefix(full, "/apis/") {
			delete(kind.kinds, full)
		}
	}
	x := set(t, "aws", kind, nil)

	if err := x.teardown(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(x.lines, "\n"))
	}

	same(t, x.removed, []string{"kind"})
	for _, words := range []string{
		"No Flux Kustomizations found – skipping suspension", "No CAPI workload clusters found – skipping cluster deletion",
		"CAPI Operator CRDs not present – skipping provider deletion", "Helm release 'flux' not found – skipping",
	} {
		if !x.said(words) {
			t.Errorf("nobody said %q:\n%s", words, strings.Join(x.lines, "\n"))
		}
	}
}

func TestD8AndD9EachClusterIsBoundByItsOwnKubeconfig(t *testing.T) {
	t.Parallel()
	kind, target := furnished(t), furnished(t, mgmt, "team-a/w")
	played(t, kind, target)
	x := set(t, "aws", kind, target)

	if err := x.teardown(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(x.lines, "\n"))
	}

	same(t, kind.asked("DELETE"), 0, kind.asked("PATCH"), 0, target.left("clusters"), []string{mgmt}, x.removed, []string{"kind", "nodes"}, x.lost, []string(nil))
}

func TestD25ProvidersAreListedByNamespaceAndName(t *testing.T) {
	t.Parallel()
	kind := furnished(t)
	x := set(t, "aws", kind, nil)
	names, _ := x.Site.Observe(t.Context(), plan.World{}, "providers/all").Providers.Names()
	same(t, names, []string{"addon/caaph-system/helm", "core/capi-system/cluster-api"})
}

func TestQ15TheSecretOfTheNamespaceDefaultGoesToo(t *testing.T) {
	t.Parallel()
	kind := startServer(t)
	kind.put("/api/v1", "default", "secrets", "sops-age")
	x := set(t, "aws", kind, nil)
	there := func() bool {
		return x.Site.Observe(t.Context(), plan.World{}, "controller/secrets").Of("controller/secrets").There()
	}
	before := there()

	err := x.Site.Do(t.Context(), plan.Step{ID: "delete-secrets"}, nil)

	same(t, before, true, err, error(nil), there(), false, kind.left("secrets"), []string(nil))
}

func TestASuspensionThatFailsIsAWarning(t *testing.T) {
	t.Parallel()
	kind := furnished(t, "team-a/w")
	kind.failing(func(r *http.Request) http.HandlerFunc {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/flux-apps") {
			return status(409, "Conflict", "flux-apps")
		}
		return nil
	})
	played(t, kind)
	x := set(t, "aws", kind, nil)

	if err := x.teardown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !x.said("Could not suspend some Kustomizations – continuing anyway (1 of 2)") {
		t.Errorf("the lines are\n%s", strings.Join(x.lines, "\n"))
	}
	same(t, kind.suspended(kustomizationsAt+"/namespaces/flux-system/kustomizations/docker-workload-cluster"), true)
}

// A run that is killed after any step begins again as another process, and ends
// where it would have ended.
func TestATeardownThatIsKilledIsTakenUp(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T) (*scene, *server){
		"aws on kind": func(t *testing.T) (*scene, *server) {
			t.Helper()
			s := furnished(t, mgmt, "default/eu-north-1-workload", "team-a/w")
			return set(t, "aws", s, nil), s
		},
		"local-host on kind": func(t *testing.T) (*scene, *server) {
			t.Helper()
			s := furnished(t, "default/local-management", "default/local-workload")
			return set(t, "local-host", s, nil), s
		},
		"local-host, self-managed": func(t *testing.T) (*scene, *server) {
			t.Helper()
			s := furnished(t, "default/local-management", "default/local-workload")
			return set(t, "local-host", nil, s), s
		},
		"local-talos on kind": func(t *testing.T) (*scene, *server) {
			t.Helper()
			s := furnished(t, "default/local-talos-management", "default/w")
			return set(t, "local-talos", s, nil), s
		},
	} {
		for stop := 1; stop < 20; stop++ {
			t.Run(fmt.Sprintf("%s, after %d steps", name, stop), func(t *testing.T) {
				t.Parallel()
				x, s := prepare(t)
				played(t, s)
				ctx, kill := context.WithCancel(t.Context())
				defer kill()
				k := &killed{scene: x, left: stop, kill: kill}
				_, err := run.Run(ctx, run.Options{Site: k, Sink: x, Plan: k.plan})
				if k.left > 0 && err != nil {
					t.Fatalf("%v", err)
				}
				x.begin()
				err = x.teardown(t.Context())

				// Who finds neither cluster ends without success, as documented.
				over := slices.Contains(x.removed, "kind") && x.settings.Environment.Name == "aws"
				if err != nil && !over || len(x.lost) > 0 {
					t.Errorf("%v, lost %v\n%s", err, x.lost, strings.Join(x.lines, "\n"))
				}
				if x.settings.Environment.Name != "local-talos" && len(x.removed) != 1 {
					t.Errorf("removed %v", x.removed)
				}
			})
		}
	}
}

// killed ends a run after some steps.
type killed struct {
	*scene

	left int
	kill func()
}

// Do does a step and then no other.
func (k *killed) Do(ctx context.Context, s plan.Step, v run.Voice) error {
	err := k.scene.Do(ctx, s, v)
	if k.left--; k.left == 0 {
		k.kill()
	}
	return err
}

// The law on the real site: requests fail at random, and no Cluster loses its
// controllers.
func TestRequestsThatFailAtRandomCostNoControllers(t *testing.T) {
	t.Parallel()
	hows := failures()
	var names []string
	for name := range hows {
		names = append(names, name)
	}
	slices.Sort(names)
	removed := 0
	for seed := range 24 {
		own, profile := mgmt, "aws"
		if seed%3 == 1 {
			own, profile = "default/local-management", "local-host"
		}
		s := furnished(t, own, "default/local-workload")
		if seed%4 > 1 {
			s.cluster("team-a/w")
		}
		n := 0
		s.failing(func(r *http.Request) http.HandlerFunc {
			n++
			h := fnv.New32a()
			_, _ = fmt.Fprint(h, seed, n, r.URL.Path)
			if sum := int(h.Sum32() % 1000); sum%20 == 0 {
				return hows[names[sum/20%len(names)]]
			}
			return nil
		})
		played(t, s)
		x := set(t, profile, s, nil)
		if seed%2 == 1 {
			x = set(t, profile, nil, s)
		}
		_ = x.teardown(t.Context()) // some end well, some do not
		if len(x.lost) > 0 {
			t.Errorf("seed %d: the controllers of %v are gone\n%s", seed, x.lost, strings.Join(x.lines, "\n"))
		}
		removed += len(x.removed)
	}
	if removed == 0 {
		t.Error("no host was ever removed: the law was not met")
	}
}
