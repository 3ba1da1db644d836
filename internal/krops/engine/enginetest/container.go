package enginetest

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
)

// find looks a container up by name or by the beginning of its id.
func (s *Server) find(ref string) (*Container, error) {
	for _, c := range s.containers {
		if c.Name == ref || strings.HasPrefix(c.ID, ref) {
			return c, nil
		}
	}
	return nil, missing("container", ref)
}

func (s *Server) container(w http.ResponseWriter, r *http.Request, parts []string) (any, error) {
	if len(parts) == 1 && parts[0] == "create" {
		return s.create(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(parts) == 1 && parts[0] == "json" {
		list := []container.Summary{}
		for _, c := range s.containers {
			list = append(list, c.summary())
		}
		return list, nil
	}
	c, err := s.find(parts[0])
	if err != nil {
		return nil, err
	}
	what := ""
	if len(parts) > 1 {
		what = parts[1]
	}
	switch r.Method + " " + what {
	case "GET json":
		return c.inspect(), nil
	case "POST start":
		return nil, s.start(c)
	case "DELETE ":
		if c.Running && r.URL.Query().Get("force") != "1" {
			return nil, refusal{http.StatusConflict, "cannot remove a running container"}
		}
		s.containers = slices.DeleteFunc(s.containers, func(o *Container) bool { return o == c })
		if s.removed != nil {
			s.removed(*c)
		}
		return nil, nil
	case "GET archive":
		return written, c.read(w, r.URL.Query().Get("path"))
	case "PUT archive":
		return map[string]any{}, c.write(r.Body, r.URL.Query().Get("path"))
	}
	return nil, refusal{http.StatusMethodNotAllowed, "not this"}
}

func (s *Server) start(c *Container) error {
	if c.Running {
		return nil
	}
	if s.started != nil {
		if err := s.started(*c); err != nil {
			return err
		}
	}
	c.Running = true
	return nil
}

func (s *Server) create(r *http.Request) (any, error) {
	var asked container.CreateRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, refusal{http.StatusBadRequest, err.Error()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.URL.Query().Get("name")
	for _, c := range s.containers {
		if c.Name == name {
			return nil, refusal{http.StatusConflict, "the name " + name + " is in use"}
		}
	}
	if !slices.Contains(s.images, asked.Image) {
		return nil, missing("image", asked.Image)
	}
	c := Container{Name: name, Image: asked.Image, Labels: asked.Labels, Ports: map[uint16]int{}}
	for inside, bindings := range asked.HostConfig.PortBindings {
		for _, b := range bindings {
			port, err := strconv.Atoi(b.HostPort)
			if err != nil {
				return nil, refusal{http.StatusBadRequest, err.Error()}
			}
			c.Ports[inside.Num()] = port
		}
	}
	for network := range asked.NetworkingConfig.EndpointsConfig {
		if !slices.Contains(s.networks, network) {
			return nil, missing("network", network)
		}
		c.Networks = append(c.Networks, network)
	}
	return container.CreateResponse{ID: s.add(c).ID, Warnings: []string{}}, nil
}

func (c *Container) state() container.ContainerState {
	if c.Running {
		return container.StateRunning
	}
	return container.StateExited
}

func (c *Container) summary() container.Summary {
	return container.Summary{ID: c.ID, Names: []string{"/" + c.Name}, Image: c.Image, State: c.state(), Labels: c.Labels}
}

func (c *Container) inspect() container.InspectResponse {
	ports := network.PortMap{}
	for inside, port := range c.Ports {
		p, _ := network.PortFrom(inside, network.TCP)
		ports[p] = []network.PortBinding{{HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1}), HostPort: strconv.Itoa(port)}}
	}
	networks := map[string]*network.EndpointSettings{}
	for _, name := range c.Networks {
		networks[name] = &network.EndpointSettings{}
	}
	answer := container.InspectResponse{
		ID: c.ID, Name: "/" + c.Name, Config: &container.Config{Image: c.Image, Labels: c.Labels},
		HostConfig: &container.HostConfig{PortBindings: ports}, State: &container.State{Status: c.state(), Running: c.Running},
		NetworkSettings: &container.NetworkSettings{Networks: networks},
	}
	if c.Running {
		answer.NetworkSettings.Ports = ports
	}
	return answer
}

func (c *Container) read(w http.ResponseWriter, name string) error {
	text, ok := c.Files[path.Clean(name)]
	if !ok {
		return missing("file", name)
	}
	stat, err := json.Marshal(container.PathStat{Name: path.Base(name), Size: int64(len(text)), Mode: 0o644})
	if err != nil {
		return err
	}
	w.Header().Set("X-Docker-Container-Path-Stat", base64.StdEncoding.EncodeToString(stat))
	w.Header().Set("Content-Type", "application/x-tar")
	archive := tar.NewWriter(w)
	err = archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path.Base(name), Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = io.WriteString(archive, text)
	}
	return errors.Join(err, archive.Close())
}

func (c *Container) write(body io.Reader, dir string) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	archive := tar.NewReader(bytes.NewReader(text))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return refusal{http.StatusBadRequest, err.Error()}
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		c.Files[path.Join(dir, header.Name)] = string(text) //nolint:gosec // a name in a map
	}
}
