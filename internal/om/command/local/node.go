package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// At implements node.Placer.
func (b *Backend) At(node string) verb.Backend {
	if b.isHere(node) {
		return b
	}
	return b.Backend.At(node)
}

// ExpandNodes implements node.Placer: without a daemon too.
func (b *Backend) ExpandNodes(ctx context.Context, selector string) ([]string, error) {
	if b.isHere(selector) {
		return []string{b.host.Hostname}, nil
	}
	items, err := b.Nodes(ctx, selector)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("--node %s: no such node", selector)
	}
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Meta.Node
	}
	return names, nil
}

func (b *Backend) isHere(node string) bool { return node == b.host.Hostname || node == api.Localhost }

// FreezeNode implements node.Freezer: of this node the flag is a file, watched by
// the daemon.
func (b *Backend) FreezeNode(ctx context.Context, node string, frozen bool) error {
	if node != "" && !b.isHere(node) {
		return b.Backend.FreezeNode(ctx, node, frozen)
	}
	flag := filepath.Join(b.host.Paths.Var(), "node", "frozen")
	if !frozen {
		if err := os.Remove(flag); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("unfreeze the node: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(flag), 0o700); err != nil {
		return fmt.Errorf("freeze the node: %w", err)
	}
	f, err := os.OpenFile(flag, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("freeze the node: %w", err)
	}
	return f.Close()
}

// FreezeCluster implements cluster.Freezer. A cluster of one node needs no daemon.
func (b *Backend) FreezeCluster(ctx context.Context, frozen bool) (string, error) {
	id, err := b.Backend.FreezeCluster(ctx, frozen)
	if client.IsDown(err) && len(b.store().Nodes()) <= 1 {
		return "", b.FreezeNode(ctx, "", frozen)
	}
	return id, err
}

// Nodes implements node.Lister: from the configuration when no daemon answers.
func (b *Backend) Nodes(ctx context.Context, selector string) ([]api.NodeItem, error) {
	items, err := b.Backend.Nodes(ctx, selector)
	if !client.IsDown(err) {
		return items, err
	}
	names := b.store().Nodes()
	if selector != "" {
		parsed, err := object.ParseNodeSelector(selector)
		if err != nil {
			return nil, err
		}
		if names, err = parsed.Select(names, b.store().NodeLabels()); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		items = append(items, api.NodeItem{Kind: "NodeItem", Meta: api.NodeMeta{Node: name}})
	}
	return items, nil
}
