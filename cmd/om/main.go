// Command om is the agent and its command line: it acts on the services of this
// node, and asks the daemon for those of the cluster.
package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/command"
	"github.com/holdfast-ops/holdfast/internal/om/command/local"
	"github.com/holdfast-ops/holdfast/internal/om/daemon"
	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
)

// version is set by the linker.
var version = "dev"

func main() { app.Main("om", root) }

func root(p app.Process) *cobra.Command {
	p.Version = version
	backend := local.New(local.Options{Process: p, Registry: all.Registry, Serve: serve})
	return command.New("om", "run and watch services on this node and its cluster", backend, local.Exec()).Root(p)
}

func serve(ctx context.Context, h host.Host, version string, log *slog.Logger) error {
	return daemon.Run(ctx, daemon.Options{Host: h, Version: version, Log: log})
}
