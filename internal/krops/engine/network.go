package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/moby/moby/client"
)

// KindNetwork is the network of the containers of kind.
const KindNetwork = "kind"

// HasNetwork tells whether the engine has a network of exactly this name.
func (e *Engine) HasNetwork(ctx context.Context, name string) (bool, error) {
	ctx, cancel := query(ctx)
	defer cancel()
	list, err := e.api.NetworkList(ctx, client.NetworkListOptions{})
	if err != nil {
		return false, fmt.Errorf("list the networks of %s: %w", e.Name, err)
	}
	for _, n := range list.Items {
		if n.Name == name {
			return true, nil
		}
	}
	return false, nil
}

// OwnID is the id of the container this process runs in.
func OwnID(root string) (string, error) {
	text, err := os.ReadFile(root + "/etc/hostname")
	if err != nil {
		return "", fmt.Errorf("read the id of this container: %w", err)
	}
	id := strings.TrimSpace(string(text))
	if id == "" {
		return "", errors.New("/etc/hostname, which holds the id of this container, is empty")
	}
	return id, nil
}

// Join connects a container to a network. One that is in it already is left alone,
// which only its membership tells: engines word that error differently.
func (e *Engine) Join(ctx context.Context, name, id string) error {
	ctx, cancel := query(ctx)
	defer cancel()
	member, err := e.member(ctx, name, id)
	if err != nil || member {
		return err
	}
	_, refused := e.api.NetworkConnect(ctx, name, client.NetworkConnectOptions{Container: id})
	if refused == nil {
		return nil
	}
	if member, err := e.member(ctx, name, id); err == nil && member {
		return nil
	}
	return fmt.Errorf("connect this container (%s) to network %s: %w", id, name, refused)
}

// Leave disconnects a container from a network; not being in it is no error.
func (e *Engine) Leave(ctx context.Context, name, id string) error {
	ctx, cancel := query(ctx)
	defer cancel()
	member, err := e.member(ctx, name, id)
	if err != nil || !member {
		return err
	}
	if _, err := e.api.NetworkDisconnect(ctx, name, client.NetworkDisconnectOptions{Container: id, Force: true}); err != nil && !absent(err) {
		return fmt.Errorf("disconnect this container (%s) from network %s: %w", id, name, err)
	}
	return nil
}

// member asks the container, and where that cannot tell the network.
func (e *Engine) member(ctx context.Context, name, id string) (bool, error) {
	view, err := e.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err == nil && view.Container.NetworkSettings != nil {
		if slices.Contains(slices.Collect(maps.Keys(view.Container.NetworkSettings.Networks)), name) {
			return true, nil
		}
	}
	around, err := e.api.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		return false, fmt.Errorf("inspect network %s: %w", name, err)
	}
	for member := range around.Network.Containers {
		if strings.HasPrefix(member, id) {
			return true, nil
		}
	}
	return false, nil
}
