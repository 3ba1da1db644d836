package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/kind"
)

// KindHost stands in for kind: a cluster is a control plane of the lab. It lives in
// the process of the test and is asked through a socket, so that the clusters
// outlive the program under test, however that ends.
type KindHost struct {
	Socket string
	// Made is called with each cluster, before its creator hears of it; what it
	// returns is called before the cluster is deleted.
	Made func(name string, p *Plane) (gone func(), err error)

	dir    string
	server *http.Server

	mu       sync.Mutex
	clusters map[string]*kindCluster
	fault    func(verb, name string) error
	made     int
}

type kindCluster struct {
	plane  *Plane
	front  *Front
	config kind.Config
	gone   func()
}

// NewKindHost listens on a socket in dir.
func NewKindHost(dir string) (*KindHost, error) {
	h := &KindHost{Socket: filepath.Join(dir, "kind.sock"), dir: dir, clusters: map[string]*kindCluster{}}
	l, err := net.Listen("unix", h.Socket) //nolint:noctx // it returns at once
	if err != nil {
		return nil, err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /{name}", h.exists)
	routes.HandleFunc("POST /{name}", h.create)
	routes.HandleFunc("DELETE /{name}", h.remove)
	routes.HandleFunc("GET /{name}/kubeconfig", h.kubeconfig)
	h.server = &http.Server{Handler: routes, ReadHeaderTimeout: time.Minute}
	go func() { _ = h.server.Serve(l) }() // until Close
	return h, nil
}

// Close deletes every cluster.
func (h *KindHost) Close() {
	_ = h.server.Close() // nobody waits for an answer
	for _, name := range h.Names() {
		h.delete(name)
	}
}

// Fail lets requests fail for which fault has an error; nil ends that. The verbs
// are exists, create, delete and kubeconfig.
func (h *KindHost) Fail(fault func(verb, name string) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault = fault
}

// Names are those of the clusters there are.
func (h *KindHost) Names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for name := range h.clusters {
		names = append(names, name)
	}
	return names
}

// Plane is the control plane of a cluster, nil without one.
func (h *KindHost) Plane(name string) *Plane {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clusters[name]; c != nil {
		return c.plane
	}
	return nil
}

// Front is what stands before the API server of a cluster, nil without one. Its
// kubeconfig is the one that is handed out.
func (h *KindHost) Front(name string) *Front {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clusters[name]; c != nil {
		return c.front
	}
	return nil
}

// Config is what a cluster was made from.
func (h *KindHost) Config(name string) kind.Config {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clusters[name]; c != nil {
		return c.config
	}
	return kind.Config{}
}

func (h *KindHost) broken(w http.ResponseWriter, verb, name string) bool {
	h.mu.Lock()
	fault := h.fault
	h.mu.Unlock()
	if fault == nil {
		return false
	}
	err := fault(verb, name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
	return err != nil
}

func (h *KindHost) exists(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if h.broken(w, "exists", name) {
		return
	}
	if h.Plane(name) == nil {
		http.NotFound(w, r)
	}
}

func (h *KindHost) create(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if h.broken(w, "create", name) {
		return
	}
	var config kind.Config
	if err := json.NewDecoder(r.Body).Decode(&config); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if h.Plane(name) != nil {
		http.Error(w, "there is a cluster "+name+" already", http.StatusConflict)
		return
	}
	h.mu.Lock()
	h.made++
	dir := filepath.Join(h.dir, fmt.Sprintf("%s-%d", name, h.made))
	h.mu.Unlock()
	// A creator that is killed leaves nothing that works: its plane goes with the request.
	plane, err := Start(r.Context(), Options{Name: name, Context: kind.ContextOf(name), Dir: dir})
	gone := func() {}
	var front *Front
	if err == nil {
		front, err = NewFront(plane)
	}
	if err == nil && h.Made != nil {
		gone, err = h.Made(name, plane)
	}
	if err == nil {
		err = r.Context().Err()
	}
	if err != nil {
		if gone != nil {
			gone()
		}
		front.Close()
		plane.Stop()
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clusters[name] = &kindCluster{plane: plane, front: front, config: config, gone: gone}
}

func (h *KindHost) remove(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if !h.broken(w, "delete", name) {
		h.delete(name)
	}
}

func (h *KindHost) delete(name string) {
	h.mu.Lock()
	c := h.clusters[name]
	delete(h.clusters, name)
	h.mu.Unlock()
	if c != nil {
		c.gone()
		c.front.Close()
		c.plane.Stop()
	}
}

func (h *KindHost) kubeconfig(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if h.broken(w, "kubeconfig", name) {
		return
	}
	f := h.Front(name)
	if f == nil {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(f.Kubeconfig) // who asked sees that it is short
}

// Kinds asks a KindHost: it is what the program under test takes for kind.
type Kinds struct{ Socket string }

func (k Kinds) call(ctx context.Context, method, path string, body any) (status int, answer []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://kind/"+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", k.Socket)
	}}
	r, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("ask kind: %w", err)
	}
	defer func() { _ = r.Body.Close() }() // only read
	answer, err = io.ReadAll(r.Body)
	if err == nil && r.StatusCode >= 400 && r.StatusCode != http.StatusNotFound {
		err = errors.New("kind: " + strings.TrimSpace(string(answer)))
	}
	return r.StatusCode, answer, err
}

// Exists tells whether there is a cluster of that name.
func (k Kinds) Exists(ctx context.Context, name string) (bool, error) {
	status, _, err := k.call(ctx, http.MethodGet, name, nil)
	return err == nil && status == http.StatusOK, err
}

// Create makes a cluster.
func (k Kinds) Create(ctx context.Context, name string, c kind.Config, say func(string)) error {
	say("a control plane of the lab stands in for kind")
	_, _, err := k.call(ctx, http.MethodPost, name, c)
	return err
}

// Delete removes a cluster.
func (k Kinds) Delete(ctx context.Context, name string) error {
	_, _, err := k.call(ctx, http.MethodDelete, name, nil)
	return err
}

// Kubeconfig is how to reach a cluster: there is no other network here.
func (k Kinds) Kubeconfig(ctx context.Context, name string, _ bool) ([]byte, error) {
	status, text, err := k.call(ctx, http.MethodGet, name+"/kubeconfig", nil)
	if err == nil && status == http.StatusNotFound {
		err = fmt.Errorf("there is no kind cluster %s", name)
	}
	return text, err
}
