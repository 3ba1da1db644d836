//go:build lab_kube

package lab_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/kind/pkg/cluster"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/kind"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// A daemon is a real engine of the test's own: in namespaces of processes, of mounts
// and of the network, so that nothing of it stays on this host.
type daemon struct {
	t      *testing.T
	name   string // docker or podman
	socket string
	pid    int // of the engine, seen from here
	dir    string
	env    []string // lets the command line find the engine
}

// isolate prepares the namespaces an engine starts in.
const isolate = `set -e
ip link set lo up
umount -l /sys/fs/cgroup/unified 2>/dev/null || true # crun refuses the mixture
mount -t tmpfs none /run
mount -t tmpfs none /dev/shm
if ! [ -d /lib/modules ]; then # kind mounts it into its nodes
	mkdir "$1/upper" "$1/work"
	mount -t overlay overlay -o "lowerdir=/usr/lib,upperdir=$1/upper,workdir=$1/work" /usr/lib
	mkdir /lib/modules
fi
mkdir -p /run/libpod "$1/net"
`

const (
	podmanService = `exec podman --root "$1/root" --runroot "$1/runroot" --storage-driver vfs --cgroup-manager cgroupfs --network-config-dir "$1/net" --events-backend file system service --time 0 "unix://$2"`
	dockerService = `exec dockerd --data-root "$1/root" --exec-root /run/docker --pidfile /run/docker.pid --storage-driver vfs --oom-score-adjust 0 -H "unix://$2"`
)

// start starts an engine that has the image registry:2, which is ours.
func start(t *testing.T, name string) *daemon {
	t.Helper()
	if os.Geteuid() != 0 {
		hosttest.Skip(t, "a container engine of its own needs root")
	}
	service, programs := podmanService, []string{"podman", "crun", "unshare", "ip"}
	if name == engine.Docker {
		service, programs = dockerService, []string{"docker", "dockerd", "runc", "unshare", "ip"}
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			hosttest.Skip(t, "%s is not installed: see packages.txt", program)
		}
	}
	dir, err := os.MkdirTemp("", name) //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &daemon{t: t, name: name, dir: dir, socket: filepath.Join(dir, "engine.sock")}
	d.env = []string{"CONTAINER_HOST=unix://" + d.socket, "DOCKER_HOST=unix://" + d.socket, "CONTAINERS_CONF=" + filepath.Join(dir, "containers.conf"), "HOME=" + dir}
	// Root without CAP_SYS_RESOURCE cannot raise limits, which podman does by itself.
	write(t, filepath.Join(dir, "containers.conf"), "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n[network]\nnetwork_backend = \"netavark\"\n")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("unshare", "-m", "-n", "-p", "--fork", "--mount-proc", "--kill-child", "sh", "-c", isolate+service, name, dir, d.socket) //nolint:noctx // it outlives the call
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), d.env[2]}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the namespace of processes goes with it
		_ = cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = retry.Until(ctx, retry.Policy{Interval: 50 * time.Millisecond}, func(context.Context) (bool, error) {
		conn, err := net.Dial("unix", d.socket) //nolint:noctx // it returns at once
		if err == nil {
			_ = conn.Close()
		}
		return err == nil, nil
	})
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("%s does not start: %v\n%s", name, err, text)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if d.pid, err = strconv.Atoi(strings.TrimSpace(string(children))); err != nil {
		t.Fatal(err)
	}
	d.image("./registry", "docker.io/library/registry:2", nil, nil)
	return d
}

// run runs the command line of the engine.
func (d *daemon) run(ctx context.Context, args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(ctx, d.name, args...)
	cmd.Env = append(os.Environ(), d.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s %q: %v\n%s", d.name, args, err, out)
	}
	return string(out)
}

// image makes an image of one static program, which is all the programs of a node
// too, and of some files.
func (d *daemon) image(source, ref string, programs []string, files map[string]string) {
	d.t.Helper()
	program := filepath.Join(d.dir, filepath.Base(source))
	build := exec.CommandContext(d.t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		d.t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		d.t.Fatal(err)
	}
	archive, err := os.Create(program + ".tar")
	if err != nil {
		d.t.Fatal(err)
	}
	w := tar.NewWriter(archive)
	add := func(h tar.Header, text []byte) {
		h.Size = int64(len(text))
		if err := w.WriteHeader(&h); err != nil {
			d.t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			d.t.Fatal(err)
		}
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "program", Mode: 0o755}, text)
	for _, name := range programs {
		add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "/program", Mode: 0o777}, nil)
	}
	for name, text := range files {
		add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, []byte(text))
	}
	if err := errors.Join(w.Close(), archive.Close()); err != nil {
		d.t.Fatal(err)
	}
	start := "/program"
	if len(programs) > 0 {
		start = "/bin/" + programs[0]
	}
	d.run(d.t.Context(), "import", "--change", `ENTRYPOINT ["`+start+`"]`, "--change", "ENV PATH=/bin", archive.Name(), ref)
}

