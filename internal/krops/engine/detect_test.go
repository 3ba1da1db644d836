package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/engine/enginetest"
)

// host is a file system with sockets of engines.
type host struct {
	t    *testing.T
	root string
	env  map[string]string
}

// newHost has a short path: that of a socket may have 104 letters.
func newHost(t *testing.T) *host {
	t.Helper()
	root, err := os.MkdirTemp("", "engine") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	return &host{t: t, root: root, env: map[string]string{}}
}

func (h *host) listen(at string) *enginetest.Server {
	h.t.Helper()
	s, err := enginetest.Listen(filepath.Join(h.root, at))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(s.Close)
	return s
}

func (h *host) docker() *enginetest.Server { return h.listen("/var/run/docker.sock") }

func (h *host) podman(at string) *enginetest.Server {
	s := h.listen(at)
	s.Podman, s.RemoteSocket = true, "unix:///run/user/501/podman/podman.sock"
	return s
}

func (h *host) detect(o engine.Options) (*engine.Engine, error) {
	h.t.Helper()
	o.Root = h.root
	o.Env = func(name string) (string, bool) { v, ok := h.env[name]; return v, ok }
	e, err := engine.Detect(h.t.Context(), o)
	if err == nil {
		h.t.Cleanup(func() { _ = e.Close() })
	}
	return e, err
}

const rootful = "/run/podman/podman.sock"

