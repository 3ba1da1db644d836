package kind_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/engine/enginetest"
	"github.com/holdfast-ops/holdfast/internal/krops/kind"
)

// clusters are those of a double, on which a cluster is one container.
func clusters(t *testing.T) (*kind.Clusters, *enginetest.Server) {
	t.Helper()
	root, err := os.MkdirTemp("", "kind") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	s, err := enginetest.Listen(filepath.Join(root, "/var/run/docker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := os.WriteFile(filepath.Join(root, "docker"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	e, err := engine.Detect(t.Context(), engine.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	c := kind.New(e, func(name string) (string, bool) { return map[string]string{"PATH": root}[name], name == "PATH" })
	c.Make = func(_ context.Context, _ *engine.Engine, name, _ string, _ func(string)) error {
		s.Add(node(name))
		return nil
	}
	return c, s
}

func node(cluster string) enginetest.Container {
	return enginetest.Container{
		Name: cluster + "-control-plane", Running: true, Ports: map[uint16]int{6443: 40123},
		Labels: map[string]string{"io.x-k8s.kind.cluster": cluster, "io.x-k8s.kind.role": "control-plane"},
		Files:  map[string]string{"/etc/kubernetes/admin.conf": admin},
	}
}

const admin = `apiVersion: v1
kind: Config
clusters:
- name: mgmt
  cluster: {server: "https://mgmt-control-plane:6443", certificate-authority-data: Y2E=}
users:
- name: kubernetes-admin
  user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}
contexts:
- name: kubernetes-admin@mgmt
  context: {cluster: mgmt, user: kubernetes-admin}
current-context: kubernetes-admin@mgmt
`

func silent(string) {}

func TestAClusterExistsUnderItsWholeNameAlone(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	s.Add(node("mgmt-2"))
	for name, want := range map[string]bool{"mgmt-2": true, "mgmt": false, "": false} {
		if there, err := c.Exists(t.Context(), name); err != nil || there != want {
			t.Errorf("%s: %v, %v", name, there, err)
		}
	}
	s.Fail(func(_, _ string) (int, string) { return http.StatusInternalServerError, "ill" })
	if _, err := c.Exists(t.Context(), "mgmt"); err == nil {
		t.Error("Q7: a listing that fails")
	}
}

func TestACreationLeavesAClusterThatSaysWhatItIsMadeFrom(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	config, err := kind.Render(kind.Wanted{EngineSocket: socket, Registry: &kind.Mirror{Port: 5001, URL: "http://krops-registry:5000"}})
	if err != nil {
		t.Fatal(err)
	}

	if err := c.Create(t.Context(), "mgmt", config, silent); err != nil {
		t.Fatal(err)
	}

	if there, err := c.Exists(t.Context(), "mgmt"); err != nil || !there {
		t.Errorf("%v, %v", there, err)
	}
	if half, err := c.HalfMade(t.Context(), "mgmt"); err != nil || half || len(s.Volumes()) != 0 {
		t.Errorf("half made: %v, %v, %q", half, err, s.Volumes())
	}
	if text, err := c.Recorded(t.Context(), "mgmt"); err != nil || text != config.String() {
		t.Errorf("%q, %v", text, err)
	}
	if text := s.Containers()[0].Files["/etc/containerd/certs.d/localhost:5001/hosts.toml"]; text != config.Files[0].Text {
		t.Errorf("%q", text)
	}
	if err := c.Create(t.Context(), "mgmt", config, silent); err == nil || err.Error() != "kind cluster 'mgmt' exists already" {
		t.Errorf("a second time: %v", err)
	}
}

// crash is how a process ends in the middle of a creation.
var errCrash = errors.New("crash")

func TestACreationThatCrashedIsReplaced(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	library := c.Make
	c.Make = func(context.Context, *engine.Engine, string, string, func(string)) error {
		half := node("mgmt")
		half.Files = nil
		s.Add(half)
		s.Fail(func(string, string) (int, string) { return http.StatusServiceUnavailable, "the process is dead" })
		return errCrash
	}
	if err := c.Create(t.Context(), "mgmt", kind.Config{YAML: "a"}, silent); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	s.Fail(nil)
	c.Make = library
	if half, err := c.HalfMade(t.Context(), "mgmt"); err != nil || !half {
		t.Errorf("half made: %v, %v", half, err)
	}
	if there, err := c.Exists(t.Context(), "mgmt"); err != nil || !there {
		t.Errorf("%v, %v", there, err)
	}
	if _, err := c.Kubeconfig(t.Context(), "mgmt", false); err == nil || !strings.HasPrefix(err.Error(), "kind cluster 'mgmt' was never set up: ") {
		t.Errorf("%v", err)
	}
	var said []string

	err := c.Create(t.Context(), "mgmt", kind.Config{YAML: "b"}, func(text string) { said = append(said, text) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Replacing kind cluster 'mgmt', which an interrupted run left half made..."}, said); diff != "" {
		t.Error(diff)
	}
	if text, err := c.Recorded(t.Context(), "mgmt"); err != nil || text != "b" || len(s.Volumes()) != 0 || len(s.Names()) != 1 {
		t.Errorf("%q, %v, %q, %q", text, err, s.Volumes(), s.Names())
	}
}

func TestACreationThatKindTookBackLeavesNothing(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	c.Make = func(context.Context, *engine.Engine, string, string, func(string)) error {
		return errors.New("no image")
	}

	err := c.Create(t.Context(), "mgmt", kind.Config{}, silent)

	if err == nil || err.Error() != "create kind cluster 'mgmt': no image" || len(s.Volumes()) != 0 {
		t.Errorf("%v, %q", err, s.Volumes())
	}
}

func TestACreationThatIsBrokenOffIsRemembered(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	ctx, cancel := context.WithCancel(t.Context())
	c.Make = func(context.Context, *engine.Engine, string, string, func(string)) error {
		cancel() // and its nodes appear a moment later
		return ctx.Err()
	}

	err := c.Create(ctx, "mgmt", kind.Config{}, silent)

	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"krops-making-mgmt"}, s.Volumes()); diff != "" {
		t.Error(diff)
	}
}

func TestAClusterOfAnotherProgramIsNotReplaced(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	s.Add(node("mgmt"))
	if err := c.Create(t.Context(), "mgmt", kind.Config{}, silent); err == nil || len(s.Names()) != 1 {
		t.Errorf("%v, %q", err, s.Names())
	}
	if text, err := c.Recorded(t.Context(), "mgmt"); err != nil || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestADeletionTakesEveryNodeAndNoOther(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	s.Add(node("mgmt"))
	worker := node("mgmt")
	worker.Name, worker.Labels = "mgmt-worker", map[string]string{"io.x-k8s.kind.cluster": "mgmt", "io.x-k8s.kind.role": "worker"}
	s.Add(worker)
	s.Add(node("mgmt-2"))
	s.AddVolume("krops-making-mgmt", nil)
	for range 2 {
		if err := c.Delete(t.Context(), "mgmt"); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"mgmt-2-control-plane"}, s.Names()); diff != "" || len(s.Volumes()) != 0 {
		t.Error(diff, s.Volumes())
	}
}

func TestC29TheKubeconfigOfACluster(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	s.Add(node("mgmt"))
	for name, want := range map[bool]string{true: "https://mgmt-control-plane:6443", false: "https://127.0.0.1:40123"} {
		text, err := c.Kubeconfig(t.Context(), "mgmt", name)
		if err != nil {
			t.Fatal(err)
		}
		config, err := clientcmd.Load(text)
		if err != nil {
			t.Fatal(err)
		}
		at := config.Contexts["kind-mgmt"]
		if config.CurrentContext != "kind-mgmt" || at == nil || len(config.Contexts) != 1 {
			t.Fatalf("%s", text)
		}
		if got := config.Clusters[at.Cluster]; got.Server != want || string(got.CertificateAuthorityData) != "ca" {
			t.Errorf("internal %v: %+v", name, got)
		}
		if got := config.AuthInfos[at.AuthInfo]; string(got.ClientKeyData) != "key" {
			t.Error("another user")
		}
	}
}

func TestTheBalancerOfAClusterIsItsFront(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	s.Add(node("mgmt"))
	front := node("mgmt")
	front.Name, front.Ports = "mgmt-external-load-balancer", map[uint16]int{6443: 7}
	front.Labels = map[string]string{"io.x-k8s.kind.cluster": "mgmt", "io.x-k8s.kind.role": "external-load-balancer"}
	s.Add(front)
	text, err := c.Kubeconfig(t.Context(), "mgmt", false)
	if err != nil || !strings.Contains(string(text), "server: https://127.0.0.1:7\n") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestANodeThatIsStoppedIsNamed(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	stopped := node("mgmt")
	stopped.Running = false
	s.Add(stopped)
	if _, err := c.Kubeconfig(t.Context(), "mgmt", false); err == nil || !strings.Contains(err.Error(), "mgmt-control-plane (exited)") {
		t.Errorf("%v", err)
	}
	if name, state, err := c.State(t.Context(), "mgmt"); err != nil || name != "mgmt-control-plane" || state != "exited" {
		t.Errorf("%s, %s, %v", name, state, err)
	}
	if _, err := c.Kubeconfig(t.Context(), "gone", true); err == nil {
		t.Error("no cluster")
	}
}

func TestKindNeedsTheCommandLineOfTheEngine(t *testing.T) {
	t.Parallel()
	c, s := clusters(t)
	c.Env = func(string) (string, bool) { return "/nonexistent", true }
	err := c.Create(t.Context(), "mgmt", kind.Config{}, silent)
	if err == nil || !strings.Contains(err.Error(), "no docker is in PATH") || len(s.Volumes()) != 0 {
		t.Errorf("%v, %q", err, s.Volumes())
	}
}
