package lab

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/krops/artifact/registrytest"
	"github.com/holdfast-ops/holdfast/internal/krops/engine/enginetest"
)

// A World is a host with a repository of the environment local-host, and all that
// a run on it meets: a container engine, kind, charts, a management and a workload
// cluster that wait to be provisioned. It lives in the process of the test.
type World struct {
	Name       string // of the kind cluster
	Dir        string // of everything, removed with the test
	Repository string
	Home       string
	Program    string // what is run; "" is the executable of this process
	Kinds      *KindHost
	Engine     *enginetest.Server
	Port       int // REGISTRY_PORT
	// The clusters made of containers. Their containers run once they are provisioned.
	Mgmt, Workload *Plane
	MgmtFront      *Front                 // what the program reaches Mgmt through
	Chart          *registrytest.Registry // of public charts

	chartServer *http.Server
	players     []*Players

	mu         sync.Mutex
	registries map[string]*http.Server // by the name of their container
	heard      []string
	events     string // file of the events of the last run
	hold       func(*Object) bool
	holdsProv  func(*Object) string
	containers map[string]bool // clusters whose containers were made
}

// WorldOptions say what a world is like.
type WorldOptions struct {
	Name  string            // "" is mgmt
	Files map[string]string // added to the repository, see Repository
}

// NewWorld makes a world for a test.
func NewWorld(tb testing.TB, o WorldOptions) *World {
	tb.Helper()
	if _, err := Assets(); err != nil {
		hosttest.Skip(tb, "%v", err)
	}
	dir, err := os.MkdirTemp("", "holdfast-world-") //nolint:usetesting // it stays when the test fails, and sockets need short names
	if err != nil {
		tb.Fatal(err)
	}
	w := &World{}
	tb.Cleanup(func() {
		w.Close()
		if !tb.Failed() {
			_ = os.RemoveAll(dir) // what is left is in the way of nobody
			return
		}
		tb.Logf("the logs of the world stay in %s; its players said last:\n%s", dir, strings.Join(w.Heard(20), "\n"))
	})
	if err := w.Make(tb.Context(), dir, o); err != nil {
		tb.Fatal(err)
	}
	return w
}

// Make makes the world in a directory. Whatever it returns, the caller closes it.
func (w *World) Make(ctx context.Context, dir string, o WorldOptions) error {
	w.Name, w.Dir, w.Repository, w.Home = cmp.Or(o.Name, "mgmt"), dir, filepath.Join(dir, "repository"), filepath.Join(dir, "home")
	w.containers, w.registries = map[string]bool{}, map[string]*http.Server{}
	for _, dir := range []string{w.Repository, w.Home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	var group errgroup.Group
	group.Go(func() (err error) {
		w.Mgmt, err = Start(ctx, Options{Name: Management, Dir: filepath.Join(w.Dir, "mgmt")})
		if err != nil {
			return err
		}
		w.play(ctx, w.Mgmt, false)
		w.MgmtFront, err = NewFront(w.Mgmt)
		return err
	})
	group.Go(func() (err error) {
		w.Workload, err = Start(ctx, Options{Name: Workload, Dir: filepath.Join(w.Dir, "workload"), NoManager: true})
		if err != nil {
			return err
		}
		// What the cluster's own Flux is installed from is no matter of a bootstrap.
		if err := w.Workload.Apply(ctx, object("v1", "Namespace", "", FluxSystem, nil)); err != nil {
			return err
		}
		if err := w.Workload.Install(ctx, FluxOperator); err != nil {
			return err
		}
		w.add(Play(ctx, w.hear, &FluxPlayer{Client: w.Workload.Client, Resolve: w.resolve, Bare: true}))
		return nil
	})
	group.Go(func() error { return w.host(ctx, o) })
	return group.Wait()
}

// host makes the engine, kind, the charts and the repository.
func (w *World) host(ctx context.Context, o WorldOptions) (err error) {
	if w.Port, err = Port(); err != nil {
		return err
	}
	if w.Engine, err = enginetest.Listen(filepath.Join(w.Dir, "engine.sock")); err != nil {
		return err
	}
	w.Engine.AddNetwork("kind")
	w.Engine.AddImage("docker.io/library/registry:2")
	w.Engine.OnStart(w.started)
	w.Engine.OnRemove(w.removed)
	if w.Kinds, err = NewKindHost(w.Dir); err != nil {
		return err
	}
	w.Kinds.Made = func(_ string, p *Plane) (func(), error) {
		players := w.play(ctx, p, true)
		return players.Stop, nil
	}
	sources, err := w.charts(ctx)
	if err != nil {
		return err
	}
	return Repository(w.Repository, w.Name, sources, o.Files)
}

// play lets the controllers of a management cluster play.
func (w *World) play(ctx context.Context, p *Plane, kind bool) *Players {
	players := Play(ctx, w.hear,
		&FluxPlayer{Client: p.Client, Resolve: w.resolve},
		&ProviderPlayer{Client: p.Client, Hold: w.holdsProvider},
		&ClusterPlayer{Client: p.Client, Lead: w.lead, Hold: w.holds, Gone: w.gone})
	if !kind { // those of kind end with it
		w.add(players)
	}
	return players
}

func (w *World) add(p *Players) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.players = append(w.players, p)
}

