package site

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// registryPart is the local registry: its container, its answer, and what the kind
// cluster is told of it.
func (s *Site) registryPart() part {
	return part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"host/registry":          s.registry,
			"host/registry-ready":    s.registryReady,
			"source/registry-config": s.registryConfig,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"registry":        s.runRegistry,
			"registry-config": s.announceRegistry,
			"pivot-registry":  s.askRegistry,
			"delete-registry": s.deleteRegistry,
		},
		holds: map[string]func(context.Context, plan.Step) (string, error){"registry-ready": s.registryHold},
	}
}

func (s *Site) wantedRegistry() engine.Registry {
	return engine.Registry{Name: s.Settings.RegistryName, Port: s.Settings.RegistryPort}
}

// registry tells whether the registry runs as it should. A teardown has to remove it
// however it is.
func (s *Site) registry(ctx context.Context, _ plan.Fact) plan.Presence {
	e, err := s.engine(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	if s.Settings.Verb == config.VerbTeardown {
		_, there, err := e.Named(ctx, s.Settings.RegistryName)
		switch {
		case err != nil:
			return plan.Failed(err.Error())
		case !there:
			return plan.Absent("the engine lists no container " + s.Settings.RegistryName)
		}
		return plan.Present()
	}
	state, _, why, err := e.Look(ctx, s.wantedRegistry())
	if err != nil {
		return plan.Failed(err.Error())
	}
	if state != engine.RegistryRunning {
		return plan.Absent(why)
	}
	return plan.Present()
}

func (s *Site) runRegistry(ctx context.Context, _ plan.Step, v run.Voice) error {
	e, err := s.engine(ctx)
	if err != nil {
		return err
	}
	return e.Run(ctx, s.wantedRegistry(), func(text string) { v.Detail("%s", text) })
}

func (s *Site) deleteRegistry(ctx context.Context, _ plan.Step, _ run.Voice) error {
	e, err := s.engine(ctx)
	if err != nil {
		return err
	}
	c, there, err := e.Named(ctx, s.Settings.RegistryName)
	if err != nil || !there {
		return err
	}
	return e.Remove(ctx, c)
}

// registryURL is where the registry answers.
func (s *Site) registryURL() string {
	name, port := s.Settings.RegistryEndpoint()
	return fmt.Sprintf("http://%s:%d/v2/", name, port)
}

const (
	registryDial  = 10 * time.Second
	registryWhole = 30 * time.Second
)

// probeRegistry asks the registry once.
func (s *Site) probeRegistry(ctx context.Context) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, registryWhole)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.registryURL(), http.NoBody)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: registryDial}).DialContext, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func (s *Site) registryReady(ctx context.Context, _ plan.Fact) plan.Presence {
	status, err := s.probeRegistry(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return plan.Failed(ctx.Err().Error())
	case err != nil:
		return plan.Absent("it does not answer: " + err.Error())
	case status >= http.StatusBadRequest:
		return plan.Absent(fmt.Sprintf("it answers %d", status))
	}
	return plan.Present()
}

// registryHold says what the registry answers. Only some answers change with time.
func (s *Site) registryHold(ctx context.Context, _ plan.Step) (string, error) {
	status, err := s.probeRegistry(ctx)
	if err != nil {
		return "it does not answer: " + err.Error(), nil //nolint:nilerr // waiting on may help
	}
	if status < http.StatusBadRequest {
		return "", nil
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Sprintf("it answers %d", status), nil
	}
	return "", fmt.Errorf("local registry at %s returned %d; not retrying", s.registryURL(), status)
}

// askRegistry refuses to go on without a registry: the management cluster pulls from it.
func (s *Site) askRegistry(ctx context.Context, _ plan.Step, _ run.Voice) error {
	name, port := s.Settings.RegistryEndpoint()
	status, err := s.probeRegistry(ctx)
	if err == nil && status >= http.StatusBadRequest {
		err = fmt.Errorf("it answers %d", status)
	}
	if err != nil {
		return fmt.Errorf("local registry is unavailable at %s:%d: %w", name, port, err)
	}
	return nil
}

const (
	registryNamespace = "kube-system"
	registryConfigMap = "local-registry-config"
	registryKey       = "registry-url"
)

// registryInside is the address of the registry in the network of kind.
func (s *Site) registryInside() string { return s.Settings.RegistryName + ":5000" }

func (s *Site) registryConfig(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.source(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	data, err := c.ConfigMapData(ctx, registryNamespace, registryConfigMap)
	switch {
	case kube.Gone(err):
		return plan.Absent("there is no ConfigMap " + registryNamespace + "/" + registryConfigMap)
	case err != nil:
		return plan.Failed(err.Error())
	case data[registryKey] != s.registryInside():
		return plan.Absent("it names " + data[registryKey])
	}
	return plan.Present()
}

func (s *Site) announceRegistry(ctx context.Context, _ plan.Step, _ run.Voice) error {
	c, err := s.source(ctx)
	if err != nil {
		return err
	}
	err = c.Apply(ctx, kube.NewConfigMap(registryNamespace, registryConfigMap, map[string]string{registryKey: s.registryInside()}))
	if err != nil {
		return errors.Join(errors.New("announce the local registry"), err)
	}
	return nil
}
