package site_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/engine/enginetest"
	"github.com/holdfast-ops/holdfast/internal/krops/helm"
	"github.com/holdfast-ops/holdfast/internal/krops/kind"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
)

// pair is a host with a kind cluster and a management cluster.
type pair struct {
	*premises
	source, target *shelf
	site           *site.Site
	now            time.Time
}

func newPair(t *testing.T, environment string, env map[string]string) *pair {
	t.Helper()
	p := &pair{premises: newPremises(t), source: newShelf(t, false), target: newShelf(t, false), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	p.kinds.server = p.source.URL
	p.kinds.clusters["mgmt"] = kind.Config{}
	p.write(".kube/krops-mgmt.yaml", p.target.access("krops-mgmt"))
	p.write("age.agekey", "# created: 2026\n# public key: age1abc\nAGE-SECRET-KEY-1\n")
	maps.Copy(p.env, map[string]string{"GIT_REPO_URL": "https://github.com/acme/site", "GITHUB_TOKEN": "sesame"})
	maps.Copy(p.env, env)
	p.site = p.premises.site(config.VerbBootstrap, environment)
	p.site.Now = func() time.Time { return p.now }
	return p
}

func (p *pair) does(id string) error { return p.do(p.site, id) }

func (p *pair) asks(f plan.Fact, want string) {
	p.t.Helper()
	p.expect(p.site, f, want)
}

const tagsAt = "/api/v1/namespaces/flux-system/configmaps/krops-run"

func data(o map[string]any) map[string]any {
	d, _ := o["data"].(map[string]any)
	return d
}

func TestR1R2ARunIsTaggedOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  map[string]string
		want map[string]any
		says []string
	}{
		"R1 a run that has a name": {
			map[string]string{"KROPS_RUN_ID": "gha-123", "KROPS_REVISION": "abc", "KROPS_RUN_KIND": "scheduled"},
			map[string]any{"KROPS_RUN_ID": "gha-123", "KROPS_REVISION": "abc", "KROPS_EXPIRES_AT": "2026-12-01T12:00:00Z", "KROPS_RUN_KIND": "scheduled"},
			[]string{
				"! Run tags: existing ConfigMap not found; generating fresh tags (run-id from KROPS_RUN_ID, expires-at recalculated)",
				"Run tags: run-id=gha-123 revision=abc expires-at=2026-12-01T12:00:00Z run-kind=scheduled",
			},
		},
		"R2 a run for ever, without a name": {
			map[string]string{"KROPS_RUN_TTL": "none"},
			map[string]any{"KROPS_RUN_ID": "aws-2026-11-30T12:00:00Z", "KROPS_REVISION": "unknown", "KROPS_EXPIRES_AT": "never", "KROPS_RUN_KIND": "manual"},
			[]string{"Run tags: run-id=aws-2026-11-30T12:00:00Z revision=unknown expires-at=never run-kind=manual"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "aws", test.env)
			p.asks("source/run-metadata", "gone")

			if err := p.does("run-metadata"); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, data(p.source.object(tagsAt))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.says, p.voice.lines); diff != "" {
				t.Error(diff)
			}
			p.asks("source/run-metadata", "there")
			if got := p.target.written(); len(got) > 0 {
				t.Errorf("R7: the other cluster was written to: %v", got)
			}
		})
	}
}

const tagged = `{"metadata":{"labels":{"a":"b"}},"data":{"KROPS_RUN_ID":"old","KROPS_REVISION":"abc","KROPS_EXPIRES_AT":"never","KROPS_RUN_KIND":"manual","more":"x"}}`

func TestQ24TagsThatAreThereStay(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"R3 a rerun that names a run": "new", "R4 a rerun that names none": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "aws", map[string]string{"KROPS_RUN_ID": id})
			p.source.put(tagsAt, tagged)

			p.asks("source/run-metadata", "there")
			if err := p.does("run-metadata"); err != nil {
				t.Error(err)
			}
			if got := p.source.written(); len(got) > 0 || len(p.voice.lines) > 0 {
				t.Errorf("%v %v", got, p.voice.lines)
			}
		})
	}
}