func (d *daemon) engine(o engine.Options) *engine.Engine {
	d.t.Helper()
	o.Env = func(name string) (string, bool) {
		if name == "DOCKER_HOST" && (d.name == engine.Docker || o.ContainerHost == "") {
			return "unix://" + d.socket, true
		}
		return "", false
	}
	o.Root = d.t.TempDir() // no other engine of this host
	e, err := engine.Detect(d.t.Context(), o)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = e.Close() })
	return e
}

// get asks an address of the network the engine is in.
func (d *daemon) get(ctx context.Context, url string) (status int, err error) {
	dial := func(ctx context.Context, proto, address string) (conn net.Conn, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // for good: the thread is in another network now
			var f *os.File
			if f, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", d.pid)); err != nil {
				return
			}
			defer func() { _ = f.Close() }()
			if err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err == nil {
				conn, err = (&net.Dialer{}).DialContext(ctx, proto, address)
			}
		}()
		<-done
		return conn, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func (d *daemon) answers(url string, want bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 20*time.Second)
	defer cancel()
	var last error
	err := retry.Until(ctx, retry.Policy{Interval: 100 * time.Millisecond}, func(ctx context.Context) (bool, error) {
		status, err := d.get(ctx, url)
		last = err
		return (err == nil && status == http.StatusOK) == want, nil
	})
	if err != nil {
		d.t.Errorf("%s answers: not %v: %v", url, want, last)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

//nolint:paralleltest // an engine takes the machine
func TestARealPodman(t *testing.T) {
	onEngine(t, start(t, engine.Podman))
}

//nolint:paralleltest // the same
func TestARealDocker(t *testing.T) {
	onEngine(t, start(t, engine.Docker))
}

// onEngine is what has to hold on every engine.
func onEngine(t *testing.T, d *daemon) {
	t.Helper()
	ctx := t.Context()

	t.Run("X3 X4 it is found out which engine answers at DOCKER_HOST", func(t *testing.T) {
		e := d.engine(engine.Options{})
		version := strings.Fields(d.run(d.t.Context(), "--version"))[2]
		if e.Name != d.name || d.name == engine.Podman && e.Version != version || len(e.Notes) != 0 || e.Rootless {
			t.Errorf("%+v", e)
		}
		if want := map[string]string{engine.Podman: d.socket, engine.Docker: "/var/run/docker.sock"}[d.name]; e.Socket != want {
			t.Errorf("X6 X8: %s, not %s", e.Socket, want)
		}
	})
	t.Run("X6 X8 it is asked for", func(t *testing.T) {
		if e := d.engine(engine.Options{Engine: d.name, ContainerHost: "unix://" + d.socket}); e.Name != d.name {
			t.Errorf("%+v", e)
		}
	})
	t.Run("X7 podman of a toolbox is not asked for its socket", func(t *testing.T) {
		e := d.engine(engine.Options{Toolbox: true, ContainerHost: "unix://" + d.socket})
		if d.name == engine.Podman && e.Socket != "/run/podman/podman.sock" {
			t.Errorf("%+v", e)
		}
	})

	e := d.engine(engine.Options{})
	registry := engine.Registry{Name: "krops-registry", Port: 15001}
	look := func(want engine.RegistryState) engine.Container {
		t.Helper()
		state, c, why, err := e.Look(ctx, registry)
		if err != nil || state != want {
			t.Fatalf("state %v, not %v: %q, %v", state, want, why, err)
		}
		return c
	}
	bring := func() []string {
		t.Helper()
		var said []string
		if err := e.Run(ctx, registry, func(text string) { said = append(said, text) }); err != nil {
			t.Fatal(err)
		}
		return said
	}
	address := func() string { return fmt.Sprintf("http://127.0.0.1:%d/v2/", registry.Port) }

	// The registry, through every state of its table.
	look(engine.RegistryMissing)
	if err := e.Run(ctx, registry, func(string) {}); err == nil || !strings.Contains(err.Error(), "network kind does not exist") {
		t.Errorf("without the network: %v", err)
	}
	if there, err := e.HasNetwork(ctx, "kind"); err != nil || there {
		t.Errorf("%v, %v", there, err)
	}
	d.run(d.t.Context(), "network", "create", "kind")
	if there, err := e.HasNetwork(ctx, "kind"); err != nil || !there {
		t.Errorf("%v, %v", there, err)
	}
	if said := bring(); len(said) != 0 {
		t.Errorf("%q", said)
	}
	first := look(engine.RegistryRunning)
	d.answers(address(), true)
	if port, err := e.Port(ctx, "krops-registry", 5000); err != nil || port != 15001 {
		t.Errorf("%d, %v", port, err)
	}
	bring()
	if again := look(engine.RegistryRunning); again.ID != first.ID {
		t.Error("a registry that runs was replaced")
	}

	d.run(d.t.Context(), "stop", "-t", "0", "krops-registry")
	if c := look(engine.RegistryStopped); c.Running() {
		t.Errorf("%+v", c)
	}
	d.answers(address(), false)
	bring()
	if again := look(engine.RegistryRunning); again.ID != first.ID {
		t.Error("a registry that was stopped was replaced")
	}
	d.answers(address(), true)

	registry.Port = 15002
	look(engine.RegistryWrong)
	if diff := cmp.Diff([]string{"Existing registry misconfigured (port or network); recreating...", "it is published at port 15001, not 15002"}, bring()); diff != "" {
		t.Error(diff)
	}
	look(engine.RegistryRunning)
	d.answers(address(), true)

	if err := e.Remove(ctx, look(engine.RegistryRunning)); err != nil {
		t.Fatal(err)
	}
	d.run(d.t.Context(), "run", "-d", "--name", "krops-registry", "-p", "127.0.0.1:15002:5000", "docker.io/library/registry:2")
	look(engine.RegistryWrong)
	if said := bring(); !slices.Contains(said, "it is not in network kind") {
		t.Errorf("%q", said)
	}
	look(engine.RegistryRunning)

	t.Run("a port that is taken leaves no container", func(t *testing.T) {
		other := engine.Registry{Name: "other-registry", Port: registry.Port}
		if err := e.Run(ctx, other, func(string) {}); err == nil {
			t.Error("two registries at one port")
		}
		if _, there, err := e.Named(ctx, other.Name); err != nil || there {
			t.Errorf("%v, %v", there, err)
		}
	})
	t.Run("D21 this container joins and leaves a network", func(t *testing.T) {
		id := strings.TrimSpace(d.run(d.t.Context(), "run", "-d", "--name", "toolbox", "docker.io/library/registry:2"))[:12]
		in := func() bool {
			return strings.Contains(d.run(d.t.Context(), "inspect", "toolbox", "-f", "{{.NetworkSettings.Networks}}"), "kind:")
		}
		for range 2 {
			if err := e.Join(ctx, "kind", id); err != nil || !in() {
				t.Errorf("%v, %v", err, in())
			}
		}
		for range 2 {
			if err := e.Leave(ctx, "kind", id); err != nil || in() {
				t.Errorf("%v, %v", err, in())
			}
		}
		if err := e.Join(ctx, "none", id); err == nil {
			t.Error("a network that does not exist")
		}
	})
	t.Run("containers are removed, and removed again", func(t *testing.T) {
		for _, name := range []string{"local-management-lb", "local-management-cp", "not-local-management"} {
			d.run(d.t.Context(), "run", "-d", "--name", name, "docker.io/library/registry:2")
		}
		d.run(d.t.Context(), "stop", "-t", "0", "local-management-cp")
		list, err := e.Containers(ctx, func(c engine.Container) bool { return strings.HasPrefix(c.Name, "local-management") })
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v, %v", list, err)
		}
		for _, c := range append(list, list...) {
			if err := e.Remove(ctx, c); err != nil {
				t.Error(err)
			}
		}
		left, err := e.Containers(ctx, func(c engine.Container) bool { return strings.Contains(c.Name, "local-management") })
		if err != nil || len(left) != 1 || left[0].Name != "not-local-management" {
			t.Errorf("%+v, %v", left, err)
		}
	})
	t.Run("files of a container, running or not", func(t *testing.T) {
		c := look(engine.RegistryRunning)
		const name = "/etc/containerd/certs.d/localhost:5001/hosts.toml"
		if _, err := e.ReadFile(ctx, c, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
		for _, text := range []string{"x = 1\n", "y = 22\n"} {
			if err := e.WriteFile(ctx, c, name, []byte(text)); err != nil {
				t.Fatal(err)
			}
			if got, err := e.ReadFile(ctx, c, name); err != nil || string(got) != text {
				t.Errorf("%q, %v", got, err)
			}
			d.run(d.t.Context(), "stop", "-t", "0", c.Name)
		}
		bring()
	})
	t.Run("marks", func(t *testing.T) {
		for range 2 {
			if err := e.Mark(ctx, "krops-making-x"); err != nil {
				t.Error(err)
			}
		}
		if set, err := e.Marked(ctx, "krops-making-x"); err != nil || !set {
			t.Errorf("%v, %v", set, err)
		}
		for range 2 {
			if err := e.Unmark(ctx, "krops-making-x"); err != nil {
				t.Error(err)
			}
		}
		if set, err := e.Marked(ctx, "krops-making-x"); err != nil || set {
			t.Errorf("%v, %v", set, err)
		}
	})
	t.Run("an image that cannot be pulled is named", func(t *testing.T) {
		if there, err := e.HasImage(ctx, "docker.io/library/registry:2"); err != nil || !there {
			t.Errorf("%v, %v", there, err)
		}
		short, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if err := e.Pull(short, "localhost:1/none:1", func(string) {}); err == nil || !strings.HasPrefix(err.Error(), "pull image localhost:1/none:1: ") {
			t.Errorf("%v", err)
		}
	})
	t.Run("kind clusters are the ones kind lists", func(t *testing.T) {
		clusters := kind.New(e, os.LookupEnv)
		for _, name := range []string{"mgmt", "mgmt-2"} {
			d.run(d.t.Context(), "run", "-d", "--name", name+"-control-plane", "--label", "io.x-k8s.kind.cluster="+name, "--label", "io.x-k8s.kind.role=control-plane",
				"-p", "127.0.0.1::6443", "docker.io/library/registry:2")
			d.run(d.t.Context(), "volume", "create", "--label", name+"-control-plane=true", name+"-var")
		}
		d.setenv(t)
		provider := cluster.NewProvider(d.provider())
		agree := func(want ...string) {
			t.Helper()
			listed, err := provider.List()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, listed); diff != "" {
				t.Error(diff)
			}
			for _, name := range []string{"mgmt", "mgmt-2", "mgm"} {
				if there, err := clusters.Exists(ctx, name); err != nil || there != slices.Contains(want, name) {
					t.Errorf("%s: %v, %v", name, there, err)
				}
			}
		}
		agree("mgmt", "mgmt-2")
		node, _, err := e.Named(ctx, "mgmt-control-plane")
		if err != nil {
			t.Fatal(err)
		}
		if err := e.WriteFile(ctx, node, "/etc/kubernetes/admin.conf", []byte(adminConf)); err != nil {
			t.Fatal(err)
		}
		port, err := e.Port(ctx, "mgmt-control-plane", 6443)
		if err != nil {
			t.Fatal(err)
		}
		for internal, server := range map[bool]string{false: fmt.Sprintf("https://127.0.0.1:%d", port), true: "https://mgmt-control-plane:6443"} {
			if text, err := clusters.Kubeconfig(ctx, "mgmt", internal); err != nil || !strings.Contains(string(text), "server: "+server+"\n") {
				t.Errorf("C29: %s, %v", text, err)
			}
		}
		if err := clusters.Delete(ctx, "mgmt"); err != nil {
			t.Fatal(err)
		}
		agree("mgmt-2")
		// Only podman has volumes of nodes that are found by a label.
		if volumes := d.run(d.t.Context(), "volume", "ls", "-q"); strings.Contains(volumes, "mgmt-var\n") != (d.name == engine.Docker) || !strings.Contains(volumes, "mgmt-2-var\n") {
			t.Errorf("%q", volumes)
		}
	})
	t.Run("kind makes a cluster", func(t *testing.T) {
		// Docker gives a privileged container every capability, podman those it has.
		if d.name == engine.Docker && !capable(t, unix.CAP_SYS_RESOURCE) {
			t.Skip("docker cannot start a privileged container: root lacks CAP_SYS_RESOURCE on this machine")
		}
		d.kind(t, e)
	})
	t.Run("an engine that dies is no empty one", func(t *testing.T) {
		if err := syscall.Kill(d.pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, there, err := e.Named(ctx, "krops-registry"); err == nil {
			t.Errorf("%v", there)
		}
	})
}

// capable tells whether a child of this process can have a capability.
func capable(t *testing.T, capability int) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "CapBnd:\t")
	word, _, _ := strings.Cut(rest, "\n")
	set, err := strconv.ParseUint(word, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return set&(1<<capability) != 0
}