// charts serves the charts where the repository says.
func (w *World) charts(ctx context.Context) (ChartSources, error) {
	oci, plain, err := Charts(map[string]string{"flux-operator": "0.58.0", "cert-manager": "1.21.2", "capi-operator": "0.29.0"})
	if err != nil {
		return ChartSources{}, err
	}
	repository, err := ChartRepository(plain...)
	if err != nil {
		return ChartSources{}, err
	}
	w.Chart = registrytest.New()
	routes := http.NewServeMux()
	routes.Handle("/v2/", w.Chart)
	routes.Handle("/charts/", http.StripPrefix("/charts", repository))
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return ChartSources{}, err
	}
	w.chartServer = &http.Server{Handler: routes, ReadHeaderTimeout: time.Minute}
	go func() { _ = w.chartServer.Serve(l) }() // until Close
	for _, c := range oci {
		if err := c.Push(ctx, "oci://"+l.Addr().String()+"/charts"); err != nil {
			return ChartSources{}, err
		}
	}
	at := "http://" + l.Addr().String() + "/charts"
	return ChartSources{Flux: "oci://" + l.Addr().String() + "/charts", CertManager: at, CAPIOperator: at}, nil
}

// started lets a container do what its image does: a registry serves.
func (w *World) started(c enginetest.Container) error {
	if !strings.Contains(c.Image, "registry:") {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(c.Ports[5000])) //nolint:noctx // it returns at once
	if err != nil {
		return err
	}
	server := &http.Server{Handler: registrytest.New(), ReadHeaderTimeout: time.Minute}
	w.registries[c.Name] = server
	go func() { _ = server.Serve(l) }() // until Close
	return nil
}

// removed takes what a container did away: the images of a registry, the API server
// of a cluster.
func (w *World) removed(c enginetest.Container) {
	switch {
	case strings.Contains(c.Image, "registry:"):
		w.StopRegistry(c.Name)
	case c.Name == Management+"-control-plane":
		w.MgmtFront.Close()
		go w.Mgmt.Stop() // the engine waits for nobody
	}
}

// StopRegistry ends a registry as an outage does; its container still runs.
func (w *World) StopRegistry(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if server := w.registries[name]; server != nil {
		_ = server.Close() // it only served
		delete(w.registries, name)
	}
}

// resolve returns where a name of the network of kind is reached from here: by the
// port that its container publishes.
func (w *World) resolve(at string) string {
	name, port, _ := strings.Cut(at, ":")
	inside, err := strconv.ParseUint(port, 10, 16)
	for _, c := range w.Engine.Containers() {
		if c.Name == name && err == nil && c.Running {
			return "127.0.0.1:" + strconv.Itoa(c.Ports[uint16(inside)])
		}
	}
	return at + ".invalid"
}