func TestR6TagsThatCannotBeReadAreNotReplaced(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(s *shelf)
		want  string
	}{
		"no data":           {func(s *shelf) { s.put(tagsAt, "{}") }, "KROPS_RUN_ID missing or empty in flux-system/krops-run on 'kind-mgmt'"},
		"an empty value":    {func(s *shelf) { s.put(tagsAt, strings.Replace(tagged, "never", "", 1)) }, "KROPS_EXPIRES_AT missing or empty"},
		"a value that is 7": {func(s *shelf) { s.put(tagsAt, strings.Replace(tagged, `"never"`, "7", 1)) }, "data that is no text"},
		"forbidden":         {func(s *shelf) { s.failing("GET "+tagsAt, status(403, "Forbidden", "krops-run")) }, "get ConfigMap flux-system/krops-run"},
		"nonsense":          {func(s *shelf) { s.failing("GET "+tagsAt, nonsense) }, "unreadable answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "aws", nil)
			test.spoil(p.source)

			p.asks("source/run-metadata", "unknown")
			for _, step := range []string{"run-metadata", "target-run-metadata"} {
				if err := p.does(step); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %v, want %s", step, err, test.want)
				}
			}
			if got := append(p.source.written(), p.target.written()...); len(got) > 0 {
				t.Errorf("written: %v", got)
			}
		})
	}
}

func TestR5TheTagsOfTheSourceAreCopiedExactly(t *testing.T) {
	t.Parallel()
	p := newPair(t, "aws", nil)
	p.source.put(tagsAt, tagged)
	p.asks("target/run-metadata", "gone")

	if err := p.does("target-run-metadata"); err != nil {
		t.Fatal(err)
	}

	want := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "flux-system", "name": "krops-run"},
		"data": map[string]any{"KROPS_RUN_ID": "old", "KROPS_REVISION": "abc", "KROPS_EXPIRES_AT": "never", "KROPS_RUN_KIND": "manual"},
	}
	if diff := cmp.Diff(want, p.target.object(tagsAt)); diff != "" {
		t.Error(diff)
	}
	p.asks("target/run-metadata", "there")
	p.source.put(tagsAt, strings.Replace(tagged, "old", "new", 1))
	p.asks("target/run-metadata", "gone")
	p.source.failing("GET "+tagsAt, status(503, "ServiceUnavailable", ""))
	p.asks("target/run-metadata", "unknown")
	delete(p.kinds.clusters, "mgmt")
	p.asks("target/run-metadata", "there")
}

func TestSecretsAreComparedAndReplaced(t *testing.T) {
	t.Parallel()
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for prefix, where := range map[string]string{"": "source/", "target-": "target/"} {
		p := newPair(t, "aws", map[string]string{"GITHUB_TOKEN": "ses\"am\\e", "GITHUB_USER": "bot"})
		shelf := map[string]*shelf{"source/": p.source, "target/": p.target}[where]
		const git, age, local = "/api/v1/namespaces/flux-system/secrets/flux-github-pat", "/api/v1/namespaces/flux-system/secrets/sops-age", "/api/v1/namespaces/default/secrets/sops-age"
		shelf.put(git, `{"data":{"username":"`+encoded("bot")+`","password":"`+encoded("other")+`"}}`)
		shelf.put(age, `{"data":{"keys.age1abc.agekey":"`+encoded("# created: 2026\n# public key: age1abc\nAGE-SECRET-KEY-1\n")+`","keys.age1old.agekey":"`+encoded("old")+`"}}`)
		for id, before := range map[string]string{"git-secret": "gone", "sops-secret": "gone", "sops-secret-default": "gone"} {
			p.asks(plan.Fact(where+id), before)
		}

		for _, id := range []string{"git-secret", "sops-secret", "sops-secret-default"} {
			if err := p.does(prefix + id); err != nil {
				t.Error(err)
			}
			p.asks(plan.Fact(where+id), "there")
			if strings.Contains(strings.Join(p.voice.lines, ""), "ses") {
				t.Errorf("it was said: %v", p.voice.lines)
			}
		}

		// The age keys are removed first: no stale key survives.
		if diff := cmp.Diff([]string{"PATCH " + git, "DELETE " + age, "PATCH " + age, "DELETE " + local, "PATCH " + local}, shelf.written()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]any{"username": encoded("bot"), "password": encoded("ses\"am\\e")}, data(shelf.object(git))); diff != "" {
			t.Errorf("S1: %s", diff)
		}
		if _, ok := data(shelf.object(local))["keys.age1abc.agekey"]; !ok || len(data(shelf.object(local))) != 1 {
			t.Errorf("S2: %v", data(shelf.object(local)))
		}
		if got := shelf.object(age)["type"]; got != "Opaque" {
			t.Errorf("type %v", got)
		}
		shelf.failing("GET "+git, status(401, "Unauthorized", ""))
		p.asks(plan.Fact(where+"git-secret"), "unknown")
	}
}

func TestTheReleasesOfFluxAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	cluster := map[string]any{"type": "kubernetes", "size": "small", "multitenant": false, "networkPolicy": true, "domain": "cluster.local"}
	for environment, values := range map[string]map[string]any{
		"aws": {"cluster": cluster, "sync": map[string]any{
			"kind": "GitRepository", "url": "https://github.com/acme/site", "ref": "refs/heads/main", "path": "mgmt/aws", "pullSecret": "flux-github-pat",
		}},
		"local-host": {"cluster": cluster, "sync": map[string]any{
			"kind": "OCIRepository", "url": "oci://krops-registry:5000/krops", "ref": "dev", "path": "mgmt/local-host",
		}, "kustomize": map[string]any{"patches": []any{map[string]any{
			"target": map[string]any{"kind": "OCIRepository"}, "patch": "- op: add\n  path: /spec/insecure\n  value: true\n",
		}}}},
	} {
		p := newPair(t, environment, map[string]string{"OCI_TAG": "dev"})
		operator, instance, err := p.site.FluxReleases()
		if err != nil {
			t.Fatal(err)
		}

		const charts = "oci://ghcr.io/controlplaneio-fluxcd/charts/"
		version := p.site.Settings.File.Charts["flux-operator"]
		if diff := cmp.Diff(helm.Release{Name: "flux-operator", Namespace: "flux-system", Chart: charts + "flux-operator", Version: version, Wait: helm.Watcher, Loose: true}, operator); diff != "" {
			t.Error(diff)
		}
		want := helm.Release{
			Name: "flux", Namespace: "flux-system", Chart: charts + "flux-instance", Version: version, Wait: helm.Legacy, Values: map[string]any{"instance": values},
		}
		if diff := cmp.Diff(want, instance); diff != "" {
			t.Error(diff)
		}
	}
}

// ready is an object with a condition.
func condition(kind, status, reason, message string) string {
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"generation": 2},
		"spec":     map[string]any{},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": 2,
		}}},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

const (
	instanceAt = "/apis/fluxcd.controlplane.io/v1/namespaces/flux-system/fluxinstances/flux"
	kustomized = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/"
	gitAt      = "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/flux-system"
)

func TestFluxIsReadyWhenItSaysSo(t *testing.T) {
	t.Parallel()
	p := newPair(t, "aws", nil)
	p.asks("source/flux-ready", "gone")
	p.source.put(instanceAt, condition("Ready", "Unknown", "Progressing", ""))
	p.asks("source/flux-ready", "gone")
	p.source.put(instanceAt, condition("Ready", "True", "ReconciliationSucceeded", ""))
	p.asks("source/flux-ready", "there")
	p.source.put(instanceAt, strings.Replace(condition("Ready", "True", "ReconciliationSucceeded", ""), `"generation":2`, `"generation":3`, 1))
	p.asks("source/flux-ready", "gone") // it was ready for what was asked before
	p.source.failing("GET "+instanceAt, status(500, "InternalError", ""))
	p.asks("source/flux-ready", "unknown")

	p.asks("source/flux-controllers", "gone")
	p.source.put("/api/v1/namespaces/flux-system/pods/a", condition("Ready", "True", "", ""))
	p.asks("source/flux-controllers", "there")
	p.source.put("/api/v1/namespaces/flux-system/pods/b", condition("Ready", "False", "", ""))
	p.asks("source/flux-controllers", "gone")
}