// setenv lets kind, which runs the command line of the engine, find it.
func (d *daemon) setenv(t *testing.T) {
	t.Helper()
	for _, pair := range d.env {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
}

func (d *daemon) provider() cluster.ProviderOption {
	if d.name == engine.Docker {
		return cluster.ProviderWithDocker()
	}
	return cluster.ProviderWithPodman()
}

// kind makes clusters with the library of kind, of nodes that only play theirs.
func (d *daemon) kind(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx := t.Context()
	d.image("./node", "docker.io/kindest/node:lab", []string{"init", "cat", "mkdir", "cp", "bash", "kubeadm", "kubectl"}, map[string]string{
		"kind/version": "v1.37.0\n", "etc/containerd/config.toml": "version = 2\n", "kind/manifests/default-cni.yaml": "a: b\n", "kind/manifests/default-storage.yaml": "a: b\n",
	})
	d.setenv(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("KUBECONFIG", "")
	clusters := kind.New(e, os.LookupEnv)
	config, err := kind.Render(kind.Wanted{EngineSocket: d.socket, Registry: &kind.Mirror{Port: 5001, URL: "http://krops-registry:5000"}})
	if err != nil {
		t.Fatal(err)
	}
	config.YAML = strings.Replace(config.YAML, "  role: control-plane\n", "  role: control-plane\n  image: docker.io/kindest/node:lab\n", 1)
	var said []string
	say := func(text string) { said = append(said, text) }

	if err := clusters.Create(ctx, "made", config, say); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(said, "\n"))
	}

	t.Logf("%s", strings.Join(said, "\n"))
	there, err := clusters.Exists(ctx, "made")
	half, halfErr := clusters.HalfMade(ctx, "made")
	recorded, recordErr := clusters.Recorded(ctx, "made")
	if err := errors.Join(err, halfErr, recordErr); err != nil || !there || half || recorded != config.String() {
		t.Errorf("there %v, half made %v, made from %q: %v", there, half, recorded, err)
	}
	node, _, err := e.Named(ctx, kind.Node("made"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"/etc/containerd/config.toml":                       `config_path = "/etc/containerd/certs.d"`,
		"/etc/containerd/certs.d/localhost:5001/hosts.toml": `[host."http://krops-registry:5000"]`,
		"/kind/kubeadm.conf":                                "clusterName: made",
	} {
		if text, err := e.ReadFile(ctx, node, name); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s: %v\n%s", name, want, err, text)
		}
	}
	if mounts := d.run(d.t.Context(), "inspect", node.Name, "-f", "{{range .Mounts}}{{.Source}}={{.Destination}} {{end}}"); !strings.Contains(mounts, d.socket+"=/var/run/docker.sock ") {
		t.Errorf("%s", mounts)
	}
	port, err := e.Port(ctx, node.Name, 6443)
	if err != nil {
		t.Fatal(err)
	}
	text, err := clusters.Kubeconfig(ctx, "made", false)
	if err != nil || !strings.Contains(string(text), fmt.Sprintf("server: https://127.0.0.1:%d\n", port)) {
		t.Errorf("%v\n%s", err, text)
	}
	// What kind itself would have written.
	theirs, err := cluster.NewProvider(d.provider()).KubeConfig("made", false)
	if diff := cmp.Diff(theirs, string(text)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 {
		t.Errorf("kind wrote into HOME: %v, %v", left, err)
	}

	err = clusters.Create(ctx, "broken", config, say)
	if err == nil || !strings.Contains(err.Error(), "kubeadm of the lab says no") {
		t.Errorf("%v", err)
	}
	there, thereErr := clusters.Exists(ctx, "broken")
	half, halfErr = clusters.HalfMade(ctx, "broken")
	if err := errors.Join(thereErr, halfErr); err != nil || there || half {
		t.Errorf("there %v, half made %v: %v", there, half, err)
	}

	if err := clusters.Delete(ctx, "made"); err != nil {
		t.Error(err)
	}
	if volumes := d.run(d.t.Context(), "volume", "ls", "-q", "--filter", "label=made-control-plane"); volumes != "" {
		t.Errorf("left: %s", volumes)
	}
}

const adminConf = `apiVersion: v1
kind: Config
clusters: [{name: mgmt, cluster: {server: "https://mgmt-control-plane:6443", certificate-authority-data: Y2E=}}]
users: [{name: kubernetes-admin, user: {token: t}}]
contexts: [{name: kubernetes-admin@mgmt, context: {cluster: mgmt, user: kubernetes-admin}}]
current-context: kubernetes-admin@mgmt
`