// lead makes the containers of a cluster and returns the kubeconfig that its
// Secret holds: its server is one that only containers reach.
func (w *World) lead(name string) ([]byte, error) {
	plane, port := w.Mgmt, w.MgmtFront.Port
	switch name {
	case Workload:
		plane, port = w.Workload, w.Workload.Port
	case Management:
	default: // it leads nowhere
		return w.Workload.Kubeconfig, nil
	}
	w.mu.Lock()
	made := w.containers[name]
	w.containers[name] = true
	w.mu.Unlock()
	if !made {
		labels := map[string]string{"io.x-k8s.kind.cluster": name}
		w.Engine.Add(enginetest.Container{Name: name + "-lb", Image: "kindest/haproxy", Running: true, Labels: labels, Networks: []string{"kind"}, Ports: map[uint16]int{6443: port}})
		w.Engine.Add(enginetest.Container{Name: name + "-control-plane", Image: "kindest/node", Running: true, Labels: labels, Networks: []string{"kind"}})
	}
	config, err := clientcmd.Load(plane.Kubeconfig)
	if err != nil {
		return nil, err
	}
	c := config.Contexts[plane.Name]
	config.Clusters[name].Server = "https://" + name + "-lb:6443"
	// The names that CAPD gives.
	config.AuthInfos[name+"-admin"] = config.AuthInfos[c.AuthInfo]
	delete(config.AuthInfos, c.AuthInfo)
	delete(config.Contexts, plane.Name)
	c.AuthInfo = name + "-admin"
	config.CurrentContext = name + "-admin@" + name
	config.Contexts[config.CurrentContext] = c
	return clientcmd.Write(*config)
}

// remove asks the engine to remove a container.
func (w *World) remove(name string) {
	request, err := http.NewRequest(http.MethodDelete, "http://engine/containers/"+name+"?force=1", nil) //nolint:noctx // it returns at once
	if err != nil {
		return
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", w.Engine.Socket)
	}}
	if r, err := (&http.Client{Transport: transport}).Do(request); err == nil {
		_ = r.Body.Close() // there is nothing in it
	}
}

// gone removes the containers of a cluster that is deleted.
func (w *World) gone(name string) {
	for _, c := range w.Engine.Containers() {
		if c.Labels["io.x-k8s.kind.cluster"] == name {
			w.remove(c.Name)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.containers, name)
}

// Hold keeps objects of Cluster API as they are for which f holds; nil lets all go on.
func (w *World) Hold(f func(*Object) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold = f
}

func (w *World) holds(o *Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hold != nil && w.hold(o)
}

// HoldProviders keeps providers from becoming ready, for the reason f returns.
func (w *World) HoldProviders(f func(*Object) string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holdsProv = f
}

func (w *World) holdsProvider(o *Object) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holdsProv == nil {
		return ""
	}
	return w.holdsProv(o)
}

func (w *World) hear(who Player, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, fmt.Sprintf("%s %T: %v", time.Now().Format("15:04:05.000"), who, err))
}

// Heard are the last errors of the players.
func (w *World) Heard(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard[max(0, len(w.heard)-n):]
}

// Close ends all that the world has.
func (w *World) Close() {
	if w.chartServer != nil {
		_ = w.chartServer.Close() // it only served
	}
	for _, p := range w.players {
		p.Stop()
	}
	if w.Kinds != nil {
		w.Kinds.Close()
	}
	for _, server := range w.registries {
		_ = server.Close() // it only served
	}
	if w.Engine != nil {
		w.Engine.Close()
	}
	w.MgmtFront.Close()
	w.Mgmt.Stop()
	w.Workload.Stop()
}

// Kind is the control plane of the kind cluster, nil when there is none.
func (w *World) Kind() *Plane { return w.Kinds.Plane(w.Name) }

// Kubeconfig is the file MGMT_KUBECONFIG of the world.
func (w *World) Kubeconfig() string { return filepath.Join(w.Home, ".kube", "krops-mgmt.yaml") }
