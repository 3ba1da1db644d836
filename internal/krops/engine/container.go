package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// A Container is one of the engine, running or not.
type Container struct {
	ID     string
	Name   string
	Image  string
	State  string // running, exited, created, paused, …
	Labels map[string]string
}

// Running tells whether it runs.
func (c Container) Running() bool { return c.State == string(container.StateRunning) }

// Containers lists those that keep holds for, by name. A listing that fails is an
// error.
func (e *Engine) Containers(ctx context.Context, keep func(Container) bool) ([]Container, error) {
	ctx, cancel := query(ctx)
	defer cancel()
	list, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return nil, fmt.Errorf("list the containers of %s: %w", e.Name, err)
	}
	var found []Container
	for _, item := range list.Items {
		c := Container{ID: item.ID, Name: ownName(item.Names), Image: item.Image, State: string(item.State), Labels: maps.Clone(item.Labels)}
		if keep(c) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// ownName is the name of a container among those the engine lists: others are of
// links, and say of which container.
func ownName(names []string) string {
	for _, name := range names {
		if name = strings.TrimPrefix(name, "/"); !strings.Contains(name, "/") {
			return name
		}
	}
	return ""
}

// Named finds a container by its exact name.
func (e *Engine) Named(ctx context.Context, name string) (c Container, found bool, err error) {
	list, err := e.Containers(ctx, func(c Container) bool { return c.Name == name })
	if err != nil || len(list) == 0 {
		return Container{}, false, err
	}
	return list[0], true, nil
}

// Remove removes a container by force, with its volumes, and returns once it is
// gone. One that is gone already is no error.
func (e *Engine) Remove(ctx context.Context, c Container) error {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	var last error
	err := retry.Until(ctx, retry.Policy{Interval: 200 * time.Millisecond, Max: 2 * time.Second}, func(ctx context.Context) (bool, error) {
		_, err := e.api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil || absent(err):
			return true, nil
		case conflict(err):
			// Somebody else is removing it.
			last = err
			return false, nil
		}
		return false, err
	})
	if err != nil {
		if last != nil {
			err = last
		}
		return fmt.Errorf("remove container %s: %w", c.Name, err)
	}
	return nil
}

// Start starts a container.
func (e *Engine) Start(ctx context.Context, c Container) error {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	if _, err := e.api.ContainerStart(ctx, c.ID, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start container %s: %w", c.Name, err)
	}
	return nil
}

// Port returns the port of this host at which a port of a running container is
// published, found by exact name.
func (e *Engine) Port(ctx context.Context, name string, inside uint16) (int, error) {
	c, found, err := e.Named(ctx, name)
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, fmt.Errorf("there is no container %s", name)
	}
	view, err := e.inspect(ctx, c)
	if err != nil {
		return 0, err
	}
	if view.NetworkSettings != nil {
		if port := published(view.NetworkSettings.Ports, inside); port != 0 {
			return port, nil
		}
	}
	return 0, fmt.Errorf("container %s (%s) does not publish port %d/tcp", name, c.State, inside)
}

// published is the first port of this host that a TCP port is bound to, 0 for none.
func published(ports network.PortMap, inside uint16) int {
	port, _ := network.PortFrom(inside, network.TCP)
	for _, binding := range ports[port] {
		if n := ParsePort(binding.HostPort); n != 0 {
			return n
		}
	}
	return 0
}

func (e *Engine) inspect(ctx context.Context, c Container) (container.InspectResponse, error) {
	ctx, cancel := query(ctx)
	defer cancel()
	view, err := e.api.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
	if err != nil {
		return container.InspectResponse{}, fmt.Errorf("inspect container %s: %w", c.Name, err)
	}
	return view.Container, nil
}
