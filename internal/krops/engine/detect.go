package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// Options is what the choice of an engine depends on.
type Options struct {
	Engine        string // CONTAINER_ENGINE: docker, podman, "" for whichever answers
	Socket        string // ENGINE_SOCK
	Toolbox       bool
	ContainerHost string // CONTAINER_HOST
	Env           func(name string) (string, bool)
	UID           int
	Root          string // of the file system, for tests; "" is /
}

// Messages of the choice. They are documented; what is behind them is their cause.
var (
	// ErrNone says that no engine answers.
	ErrNone     = errors.New("No running container engine found (tried docker and podman)") //nolint:staticcheck // ST1005: the documented text
	errNoDocker = errors.New("Docker daemon not running")                                   //nolint:staticcheck // ST1005: the documented text
	errNoPodman = errors.New("Podman is not running (is 'podman machine' started?)")        //nolint:staticcheck // ST1005: the documented text
)

// Where the engines listen.
const (
	dockerDefault = "/var/run/docker.sock"
	podmanDefault = "/run/podman/podman.sock"
)

// probeTime bounds the question whether an engine answers.
const probeTime = 10 * time.Second

// Detect chooses the engine: the one that is asked for, else docker, else podman.
func Detect(ctx context.Context, o Options) (*Engine, error) {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	switch o.Engine {
	case Docker:
		e, err := first(ctx, o.dockers)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNoDocker, err)
		}
		if e.Name == Podman {
			e.Notes = append(e.Notes, "CONTAINER_ENGINE is docker, but it is podman that answers at "+e.Host)
		}
		e.Name = Docker
		return o.finish(ctx, e)
	case Podman:
		e, err := first(ctx, o.podmans)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNoPodman, err)
		}
		e.Name = Podman
		return o.finish(ctx, e)
	case "":
		return o.either(ctx)
	}
	return nil, fmt.Errorf("Unsupported CONTAINER_ENGINE '%s' (expected 'docker' or 'podman')", o.Engine) //nolint:staticcheck // ST1005: the documented text
}

// either is the engine that answers. Where podman answers for docker, the sockets
// of podman itself are better: the command line of podman speaks to those.
func (o Options) either(ctx context.Context) (*Engine, error) {
	docker, noDocker := first(ctx, o.dockers)
	if noDocker == nil && docker.Name == Docker {
		return o.finish(ctx, docker)
	}
	podman, noPodman := first(ctx, o.podmans)
	if noPodman == nil {
		podman.Name = Podman
		return o.finish(ctx, podman)
	}
	if noDocker == nil {
		return o.finish(ctx, docker)
	}
	return nil, fmt.Errorf("%w: %w", ErrNone, errors.Join(fmt.Errorf("docker: %w", noDocker), fmt.Errorf("podman: %w", noPodman)))
}

// first returns the first endpoint that answers.
func first(ctx context.Context, candidates func() ([]endpoint, error)) (*Engine, error) {
	from, err := candidates()
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, p := range from {
		e, err := p.probe(ctx)
		if err == nil {
			return e, nil
		}
		failed = append(failed, fmt.Errorf("%s (%s): %w", p.host, p.from, err))
	}
	return nil, errors.Join(failed...)
}

// probe asks an endpoint what it is.
func (p endpoint) probe(ctx context.Context) (*Engine, error) {
	api, err := p.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	version, err := p.ask(ctx, api)
	if err != nil {
		_ = api.Close()
		return nil, err
	}
	e := &Engine{Name: Docker, Host: p.host, Version: version.Version, api: api}
	named := func(text string) bool { return strings.Contains(strings.ToLower(text), Podman) }
	if named(version.Platform.Name) {
		e.Name = Podman
	}
	for _, c := range version.Components {
		if named(c.Name) {
			e.Name, e.Version = Podman, cmp.Or(c.Version, e.Version)
		}
	}
	return e, nil
}

func (p endpoint) ask(ctx context.Context, api *client.Client) (client.ServerVersionResult, error) {
	if path := p.socket(); path != "" {
		// The client hides why a socket cannot be used.
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err != nil {
			return client.ServerVersionResult{}, why(err)
		}
		_ = conn.Close()
	}
	if _, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return client.ServerVersionResult{}, err
	}
	return api.ServerVersion(ctx, client.ServerVersionOptions{})
}

// finish settles the socket that the daemon sees.
func (o Options) finish(ctx context.Context, e *Engine) (*Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	switch {
	case e.Name == Docker:
		e.Socket = dockerDefault
		info, err := e.api.Info(ctx, client.InfoOptions{})
		if err != nil {
			_ = e.Close()
			return nil, fmt.Errorf("%w: %w", errNoDocker, err)
		}
		e.Rootless = slices.Contains(info.Info.SecurityOptions, "name=rootless")
		if path := (endpoint{host: e.Host}).socket(); e.Rootless && path != "" && !o.Toolbox {
			e.Socket = path
		}
	case o.Toolbox:
		// What podman reports in there is the mounted socket, not that of the daemon.
		e.Socket = podmanDefault
	default:
		e.askPodman(ctx)
	}
	e.Socket = cmp.Or(o.Socket, e.Socket)
	return e, nil
}

// askPodman asks podman for the path of its socket.
func (e *Engine) askPodman(ctx context.Context) {
	var info struct {
		Host struct {
			RemoteSocket struct{ Path string }
			Security     struct{ Rootless bool }
		}
	}
	err := e.podman(ctx, "info", &info)
	e.Rootless = info.Host.Security.Rootless
	e.Socket = strings.TrimPrefix(info.Host.RemoteSocket.Path, "unix://")
	if e.Socket == "" {
		reason := "names none"
		if err != nil {
			reason = err.Error()
		}
		e.Socket = podmanDefault
		e.Notes = append(e.Notes, "podman does not tell its socket ("+reason+"): using "+podmanDefault+"; ENGINE_SOCK names another")
	}
}

// podman asks podman what the API of docker has no question for.
func (e *Engine) podman(ctx context.Context, what string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://podman/v4.0.0/libpod/"+what, http.NoBody)
	if err != nil {
		return err
	}
	dial := e.api.Dialer()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return json.NewDecoder(io.LimitReader(response.Body, 4<<20)).Decode(answer)
}
