package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/replicate"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// fetcher gets configurations from the API of the peers, in the name of the node.
type fetcher struct {
	peers     peers
	node      string
	tokens    *auth.Tokens
	authority []byte // PEM

	mu      sync.Mutex
	clients map[string]*client.Client // by address
}

var _ replicate.Fetcher = (*fetcher)(nil)

// Fetch implements [replicate.Fetcher].
func (f *fetcher) Fetch(ctx context.Context, node string, p object.Path) (replicate.File, error) {
	c, err := f.client(node)
	if err != nil {
		return replicate.File{}, err
	}
	var file api.ConfigFile
	if p == object.Cluster() {
		file, err = client.Do(ctx, c, api.GetClusterConfigFile, api.None{})
	} else {
		file, err = client.Do(ctx, c, api.GetObjectConfigFile, api.ObjectName{Namespace: p.Namespace, Kind: string(p.Kind), Name: p.Name})
	}
	if err != nil {
		return replicate.File{}, err
	}
	at, err := file.ModTime()
	if err != nil {
		return replicate.File{}, fmt.Errorf("the time of the configuration of %s: %w", p, err)
	}
	return replicate.File{Data: file.RawBody, ModTime: at}, nil
}

// client is that of a peer, whose connections are kept.
func (f *fetcher) client(node string) (*client.Client, error) {
	address, err := f.peers.Address(node)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.clients[address]; c != nil {
		return c, nil
	}
	c, err := client.New(client.Options{Server: address, CA: f.authority, Credential: f})
	if err != nil {
		return nil, err
	}
	if f.clients == nil {
		f.clients = map[string]*client.Client{}
	}
	f.clients[address] = c
	return c, nil
}

// Token implements [client.Credential]: nodes of a cluster sign with one key.
func (f *fetcher) Token(context.Context, secret.String) (secret.String, error) {
	return f.tokens.IssueProxy(auth.Principal{
		Name: f.node, Namespace: object.SystemNamespace, Method: auth.MethodNode, Grants: rbac.Grants{{Role: rbac.Root}},
	}, time.Now())
}

// retire has the monitor delete the local instance of what was deleted elsewhere.
func retire(m *monitor.Monitor) func(context.Context, object.Path, bool) error {
	return func(ctx context.Context, p object.Path, purge bool) error {
		goal := orchestrate.Deleted
		if purge {
			goal = orchestrate.Purged
		}
		_, err := m.Orchestrate(ctx, p, monitor.Goal{Expect: goal})
		return err
	}
}
