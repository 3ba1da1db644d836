// Package enginetest has the double of a container engine: a server of its API with
// containers that are only remembered.
package enginetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/api/types/volume"
)

// A Container is one of the double.
type Container struct {
	ID       string
	Name     string
	Image    string
	Running  bool
	Labels   map[string]string
	Ports    map[uint16]int // port inside to port of the host
	Networks []string
	Files    map[string]string
}

// Server is an engine. What it is must be set before it is asked.
type Server struct {
	Socket string // path of its socket

	Podman       bool   // it is podman that answers
	RemoteSocket string // what podman says of its socket
	Rootless     bool   // docker without root

	mu         sync.Mutex
	started    func(c Container) error
	removed    func(c Container)
	fault      func(method, path string) (status int, message string)
	containers []*Container
	networks   []string
	images     []string
	remote     []string // images that can be pulled
	volumes    map[string]map[string]string
	asked      []string
	made       int
	server     *http.Server
}

// Listen starts an engine at a socket. The directories above it are made.
func Listen(socket string) (*Server, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", socket) //nolint:noctx // it returns at once
	if err != nil {
		return nil, err
	}
	s := &Server{Socket: socket, volumes: map[string]map[string]string{}}
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }() // until Close
	return s, nil
}

// Close stops the engine and takes its socket away.
func (s *Server) Close() { _ = s.server.Close() } // nothing is left to do about it

// Host is the address of the engine.
func (s *Server) Host() string { return "unix://" + s.Socket }

// Fail asks f before each request, from now on: a status other than 0 is the answer.
func (s *Server) Fail(f func(method, path string) (status int, message string)) {
	s.locked(func() { s.fault = f })
}

// OnStart calls f when a container starts, which it may refuse.
func (s *Server) OnStart(f func(Container) error) { s.locked(func() { s.started = f }) }

// OnRemove calls f when a container is removed.
func (s *Server) OnRemove(f func(Container)) { s.locked(func() { s.removed = f }) }

// Connect puts a container into a network.
func (s *Server) Connect(id, network string) {
	s.locked(func() {
		if c, err := s.find(id); err == nil {
			c.Networks = append(slices.Clone(c.Networks), network)
		}
	})
}

// Add puts a container into the engine.
func (s *Server) Add(c Container) Container {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.add(c)
}

func (s *Server) add(c Container) *Container {
	s.made++
	if c.ID == "" {
		c.ID = fmt.Sprintf("%064x", s.made)
	}
	if c.Files == nil {
		c.Files = map[string]string{}
	}
	s.containers = append(s.containers, &c)
	return &c
}

// AddNetwork puts a network into the engine.
func (s *Server) AddNetwork(name string) { s.locked(func() { s.networks = append(s.networks, name) }) }

// AddImage puts an image into the engine.
func (s *Server) AddImage(ref string) { s.locked(func() { s.images = append(s.images, ref) }) }

// AddRemoteImage lets an image be pulled.
func (s *Server) AddRemoteImage(ref string) { s.locked(func() { s.remote = append(s.remote, ref) }) }

// AddVolume puts a volume into the engine.
func (s *Server) AddVolume(name string, labels map[string]string) {
	s.locked(func() { s.volumes[name] = labels })
}

// Containers are those of the engine, by name.
func (s *Server) Containers() []Container {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Container
	for _, c := range s.containers {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Names are those of the containers.
func (s *Server) Names() []string {
	var names []string
	for _, c := range s.Containers() {
		names = append(names, c.Name)
	}
	return names
}

// Volumes are the names of the volumes.
func (s *Server) Volumes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.volumes))
}

// Asked are the requests so far: method and path, without the version.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Remove takes a container away, as if somebody had.
func (s *Server) Remove(name string) {
	s.locked(func() {
		s.containers = slices.DeleteFunc(s.containers, func(c *Container) bool { return c.Name == name })
	})
}

func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// refusal is an answer other than a good one.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

func missing(what, name string) error {
	return refusal{http.StatusNotFound, "no such " + what + ": " + name}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	where := r.URL.Path
	if first, rest, ok := strings.Cut(strings.TrimPrefix(where, "/"), "/"); ok && strings.HasPrefix(first, "v") && len(first) > 1 && first[1] >= '0' && first[1] <= '9' {
		where = "/" + rest
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+where)
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		if status, text := fault(r.Method, where); status != 0 {
			reply(w, status, map[string]string{"message": text})
			return
		}
	}
	w.Header().Set("Api-Version", "1.51")
	w.Header().Set("Ostype", "linux")
	answer, err := s.route(w, r, where)
	no := refusal{}
	switch {
	case errors.As(err, &no):
		reply(w, no.status, map[string]string{"message": no.text})
	case err != nil:
		reply(w, http.StatusInternalServerError, map[string]string{"message": err.Error()})
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	case answer != written:
		reply(w, http.StatusOK, answer)
	}
}

// written is the answer of what has written one itself.
const written = itself(true)

