// Command ox manages a cluster from elsewhere, through its API only.
package main

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/om/tui"
)

// version is set by the linker.
var version = "dev"

func main() { app.Main("ox", root) }

func root(p app.Process) *cobra.Command {
	p.Version = version
	tree := command.New("ox", "Manage a cluster from elsewhere", remote.New(p), tui.Verb)
	tree.Alone = tui.Name
	return tree.Root(p)
}