func TestAWaitTellsWhatHoldsItUpAndGivesUpOnWhatDoesNotPass(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step     string
		path     string
		object   string
		why      string
		hopeless bool
	}{
		"Flux works on it":              {"flux-instance-ready", instanceAt, condition("Ready", "Unknown", "Progressing", "Reconciliation in progress"), "FluxInstance flux-system/flux: Progressing: Reconciliation in progress", false},
		"Flux is stalled":               {"flux-instance-ready", instanceAt, condition("Stalled", "True", "BuildFailed", "unknown version"), "FluxInstance flux-system/flux: BuildFailed: unknown version", true},
		"the build fails":               {"flux-instance-ready", instanceAt, condition("Ready", "False", "BuildFailed", "no\nsuch"), "FluxInstance flux-system/flux: BuildFailed: no", true},
		"a check fails":                 {"flux-instance-ready", instanceAt, condition("Ready", "False", "HealthCheckFailed", "not yet"), "FluxInstance flux-system/flux: HealthCheckFailed: not yet", false},
		"the token is refused":          {"flux-instance-ready", gitAt, condition("Ready", "False", "GitOperationFailed", "failed to clone: authentication required: Repository not found"), "GitRepository flux-system/flux-system: GitOperationFailed: failed to clone: authentication required: Repository not found", true},
		"the network is down":           {"flux-instance-ready", gitAt, condition("Ready", "False", "GitOperationFailed", "failed to clone: no route to host"), "GitRepository flux-system/flux-system: GitOperationFailed: failed to clone: no route to host", false},
		"what flux-apps waits for":      {"flux-apps-ready", kustomized + "before", condition("Ready", "False", "BuildFailed", "missing file"), "Kustomization flux-system/before: BuildFailed: missing file", true},
		"what flux-apps has no need of": {"flux-apps-ready", kustomized + "other", condition("Ready", "False", "BuildFailed", "missing file"), "", false},
		"what is suspended":             {"flux-apps-ready", kustomized + "before", strings.Replace(condition("Ready", "False", "BuildFailed", ""), `"spec":{}`, `"spec":{"suspend":true}`, 1), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "aws", nil)
			p.source.put(instanceAt, condition("Ready", "True", "", ""))
			p.source.put(kustomized+"flux-apps", `{"spec":{"dependsOn":[{"name":"middle"}]}}`)
			p.source.put(kustomized+"middle", `{"spec":{"dependsOn":[{"name":"before"},{"name":"flux-apps"},{"name":"nowhere"}]}}`)
			p.source.put(test.path, test.object)
			look := func() (string, error) { return p.site.Hold(t.Context(), plan.Step{ID: test.step}) }

			why, err := look()
			if why != test.why || err != nil {
				t.Errorf("at once: %q %v", why, err)
			}
			p.now = p.now.Add(119 * time.Second)
			if _, err := look(); err != nil {
				t.Errorf("before the grace is over: %v", err)
			}
			p.now = p.now.Add(time.Second)
			_, err = look()
			if hopeless := err != nil; hopeless != test.hopeless || hopeless && !strings.HasSuffix(err.Error(), test.why) {
				t.Errorf("after it: %v", err)
			}
		})
	}
}

func TestATroubleThatWasOverIsNewWhenItComesBack(t *testing.T) {
	t.Parallel()
	p := newPair(t, "aws", nil)
	bad, good := condition("Ready", "False", "BuildFailed", ""), condition("Ready", "True", "", "")
	for _, state := range []string{bad, good, bad} {
		p.source.put(instanceAt, state)
		if _, err := p.site.Hold(t.Context(), plan.Step{ID: "flux-instance-ready"}); err != nil {
			t.Error(err)
		}
		p.now = p.now.Add(time.Minute + 50*time.Second)
	}
}

func TestTheStateOfFluxIsShownWhenAWaitIsOver(t *testing.T) {
	t.Parallel()
	p := newPair(t, "aws", nil)
	p.source.put(kustomized+"b", condition("Ready", "False", "BuildFailed", "missing\nmore"))
	p.source.put(kustomized+"a", condition("Ready", "True", "Applied", "fine"))
	p.source.put("/api/v1/namespaces/flux-system/pods/p", condition("Ready", "False", "ContainersNotReady", ""))

	p.site.Diagnose(t.Context(), plan.Step{ID: "flux-instance-ready"}, &p.voice)

	want := []string{
		"| KUSTOMIZATION  READY  REASON       MESSAGE\nflux-system/a  True   Applied      fine\nflux-system/b  False  BuildFailed  missing",
		"| POD            PHASE    READY  WHY\nflux-system/p  Unknown  False  ContainersNotReady",
	}
	if diff := cmp.Diff(want, p.voice.lines); diff != "" {
		t.Error(diff)
	}
}

// workload gives a pair a workload cluster, reached inside the toolbox or through a
// port of this host.
func (p *pair) workload(inside bool) *shelf {
	p.t.Helper()
	w := newShelf(p.t, true)
	kubeconfig := w.access("local-workload")
	if !inside {
		port, err := strconv.Atoi(w.URL[strings.LastIndex(w.URL, ":")+1:])
		if err != nil {
			p.t.Fatal(err)
		}
		p.engine.Add(enginetest.Container{Name: "local-workload-lb", Running: true, Ports: map[uint16]int{6443: port}})
		kubeconfig = strings.Replace(kubeconfig, w.URL, "https://172.18.0.9:6443", 1)
	}
	p.source.put("/api/v1/namespaces/default/secrets/local-workload-kubeconfig", fmt.Sprintf(`{"data":{"value":%q}}`, base64.StdEncoding.EncodeToString([]byte(kubeconfig))))
	return w
}