type itself bool

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked sees that it is short
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, where string) (any, error) {
	parts := strings.Split(strings.TrimPrefix(where, "/"), "/")
	switch parts[0] {
	case "_ping":
		_, err := io.WriteString(w, "OK")
		return written, err
	case "version":
		return s.version(), nil
	case "info":
		info := system.Info{ServerVersion: "29.0.0"}
		if s.Rootless {
			info.SecurityOptions = []string{"name=seccomp,profile=builtin", "name=rootless"}
		}
		return info, nil
	case "libpod":
		return s.libpod(where)
	case "containers":
		return s.container(w, r, parts[1:])
	case "networks":
		return s.network(r, parts[1:])
	case "images":
		return s.image(w, r, strings.Join(parts[1:], "/"))
	case "volumes":
		return s.volume(r, parts[1:])
	}
	return nil, refusal{http.StatusNotFound, "page not found"}
}

func (s *Server) version() system.VersionResponse {
	name, version := "Engine", "29.0.0"
	if s.Podman {
		name, version = "Podman Engine", "5.6.0"
	}
	v := system.VersionResponse{Version: version, APIVersion: "1.51", MinAPIVersion: "1.24"}
	v.Components = []system.ComponentVersion{{Name: name, Version: version}}
	return v
}

func (s *Server) libpod(where string) (any, error) {
	if !s.Podman || where != "/libpod/info" {
		return nil, refusal{http.StatusNotFound, "page not found"}
	}
	return map[string]any{"host": map[string]any{
		"remoteSocket": map[string]any{"path": s.RemoteSocket, "exists": true},
		"security":     map[string]any{"rootless": s.Rootless},
	}}, nil
}

func (s *Server) network(r *http.Request, parts []string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(parts) == 0 {
		list := []network.Summary{}
		for _, name := range s.networks {
			list = append(list, network.Summary{Network: network.Network{Name: name}})
		}
		return list, nil
	}
	name := parts[0]
	if !slices.Contains(s.networks, name) {
		return nil, missing("network", name)
	}
	if len(parts) == 1 {
		around := network.Inspect{Network: network.Network{Name: name}, Containers: map[string]network.EndpointResource{}}
		for _, c := range s.containers {
			if slices.Contains(c.Networks, name) {
				around.Containers[c.ID] = network.EndpointResource{Name: c.Name}
			}
		}
		return around, nil
	}
	var who struct{ Container string }
	if err := json.NewDecoder(r.Body).Decode(&who); err != nil {
		return nil, refusal{http.StatusBadRequest, err.Error()}
	}
	c, err := s.find(who.Container)
	if err != nil {
		return nil, err
	}
	in := slices.Contains(c.Networks, name)
	switch parts[1] {
	case "connect":
		if in {
			return nil, refusal{http.StatusForbidden, "endpoint with name " + c.Name + " already exists in network " + name}
		}
		c.Networks = append(c.Networks, name)
	case "disconnect":
		if !in {
			return nil, refusal{http.StatusForbidden, "not connected"}
		}
		c.Networks = slices.DeleteFunc(c.Networks, func(n string) bool { return n == name })
	}
	return map[string]any{}, nil
}

func (s *Server) image(w http.ResponseWriter, r *http.Request, name string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name != "create" {
		name = strings.TrimSuffix(name, "/json")
		if !slices.Contains(s.images, name) {
			return nil, missing("image", name)
		}
		return map[string]any{"Id": "sha256:0"}, nil
	}
	ref := r.URL.Query().Get("fromImage") + ":" + r.URL.Query().Get("tag")
	if !slices.Contains(s.remote, ref) {
		return nil, missing("manifest", ref)
	}
	s.images = append(s.images, ref)
	w.Header().Set("Content-Type", "application/json")
	for _, line := range []string{
		`{"status":"Pulling fs layer","id":"0a1b"}`, `{"status":"Downloading","id":"0a1b","progressDetail":{"current":1048576,"total":2097152}}`, `{"status":"Pull complete","id":"0a1b"}`,
	} {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return nil, err
		}
	}
	return written, nil
}

func (s *Server) volume(r *http.Request, parts []string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(parts) == 0:
		list := volume.ListResponse{Volumes: []volume.Volume{}}
		for name, labels := range s.volumes {
			list.Volumes = append(list.Volumes, volume.Volume{Name: name, Labels: labels})
		}
		return list, nil
	case parts[0] == "create":
		var asked volume.CreateRequest
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			return nil, refusal{http.StatusBadRequest, err.Error()}
		}
		s.volumes[asked.Name] = asked.Labels
		return volume.Volume{Name: asked.Name}, nil
	}
	if _, ok := s.volumes[parts[0]]; !ok {
		return nil, missing("volume", parts[0])
	}
	if r.Method == http.MethodDelete {
		delete(s.volumes, parts[0])
		return nil, nil
	}
	return volume.Volume{Name: parts[0]}, nil
}
