package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// A Registry is the container of the local registry.
type Registry struct {
	Name string
	Port int // of this host, on its loopback alone
}

const (
	registryImage = "docker.io/library/registry:2"
	registryPort  = 5000 // inside
)

// RegistryState is what was found of the registry container.
type RegistryState int

// The states of the registry container.
const (
	RegistryMissing RegistryState = iota
	RegistryWrong                 // another port, or not in the network of kind
	RegistryStopped               // right, but it does not run
	RegistryRunning
)

// Look finds the registry container. why tells what is wrong with it, or what it
// does instead of running.
func (e *Engine) Look(ctx context.Context, r Registry) (state RegistryState, c Container, why string, err error) {
	c, found, err := e.Named(ctx, r.Name)
	if err != nil {
		return RegistryMissing, Container{}, "", err
	}
	if !found {
		return RegistryMissing, Container{}, "there is no container " + r.Name, nil
	}
	view, err := e.inspect(ctx, c)
	if err != nil {
		return RegistryMissing, c, "", err
	}
	var wrong []string
	if port := publishedAlways(view); port != r.Port {
		wrong = append(wrong, fmt.Sprintf("it is published at port %d, not %d", port, r.Port))
	}
	if view.NetworkSettings == nil || view.NetworkSettings.Networks[KindNetwork] == nil {
		wrong = append(wrong, "it is not in network "+KindNetwork)
	}
	switch {
	case len(wrong) > 0:
		return RegistryWrong, c, strings.Join(wrong, ", "), nil
	case view.State == nil || !view.State.Running:
		return RegistryStopped, c, "it is " + c.State, nil
	}
	return RegistryRunning, c, "", nil
}

// publishedAlways is the port the registry has when it runs, which engines tell of a
// stopped container too.
func publishedAlways(view container.InspectResponse) int {
	if view.HostConfig != nil {
		if port := published(view.HostConfig.PortBindings, registryPort); port != 0 {
			return port
		}
	}
	if view.NetworkSettings != nil {
		return published(view.NetworkSettings.Ports, registryPort)
	}
	return 0
}

// Run brings the registry container to where it runs as it should.
func (e *Engine) Run(ctx context.Context, r Registry, say func(string)) error {
	state, c, why, err := e.Look(ctx, r)
	if err != nil {
		return err
	}
	switch state {
	case RegistryRunning:
		return nil
	case RegistryStopped:
		return e.Start(ctx, c)
	case RegistryWrong:
		say("Existing registry misconfigured (port or network); recreating...")
		say(why)
		if err := e.Remove(ctx, c); err != nil {
			return err
		}
	case RegistryMissing:
	}
	if err := e.Pull(ctx, registryImage, say); err != nil {
		return err
	}
	return e.createRegistry(ctx, r)
}

func (e *Engine) createRegistry(ctx context.Context, r Registry) error {
	there, err := e.HasNetwork(ctx, KindNetwork)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("network %s does not exist: the kind cluster makes it, and the registry comes after that", KindNetwork)
	}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	inside, _ := network.PortFrom(registryPort, network.TCP)
	made, err := e.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name:   r.Name,
		Config: &container.Config{Image: registryImage, ExposedPorts: network.PortSet{inside: struct{}{}}},
		HostConfig: &container.HostConfig{
			NetworkMode:  KindNetwork,
			PortBindings: network.PortMap{inside: {{HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1}), HostPort: strconv.Itoa(r.Port)}}},
		},
		NetworkingConfig: &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{KindNetwork: {}}},
	})
	if err != nil {
		return fmt.Errorf("create container %s: %w", r.Name, err)
	}
	c := Container{ID: made.ID, Name: r.Name}
	if err := e.Start(ctx, c); err != nil {
		// Docker keeps a container whose port is taken: it would read as stopped.
		return errors.Join(err, e.Remove(context.WithoutCancel(ctx), c))
	}
	return nil
}