func TestP1TheWorkloadClusterIsReachedFromWhereWeAre(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		inside bool
		env    map[string]string
	}{
		"through a port of this host": {false, nil},
		"through the network of kind": {true, map[string]string{"KROPS_TOOLBOX": "1", "KUBECONFIG": "/nowhere/kind.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "local-host", test.env)
			p.asks("source/workload-flux", "unknown") // no kubeconfig yet
			w := p.workload(test.inside)

			p.asks("source/workload-flux", "gone")
			p.asks("source/workload-flux-controllers", "gone")
			w.put(kustomized+"flux-system", condition("Ready", "False", "Progressing", ""))
			p.asks("source/workload-flux", "there")
			p.asks("source/workload-flux-ready", "gone")
			w.put(kustomized+"flux-system", condition("Ready", "True", "", ""))
			p.asks("source/workload-flux-ready", "there")
			w.put("/api/v1/namespaces/flux-system/pods/p", condition("Ready", "True", "", ""))
			p.asks("source/workload-flux-controllers", "there")
		})
	}
}

func TestAPortThatIsNotPublishedIsSaid(t *testing.T) {
	t.Parallel()
	p := newPair(t, "local-host", nil)
	p.workload(false)
	p.engine.Remove("local-workload-lb")

	got := p.is(p.site, "source/workload-flux")

	if why, bad := got.Failed(); !bad || !strings.Contains(why, "cannot determine the local-workload API server port") {
		t.Error(got)
	}
}

// loud is a voice of which a test waits for a line.
type loud struct {
	spoken
	mu   sync.Mutex
	said chan string
}

func (l *loud) Detail(format string, a ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said <- fmt.Sprintf(format, a...)
}

func TestErrorsOfFluxAreFollowedWhileAWaitWaits(t *testing.T) {
	t.Parallel()
	p := newPair(t, "local-host", map[string]string{"KROPS_TOOLBOX": "1", "KUBECONFIG": "/nowhere/kind.yaml"})
	w := p.workload(true)
	w.put("/api/v1/namespaces/flux-system/pods/kc", `{"spec":{"containers":[{"name":"manager"}]}}`)
	w.failing("GET /api/v1/namespaces/flux-system/pods/kc/log", func(rw http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("follow") != "true" || q.Get("sinceSeconds") != "600" || q.Get("container") != "manager" {
			t.Errorf("asked for %v", q)
		}
		_, _ = rw.Write([]byte(`{"level":"info","msg":"fine"}` + "\nno JSON\n" +
			`{"level":"error","msg":"Reconciler error","controllerKind":"Kustomization","namespace":"flux-system","name":"apps","error":"no such file"}` + "\n"))
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
	})
	voice := &loud{said: make(chan string, 1)}

	stop := p.site.Follow(t.Context(), plan.Step{ID: "workload-flux-ready"}, voice)
	got := <-voice.said
	stop()

	if got != "Kustomization flux-system/apps: Reconciler error: no such file" {
		t.Error(got)
	}
}

func FuzzALineOfALog(f *testing.F) {
	f.Add([]byte(`{"level":"error","msg":"m","error":"e"}`))
	f.Add([]byte(`{"level":"error"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if text, ok := site.Logged(line); ok == (text == "") {
			t.Errorf("%q, %v", text, ok)
		}
	})
}

func TestTheFileOfTheManagementClusterIsComparedWithItsSecret(t *testing.T) {
	t.Parallel()
	p := newPair(t, "aws", nil)
	const fact, at = plan.Fact("source/kubeconfig-exported"), "/api/v1/namespaces/default/secrets/eu-north-1-management-kubeconfig"
	p.asks(fact, "unknown") // there is no Secret
	put := func(kubeconfig string) {
		p.source.put(at, fmt.Sprintf(`{"data":{"value":%q}}`, base64.StdEncoding.EncodeToString([]byte(kubeconfig))))
	}

	put(p.target.access("eu-north-1-management"))
	p.asks(fact, "there")
	put(strings.Replace(p.target.access("eu-north-1-management"), `"token":"t"`, `"token":"rotated"`, 1))
	p.asks(fact, "gone")
	put("{}")
	p.asks(fact, "unknown")
	p.write(".kube/krops-mgmt.yaml", "")
	put(p.target.access("eu-north-1-management"))
	p.asks(fact, "gone")
}
