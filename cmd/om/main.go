// Command om is the agent and its command line: it acts on the services of this
// node, and asks the daemon for those of the cluster.
package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
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
	return command.New("om", "Run and watch services on this node and its cluster", backend, local.Exec()).Root(p)
}

func serve(ctx context.Context, d local.Daemon) error {
	return daemon.Run(ctx, daemon.Options{Host: d.Host, Version: d.Version, Log: d.Log, Args: d.Args, Environ: d.Environ})
}
