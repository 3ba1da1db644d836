package site_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/configtest"
	"github.com/holdfast-ops/holdfast/internal/krops/engine/enginetest"
	"github.com/holdfast-ops/holdfast/internal/krops/kind"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
)

// spoken is a voice that remembers, each line with the mark of its kind.
type spoken struct{ lines []string }

func (l *spoken) add(mark, format string, a ...any) {
	l.lines = append(l.lines, mark+fmt.Sprintf(format, a...))
}
func (l *spoken) Say(format string, a ...any)     { l.add("", format, a...) }
func (l *spoken) Detail(format string, a ...any)  { l.add("  ", format, a...) }
func (l *spoken) Done(format string, a ...any)    { l.add("✓ ", format, a...) }
func (l *spoken) Warn(format string, a ...any)    { l.add("! ", format, a...) }
func (l *spoken) Trouble(format string, a ...any) { l.add("ERROR ", format, a...) }
func (l *spoken) Print(text string)               { l.add("| ", "%s", strings.TrimSuffix(text, "\n")) }

// someKinds are kind clusters without containers.
type someKinds struct {
	clusters map[string]kind.Config
	server   string
	err      error
	half     bool
	asked    []string // internal kubeconfigs
}

func (k *someKinds) Exists(_ context.Context, name string) (bool, error) {
	_, ok := k.clusters[name]
	return ok, k.err
}

func (k *someKinds) HalfMade(context.Context, string) (bool, error) { return k.half, k.err }

func (k *someKinds) Create(_ context.Context, name string, c kind.Config, say func(string)) error {
	say("nodes are prepared")
	k.clusters[name] = c
	return k.err
}

func (k *someKinds) Delete(_ context.Context, name string) error {
	delete(k.clusters, name)
	return k.err
}

func (k *someKinds) Kubeconfig(_ context.Context, name string, internal bool) ([]byte, error) {
	if internal {
		k.asked = append(k.asked, name)
	}
	return []byte(strings.NewReplacer("NAME", kind.ContextOf(name), "SERVER", k.server).Replace(someKubeconfig)), k.err
}

func (k *someKinds) Recorded(_ context.Context, name string) (string, error) {
	return k.clusters[name].String(), nil
}

const someKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: NAME, cluster: {server: "SERVER"}}]
users: [{name: NAME, user: {token: t}}]
contexts: [{name: NAME, context: {cluster: NAME, user: NAME}}]
current-context: NAME
`

// commands is a runner that remembers.
type commands struct {
	ran []host.Cmd
	err error
}

func (c *commands) Run(_ context.Context, cmd host.Cmd) (host.Output, error) {
	c.ran = append(c.ran, cmd)
	cmd.OnLine(false, "federated")
	cmd.OnLine(true, "careful")
	return host.Output{}, c.err
}

func (*commands) Start(host.Cmd) (host.Process, error) {
	return nil, errors.New("nothing is left running")
}

// place is a host with an engine.
type premises struct {
	t      *testing.T
	dir    string
	engine *enginetest.Server
	kinds  *someKinds
	runner *commands
	env    map[string]string
	github string
	voice  spoken
}

func newPremises(t *testing.T) *premises {
	t.Helper()
	dir, err := os.MkdirTemp("", "host") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, err := enginetest.Listen(filepath.Join(dir, "engine.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	p := &premises{t: t, dir: dir, engine: s, kinds: &someKinds{clusters: map[string]kind.Config{}, server: "https://127.0.0.1:1"}, runner: &commands{}}
	p.env = map[string]string{"DOCKER_HOST": s.Host(), "HOME": dir, "PATH": dir}
	p.write("mise", "")
	if err := os.Chmod(filepath.Join(dir, "mise"), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *premises) write(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// site opens the site of an environment.
func (p *premises) site(verb config.Verb, environment string) *site.Site {
	p.t.Helper()
	var environ []string
	for name, value := range p.env {
		environ = append(environ, name+"="+value)
	}
	slices.Sort(environ)
	settings := configtest.Settings(p.t, verb, environment, environ...)
	return site.New(site.Options{
		Settings: settings, Root: p.dir + "/repository", Dir: p.dir, Environ: environ, Kinds: p.kinds, Runner: p.runner, Github: p.github, Version: "v1", System: p.dir,
	})
}

func (p *premises) do(s *site.Site, id string) error {
	p.voice.lines = nil
	return s.Do(p.t.Context(), plan.Step{ID: id}, &p.voice)
}

func (p *premises) is(s *site.Site, f plan.Fact) plan.Presence {
	return s.Observe(p.t.Context(), plan.World{}, f).Of(f)
}

// there, gone and unknown are the three answers.
func (p *premises) expect(s *site.Site, f plan.Fact, want string) {
	p.t.Helper()
	got := p.is(s, f)
	_, failed := got.Failed()
	answer := map[bool]string{got.There(): "there", got.Gone(): "gone", failed: "unknown"}[true]
	if answer != want {
		p.t.Errorf("%s is %s, not %s: %v", f, answer, want, got)
	}
}

func ill(string, string) (int, string) { return http.StatusInternalServerError, "ill" }

func TestQ7AKindClusterIsThereGoneOrUnknown(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	s, down := p.site(config.VerbBootstrap, "aws"), p.site(config.VerbTeardown, "aws")
	p.expect(s, "host/kind-cluster", "gone")
	p.kinds.clusters["mgmt"] = kind.Config{}
	p.expect(s, "host/kind-cluster", "there")
	p.kinds.half = true
	p.expect(s, "host/kind-cluster", "gone") // it is made anew
	p.expect(down, "host/kind-cluster", "there")
	p.kinds.err = errors.New("the listing failed")
	p.expect(s, "host/kind-cluster", "unknown")
	p.expect(down, "host/kind-cluster", "unknown")
}

func TestNothingIsKnownWithoutAnEngine(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	p.engine.Close()
	p.env["CONTAINER_HOST"] = p.engine.Host()
	s := p.site(config.VerbTeardown, "local-host")
	for _, f := range []plan.Fact{"host/registry", "host/mgmt-containers", "host/containers/local-workload"} {
		p.expect(s, f, "unknown")
	}
}

func TestTheKubeconfigOfTheManagementClusterIsLookedForWhereTheCallerIs(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	p.env["MGMT_KUBECONFIG"] = "mgmt/config.yaml"
	s := p.site(config.VerbBootstrap, "aws")
	p.expect(s, "host/mgmt-kubeconfig", "gone")
	p.write("mgmt/config.yaml", "x")
	p.expect(s, "host/mgmt-kubeconfig", "there")
	p.env["MGMT_KUBECONFIG"] = "mgmt/config.yaml/config.yaml"
	p.expect(p.site(config.VerbBootstrap, "aws"), "host/mgmt-kubeconfig", "unknown")
}

func TestACreatedClusterIsAnnouncedToTheCaller(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	p.write(".kube/config", strings.NewReplacer("NAME", "mine", "SERVER", "https://mine").Replace(someKubeconfig))
	s := p.site(config.VerbBootstrap, "local-host")

	if err := p.do(s, "create-kind"); err != nil {
		t.Fatal(err)
	}

	made := p.kinds.clusters["mgmt"].String()
	for _, part := range []string{"hostPath: /var/run/docker.sock", "localhost:5001", "http://krops-registry:5000"} {
		if !strings.Contains(made, part) {
			t.Errorf("no %q in\n%s", part, made)
		}
	}
	if diff := cmp.Diff([]string{"  nodes are prepared"}, p.voice.lines); diff != "" {
		t.Error(diff)
	}
	p.expect(s, "source/context", "gone")
	if err := p.do(s, "kind-context"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"  context kind-mgmt is in " + p.dir + "/.kube/config"}, p.voice.lines); diff != "" {
		t.Error(diff)
	}
	p.expect(s, "source/context", "there")
	text, err := os.ReadFile(p.dir + "/.kube/config")
	if err != nil || !strings.Contains(string(text), "current-context: mine\n") || !strings.Contains(string(text), "name: kind-mgmt\n") {
		t.Errorf("%s, %v", text, err)
	}

	if err := p.do(s, "delete-kind"); err != nil || len(p.kinds.clusters) != 0 {
		t.Fatal(err, p.kinds.clusters)
	}
	if text, err := os.ReadFile(p.dir + "/.kube/config"); err != nil || strings.Contains(string(text), "kind-mgmt") || !strings.Contains(string(text), "current-context: mine\n") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestD21C29InTheToolboxTheContainerJoinsTheNetworkOfKind(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	p.engine.AddNetwork("kind")
	me := p.engine.Add(enginetest.Container{Name: "toolbox", Running: true})
	p.write("etc/hostname", me.ID[:12]+"\n")
	p.kinds.clusters["mgmt"] = kind.Config{}
	in := func() bool {
		for _, c := range p.engine.Containers() {
			if c.ID == me.ID {
				return slices.Contains(c.Networks, "kind")
			}
		}
		return false
	}

	p.expect(p.site(config.VerbBootstrap, "aws"), "host/kind-cluster", "there")
	if in() {
		t.Error("it joined outside the toolbox")
	}
	p.env["KROPS_TOOLBOX"], p.env["KUBECONFIG"] = "1", "kube/kind.yaml"
	s := p.site(config.VerbBootstrap, "aws")
	p.expect(s, "host/kind-cluster", "there")
	if !in() {
		t.Error("it did not join")
	}
	delete(p.kinds.clusters, "mgmt")
	if err := errors.Join(p.do(s, "create-kind"), p.do(s, "kind-context")); err != nil || !slices.Contains(p.kinds.asked, "mgmt") {
		t.Errorf("%v, internal kubeconfigs of %q", err, p.kinds.asked)
	}
	info, err := os.Stat(p.dir + "/kube/kind.yaml")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := p.do(s, "delete-kind"); err != nil || in() {
		t.Errorf("%v, still in the network: %v", err, in())
	}
}

func TestAToolboxThatCannotJoinIsNoEvidenceOfAbsence(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	p.engine.AddNetwork("kind")
	p.kinds.clusters["mgmt"] = kind.Config{}
	p.env["KROPS_TOOLBOX"], p.env["KUBECONFIG"] = "1", "kind.yaml" // and no /etc/hostname
	p.expect(p.site(config.VerbBootstrap, "aws"), "host/kind-cluster", "unknown")
	p.expect(p.site(config.VerbTeardown, "aws"), "host/kind-cluster", "there")
}

func TestC27TheTaskRunsInTheRepositoryAndKnowsTheCluster(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	p.env["KROPS_KIND_CLUSTER"], p.env["GITHUB_TOKEN"], p.env["KIND_NODE"] = "blue", "ghp_x", "mgmt-control-plane"
	s := p.site(config.VerbBootstrap, "azure")

	if err := p.do(s, "post-kind-create-task"); err != nil {
		t.Fatal(err)
	}

	ran := p.runner.ran[0]
	if diff := cmp.Diff([]string{"mise", "-E", "azure", "run", "arc-federate"}, ran.Argv); diff != "" || ran.Dir != p.dir+"/repository" {
		t.Error(ran.Dir, diff)
	}
	for _, pair := range []string{"KIND_NODE=blue-control-plane", "KIND_CONTEXT=kind-blue", "HOME=" + p.dir} {
		if !slices.Contains(ran.Env, pair) {
			t.Errorf("no %s in %q", pair, ran.Env)
		}
	}
	if slices.Contains(ran.Env, "KIND_NODE=mgmt-control-plane") {
		t.Error("two nodes")
	}
	if diff := cmp.Diff([]string{"  context kind-blue is in " + p.dir + "/.kube/config", "| federated", "| careful"}, p.voice.lines); diff != "" {
		t.Error(diff)
	}

	p.runner.err = &host.ExitError{Argv: ran.Argv, Code: 3}
	if err := p.do(s, "post-kind-create-task"); err == nil || err.Error() != "post-kind-create task 'arc-federate' failed: mise -E azure run arc-federate: exit status 3" {
		t.Errorf("%v", err)
	}
	p.env["PATH"] = "/nonexistent"
	if err := p.do(p.site(config.VerbBootstrap, "azure"), "post-kind-create-task"); err == nil || !strings.Contains(err.Error(), "needs mise, and there is none in PATH") {
		t.Errorf("%v", err)
	}
}

// A wrong engine has no container of the cluster, and the cluster lives.
func TestAManagementClusterThatAnswersIsNotGoneWithItsContainers(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusUnauthorized, http.StatusForbidden} {
		p := newPremises(t)
		api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"major":"1","minor":"37","gitVersion":"v1.37.2"}`))
		}))
		t.Cleanup(api.Close)
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
		p.write(".kube/krops-mgmt.yaml", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
			"clusters":[{"name":"local-management","cluster":{"server":%q,"certificate-authority-data":%q}}],
			"users":[{"name":"u","user":{"token":"t"}}],"contexts":[{"name":"c","context":{"cluster":"local-management","user":"u"}}]}`,
			api.URL, base64.StdEncoding.EncodeToString(ca)))
		s := p.site(config.VerbTeardown, "local-host")

		why, failed := s.Observe(t.Context(), plan.World{}, "controller/host").Of("controller/host").Failed()

		if !failed || !strings.Contains(why, "krops-mgmt.yaml' leads to a cluster that answers, and the container engine has no container of it") {
			t.Errorf("%d: %v, %s", status, failed, why)
		}
	}
	p := newPremises(t)
	p.write(".kube/krops-mgmt.yaml", `{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"local-management","cluster":{"server":"https://127.0.0.1:1"}}],
		"users":[{"name":"u","user":{"token":"t"}}],"contexts":[{"name":"c","context":{"cluster":"local-management","user":"u"}}]}`)
	if w := p.site(config.VerbTeardown, "local-host").Observe(t.Context(), plan.World{}, "controller/host"); w.Host != plan.HostUnreachable {
		t.Errorf("one that is silent and has no container: %v", w.Host)
	}
}

func TestContainersOfTheManagementClusterAreRemovedByPrefix(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	s := p.site(config.VerbTeardown, "local-host")
	p.expect(s, "host/mgmt-containers", "gone")
	for _, name := range []string{"local-management-lb", "local-management-x", "a-local-management", "local-management2-db"} {
		p.engine.Add(enginetest.Container{Name: name, Running: true})
	}
	p.engine.Add(enginetest.Container{Name: "local-management-of-another", Running: true, Labels: map[string]string{"io.x-k8s.kind.cluster": "another"}})
	p.expect(s, "host/mgmt-containers", "there")

	if err := p.do(s, "delete-containers"); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"a-local-management", "local-management-of-another", "local-management2-db"}, p.engine.Names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"  local-management-lb", "  local-management-x"}, p.voice.lines); diff != "" {
		t.Error(diff)
	}
	p.expect(s, "host/mgmt-containers", "gone")
	p.engine.Fail(ill)
	p.expect(s, "host/mgmt-containers", "unknown")
	if err := p.do(s, "delete-containers"); err == nil {
		t.Error("a listing that failed")
	}
}

func TestQ26WhatIsLeftOfAWorkloadClusterIsFoundByLabelElseByName(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	s := p.site(config.VerbTeardown, "local-host")
	const f, id = "host/containers/local-workload", "delete-workload-containers-local-workload"
	label := func(cluster string) map[string]string { return map[string]string{"io.x-k8s.kind.cluster": cluster} }
	p.engine.Add(enginetest.Container{Name: "local-workload-2-lb", Labels: label("local-workload-2")})
	p.engine.Add(enginetest.Container{Name: "local-workloads"})
	p.expect(s, f, "gone")
	p.engine.Add(enginetest.Container{Name: "abc", Labels: label("local-workload"), Running: true})
	p.engine.Add(enginetest.Container{Name: "local-workload-lb"})
	p.expect(s, f, "there")

	if err := p.do(s, id); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"local-workload-2-lb", "local-workloads"}, p.engine.Names()); diff != "" {
		t.Error(diff)
	}
	p.expect(s, f, "gone")
}

func TestTheRegistryIsBroughtUpAndRemoved(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	p.env["KROPS_REGISTRY_NAME"] = "reg"
	p.engine.AddNetwork("kind")
	p.engine.AddImage("docker.io/library/registry:2")
	up, down := p.site(config.VerbBootstrap, "local-host"), p.site(config.VerbTeardown, "local-host")
	p.expect(up, "host/registry", "gone")
	p.expect(down, "host/registry", "gone")
	p.engine.Add(enginetest.Container{Name: "reg", Ports: map[uint16]int{5000: 1}})
	p.expect(up, "host/registry", "gone")
	p.expect(down, "host/registry", "there")

	if err := p.do(up, "registry"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"  Existing registry misconfigured (port or network); recreating...", "  it is published at port 1, not 5001, it is not in network kind"}, p.voice.lines); diff != "" {
		t.Error(diff)
	}
	p.expect(up, "host/registry", "there")
	for range 2 {
		if err := p.do(down, "delete-registry"); err != nil || len(p.engine.Names()) != 0 {
			t.Errorf("%v, %q", err, p.engine.Names())
		}
	}
	p.engine.Fail(ill)
	p.expect(up, "host/registry", "unknown")
	p.expect(down, "host/registry", "unknown")
}

func TestTheRegistryIsWaitedForAsLongAsItMayChangeItsMind(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			t.Error(r.URL)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := newPremises(t)
	p.env["REGISTRY_PORT"] = address.Port()
	s := p.site(config.VerbBootstrap, "local-host")
	step := plan.Step{ID: "registry-ready"}
	for _, c := range []struct {
		status         int
		ready          string
		hold, hopeless string
	}{
		{200, "there", "", ""},
		{301, "there", "", ""},
		{503, "gone", "it answers 503", ""},
		{408, "gone", "it answers 408", ""},
		{429, "gone", "it answers 429", ""},
		{500, "gone", "it answers 500", ""},
		{502, "gone", "it answers 502", ""},
		{504, "gone", "it answers 504", ""},
		{404, "gone", "", "local registry at http://localhost:" + address.Port() + "/v2/ returned 404; not retrying"},
		{401, "gone", "", "local registry at http://localhost:" + address.Port() + "/v2/ returned 401; not retrying"},
		{501, "gone", "", "local registry at http://localhost:" + address.Port() + "/v2/ returned 501; not retrying"},
	} {
		status = c.status
		p.expect(s, "host/registry-ready", c.ready)
		hold, hopeless := s.Hold(t.Context(), step)
		if hold != c.hold || (hopeless == nil) != (c.hopeless == "") || hopeless != nil && hopeless.Error() != c.hopeless {
			t.Errorf("%d: %q, %v", c.status, hold, hopeless)
		}
		if err := p.do(s, "pivot-registry"); (err == nil) != (c.ready == "there") {
			t.Errorf("%d: %v", c.status, err)
		}
	}
	server.Close()
	p.expect(s, "host/registry-ready", "gone")
	if hold, hopeless := s.Hold(t.Context(), step); !strings.HasPrefix(hold, "it does not answer: ") || hopeless != nil {
		t.Errorf("%q, %v", hold, hopeless)
	}
	if err := p.do(s, "pivot-registry"); err == nil || !strings.HasPrefix(err.Error(), "local registry is unavailable at localhost:"+address.Port()+": ") {
		t.Errorf("%v", err)
	}
}

func TestTheEngineIsSaidAndAReusedClusterThatDiffersIsExplained(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	s := p.site(config.VerbBootstrap, "local-host")
	if err := p.do(s, "preflight-engine"); err != nil {
		t.Fatal(err)
	}
	said := []string{"Using container engine: docker (socket: /var/run/docker.sock)"}
	if diff := cmp.Diff(said, p.voice.lines); diff != "" {
		t.Error(diff)
	}
	if err := p.do(s, "create-kind"); err != nil {
		t.Fatal(err)
	}
	if err := p.do(s, "preflight-engine"); err != nil || len(p.voice.lines) != 1 {
		t.Errorf("the same: %v, %q", err, p.voice.lines)
	}
	p.env["REGISTRY_PORT"] = "5500"
	if err := p.do(p.site(config.VerbBootstrap, "local-host"), "preflight-engine"); err != nil {
		t.Fatal(err)
	}
	if len(p.voice.lines) != 2 || !strings.HasPrefix(p.voice.lines[1], "! kind cluster 'mgmt' was made otherwise") || !strings.Contains(p.voice.lines[1], "\n- --- /etc/containerd/certs.d/localhost:5001/hosts.toml\n") {
		t.Errorf("%q", p.voice.lines)
	}

	p.engine.Close()
	if err := p.do(p.site(config.VerbBootstrap, "local-host"), "preflight-engine"); err == nil || !strings.HasPrefix(err.Error(), "No running container engine found (tried docker and podman): ") {
		t.Errorf("%v", err)
	}
}

func TestTheBranchOnGithub(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/repos/holdfast-ops/site/branches/main" || r.UserAgent() != "krops-bootstrap/v1" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(`{"commit":{"sha":"0a1b"}}`))
	}))
	defer api.Close()
	for name, c := range map[string]struct{ token, address, want string }{
		"right":         {"t", "https://github.com/holdfast-ops/site.git", ""},
		"no token":      {"", "https://github.com/holdfast-ops/site", "GITHUB_TOKEN must be set (a PAT with read access to the repo)"},
		"no repository": {"t", "", "GIT_REPO_URL must be set"},
		"another host":  {"t", "https://example.org/a/b", "GIT_REPO_URL must be an HTTPS GitHub repository URL"},
		"another one":   {"t", "https://github.com/a/b", "GitHub repository or branch 'main' is unavailable at 'https://github.com/a/b' (HTTP 404): there is none, or GITHUB_TOKEN may not read it"},
	} {
		p := newPremises(t)
		p.github = api.URL
		p.env["GITHUB_TOKEN"], p.env["GIT_REPO_URL"] = c.token, c.address
		err := p.do(p.site(config.VerbBootstrap, "aws"), "preflight-github")
		if c.want == "" && (err != nil || !slices.Contains(p.voice.lines, "  main of holdfast-ops/site is at 0a1b")) || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, %q", name, err, p.voice.lines)
		}
	}
}

func TestA1ToA9TheAgeKey(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	public, secret := identity.Recipient().String(), identity.String()
	file := func(public string) string {
		return "# created: 2026-11-30T00:00:00Z\n# public key: " + public + "\n" + secret + "\n"
	}
	for name, c := range map[string]struct {
		text, asked string
		want        []string // of the error, nil for none
	}{
		"A1 valid":                           {file(public), "", nil},
		"A2 garbage":                         {"garbage", "", []string{"'keys/age.agekey' is not a valid age key file.\nMissing: # created: header, # public key: comment, AGE-SECRET-KEY- line"}},
		"A3 no public key":                   {"# created: x\n" + secret + "\n", "", []string{"Missing: # public key: comment"}},
		"A5 the key asked for is the file's": {file(public), " " + public + " ", nil},
		"A6 another one is asked for":        {file(public), other.Recipient().String(), []string{public, other.Recipient().String(), "Flux could not decrypt anything"}},
		"A8 an empty one is asked for":       {file(public), " ", nil},
		"the comment lies":                   {file(other.Recipient().String()), "", []string{public, other.Recipient().String(), "Flux could not decrypt anything"}},
		"a secret key that is none":          {"# created: x\n# public key: " + public + "\nAGE-SECRET-KEY-1QQQ\n", "", []string{"'keys/age.agekey' is not a valid age key file: line 3 is no age identity"}},
		"none":                               {"", "", []string{"age key file not found at 'keys/age.agekey'.\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPremises(t)
			p.env["AGE_KEY_FILE"], p.env["AGE_PUBLIC_KEY"] = "keys/age.agekey", c.asked
			if c.text != "" {
				p.write("keys/age.agekey", c.text)
			}

			err := p.do(p.site(config.VerbBootstrap, "aws"), "preflight-age")

			if (err == nil) != (c.want == nil) {
				t.Fatal(err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in %v", part, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), strings.TrimPrefix(secret, "AGE-SECRET-KEY-")) {
				t.Error("the error has the secret key")
			}
		})
	}
}

// A kind cluster whose node is stopped is not waited for.
func TestANodeThatIsStoppedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	p := newPremises(t)
	s := p.site(config.VerbBootstrap, "local-host")
	if hold, hopeless := s.Hold(t.Context(), plan.Step{ID: "kind-ready"}); hold != "" || hopeless != nil {
		t.Errorf("clusters that cannot tell: %q, %v", hold, hopeless)
	}
	p.engine.Add(enginetest.Container{
		Name: "mgmt-control-plane", Labels: map[string]string{"io.x-k8s.kind.cluster": "mgmt", "io.x-k8s.kind.role": "control-plane"},
	})
	actual := p.site(config.VerbBootstrap, "local-host")
	actual.Kinds = nil
	_, hopeless := actual.Hold(t.Context(), plan.Step{ID: "kind-ready"})
	if hopeless == nil || !strings.Contains(hopeless.Error(), "container mgmt-control-plane of kind cluster 'mgmt' is exited: start it, or rerun with --recreate") {
		t.Errorf("%v", hopeless)
	}
}
