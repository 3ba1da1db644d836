// Package om_test runs the scripts of this folder: each is a story told with om
// and ox, under a root of its own.
//
// The test binary is om and ox: it executes itself under those names, so that
// coverage and the race detector see the commands, the daemon and its actions.
package om_test

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command"
	"github.com/holdfast-ops/holdfast/internal/om/command/local"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/om/daemon"
	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
	"github.com/holdfast-ops/holdfast/internal/om/tui"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"om":  func() { app.Main("om", om) },
		"ox":  func() { app.Main("ox", ox) },
		"web": func() { os.Exit(web(os.Args[1:])) },
		"get": func() { os.Exit(get(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

func om(p app.Process) *cobra.Command {
	p.Version = "test"
	backend := local.New(local.Options{Process: p, Registry: all.Registry, Serve: serve})
	return command.New("om", "Run and watch services on this node and its cluster", backend, local.Exec()).Root(p)
}

func ox(p app.Process) *cobra.Command {
	p.Version = "test"
	tree := command.New("ox", "Manage a cluster from elsewhere", remote.New(p), tui.Verb)
	tree.Alone = tui.Name
	return tree.Root(p)
}

func serve(ctx context.Context, d local.Daemon) error {
	return daemon.Run(ctx, daemon.Options{Host: d.Host, Version: d.Version, Log: d.Log, Args: d.Args, Environ: d.Environ})
}

func TestScripts(t *testing.T) {
	t.Parallel()

	testscript.Run(t, testscript.Params{
		Dir:                 ".",
		Setup:               setup,
		Cmds:                commands(),
		Condition:           condition,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}