func TestX3DockerWhenOnlyDockerAnswers(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.docker()

	e, err := h.detect(engine.Options{})

	if err != nil || e.Name != engine.Docker || e.Socket != "/var/run/docker.sock" || e.Version != "29.0.0" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestDockerComesBeforePodman(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.docker()
	podman := h.podman(rootful)

	e, err := h.detect(engine.Options{})

	if err != nil || e.Name != engine.Docker || len(podman.Asked()) != 0 {
		t.Errorf("%+v, %v, podman was asked %q", e, err, podman.Asked())
	}
}

func TestX4PodmanBehindTheSocketOfDockerIsPodman(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		behind := h.podman("/var/run/docker.sock")

		e, err := h.detect(engine.Options{})

		if err != nil || e.Name != engine.Podman || e.Host != behind.Host() || e.Socket != "/run/user/501/podman/podman.sock" {
			t.Errorf("%+v, %v", e, err)
		}
	})
	t.Run("its own socket is better", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.podman("/var/run/docker.sock")
		own := h.podman(rootful)

		e, err := h.detect(engine.Options{})

		if err != nil || e.Name != engine.Podman || e.Host != own.Host() {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

func TestX5PodmanWhenDockerFailsElseNone(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	_, err := h.detect(engine.Options{})
	if !errors.Is(err, engine.ErrNone) || !strings.HasPrefix(err.Error(), "No running container engine found (tried docker and podman): ") {
		t.Errorf("%v", err)
	}
	for _, sub := range []string{"docker: unix://" + h.root + "/var/run/docker.sock (the usual socket of docker): there is no such socket", "podman: unix://"} {
		if !strings.Contains(err.Error(), sub) {
			t.Errorf("%v has no %q", err, sub)
		}
	}
	h.podman(rootful)
	e, err := h.detect(engine.Options{})
	if err != nil || e.Name != engine.Podman {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestADaemonThatIsIllIsNotChosen(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.docker().Fail(func(_, _ string) (int, string) { return http.StatusInternalServerError, "out of disk" })
	h.podman(rootful)

	e, err := h.detect(engine.Options{})
	if err != nil || e.Name != engine.Podman {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := h.detect(engine.Options{Engine: engine.Docker}); err == nil || !strings.HasPrefix(err.Error(), "Docker daemon not running: ") || !strings.Contains(err.Error(), "out of disk") {
		t.Errorf("%v", err)
	}
}

func TestX6ExplicitDocker(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.docker()
	h.podman(rootful)

	e, err := h.detect(engine.Options{Engine: engine.Docker})

	if err != nil || e.Name != engine.Docker || e.Socket != "/var/run/docker.sock" || len(e.Notes) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestExplicitDockerThatIsPodmanIsSaid(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.podman("/var/run/docker.sock")

	e, err := h.detect(engine.Options{Engine: engine.Docker})

	if err != nil || e.Name != engine.Docker || len(e.Notes) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestX7PodmanInTheToolboxIsNotAskedForItsSocket(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	mounted := h.podman("/mounted.sock")

	e, err := h.detect(engine.Options{Engine: engine.Podman, Toolbox: true, ContainerHost: mounted.Host()})

	if err != nil || e.Socket != "/run/podman/podman.sock" || slices.Contains(mounted.Asked(), "GET /libpod/info") {
		t.Errorf("%+v, %v, asked %q", e, err, mounted.Asked())
	}
}

func TestX8PodmanOutsideTheToolboxTellsItsSocket(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says, want string
		notes      int
	}{
		"with a scheme":    {"unix:///run/user/501/podman/podman.sock", "/run/user/501/podman/podman.sock", 0},
		"without a scheme": {"/run/podman/podman.sock", "/run/podman/podman.sock", 0},
		"nothing":          {"", "/run/podman/podman.sock", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.podman(rootful).RemoteSocket = c.says

			e, err := h.detect(engine.Options{Engine: engine.Podman})

			if err != nil || e.Socket != c.want || len(e.Notes) != c.notes {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

func TestX9TheSocketThatIsAskedForWins(t *testing.T) {
	t.Parallel()
	for _, name := range []string{engine.Docker, engine.Podman, ""} {
		h := newHost(t)
		h.docker()
		h.podman(rootful)

		e, err := h.detect(engine.Options{Engine: name, Socket: "/run/mine.sock"})

		if err != nil || e.Socket != "/run/mine.sock" {
			t.Errorf("%q: %+v, %v", name, e, err)
		}
	}
}

func TestX10WrongEngines(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"lxc":         "Unsupported CONTAINER_ENGINE 'lxc' (expected 'docker' or 'podman')",
		engine.Docker: "Docker daemon not running: ",
		engine.Podman: "Podman is not running (is 'podman machine' started?): ",
	} {
		if _, err := newHost(t).detect(engine.Options{Engine: name}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRootlessDockerIsMountedFromWhereItListens(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	s := h.listen("/run/user/7/docker.sock")
	s.Rootless = true
	h.env["DOCKER_HOST"] = s.Host()

	e, err := h.detect(engine.Options{})

	if err != nil || !e.Rootless || e.Socket != s.Socket {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestDockerIsFoundAsItsCommandLineDoes(t *testing.T) {
	t.Parallel()
	setUp := func(t *testing.T) (*host, *enginetest.Server) {
		t.Helper()
		h := newHost(t)
		h.docker()
		h.env["HOME"] = h.root
		other := h.listen("/other.sock")
		h.context("away", `{"Name":"away","Endpoints":{"docker":{"Host":"unix://`+other.Socket+`","SkipTLSVerify":false}}}`)
		return h, other
	}
	for name, c := range map[string]struct {
		set   func(h *host, other *enginetest.Server)
		other bool
	}{
		"the usual socket":                {func(*host, *enginetest.Server) {}, false},
		"DOCKER_HOST":                     {func(h *host, o *enginetest.Server) { h.env["DOCKER_HOST"] = o.Host() }, true},
		"DOCKER_CONTEXT":                  {func(h *host, _ *enginetest.Server) { h.env["DOCKER_CONTEXT"] = "away" }, true},
		"the current context":             {func(h *host, _ *enginetest.Server) { h.config(`{"currentContext":"away"}`) }, true},
		"the default context":             {func(h *host, _ *enginetest.Server) { h.config(`{"currentContext":"default"}`) }, false},
		"a configuration without context": {func(h *host, _ *enginetest.Server) { h.config(`{"auths":{}}`) }, false},
		"DOCKER_CONTEXT names the default": {func(h *host, _ *enginetest.Server) {
			h.config(`{"currentContext":"away"}`)
			h.env["DOCKER_CONTEXT"] = "default"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, other := setUp(t)
			c.set(h, other)

			e, err := h.detect(engine.Options{})

			if err != nil || (e.Host == other.Host()) != c.other {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

func (h *host) write(name, text string) {
	h.t.Helper()
	file := filepath.Join(h.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) config(text string) { h.write(".docker/config.json", text) }

func (h *host) context(name, meta string) {
	sum := sha256.Sum256([]byte(name))
	h.write(".docker/contexts/meta/"+hex.EncodeToString(sum[:])+"/meta.json", meta)
}

func TestWhatDockerIsToldWrongIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env, value, config, want string
	}{
		"no such context": {"DOCKER_CONTEXT", "gone", "", `DOCKER_CONTEXT names the docker context "gone", which does not exist`},
		"ssh":             {"DOCKER_HOST", "ssh://a@b", "", "DOCKER_HOST is ssh://a@b: an engine behind ssh cannot be used"},
		"no scheme":       {"DOCKER_HOST", "/var/run/docker.sock", "", `DOCKER_HOST is "/var/run/docker.sock": expected unix:///path or tcp://host:port`},
		"no certificate":  {"DOCKER_CERT_PATH", "/nonexistent", "", "read the client certificate of the engine"},
		"broken file":     {"", "", "{", "config.json: unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.env["HOME"] = h.root
			if c.env == "DOCKER_CERT_PATH" {
				h.env["DOCKER_HOST"] = "tcp://127.0.0.1:1"
			}
			h.env[c.env] = c.value
			if c.config != "" {
				h.config(c.config)
			}

			_, err := h.detect(engine.Options{Engine: engine.Docker})

			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestPodmanOfAUser(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at      string
		runtime string
	}{
		"the usual directory": {"/run/user/7/podman/podman.sock", ""},
		"XDG_RUNTIME_DIR":     {"/x/podman/podman.sock", "/x"},
		"a machine":           {"/home/.local/share/containers/podman/machine/podman.sock", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.podman(rootful) // of another user: not the one the command line speaks to
			own := h.podman(c.at)
			h.env["HOME"] = h.root + "/home"
			if c.runtime != "" {
				h.env["XDG_RUNTIME_DIR"] = h.root + c.runtime
			}

			e, err := h.detect(engine.Options{UID: 7})

			if err != nil || e.Host != own.Host() {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

func TestADetectionThatIsBrokenOffEnds(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.docker()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err := engine.Detect(ctx, engine.Options{Root: h.root})

	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestASocketOfAnotherUserIsExplained(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may use every socket")
	}
	h := newHost(t)
	h.docker()
	if err := os.Chmod(h.root+"/var/run/docker.sock", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := h.detect(engine.Options{}); err == nil || !strings.Contains(err.Error(), "is it in the right group?") {
		t.Errorf("%v", err)
	}
}

func TestP1P2PublishedPorts(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	for text := range ports {
		got[text] = engine.ParsePort(text)
	}
	if diff := cmp.Diff(ports, got); diff != "" {
		t.Error(diff)
	}
}

var ports = map[string]int{
	"0.0.0.0:32771\n[::]:32771": 32771, // P1
	"127.0.0.1:6443":            6443,  // P2
	"6443":                      6443, "[::1]:80\r\n": 80, "": 0, ":": 0, "0": 0, "65536": 0, "a:b": 0, "1:-1": 0, "1:+1": 0, "99999999999999999999": 0,
}

func FuzzParsePort(f *testing.F) {
	for text := range ports {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if port := engine.ParsePort(text); port < 0 || port > 65535 {
			t.Errorf("%q: %d", text, port)
		}
	})
}
