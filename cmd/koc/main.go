// Command koc is the OpenStack command line of Holdfast. It has no command yet
// beyond its version and help: they come with issues of their own.
package main

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
)

// version is set by the linker.
var version = "devel"

func main() { app.Main("koc", newRoot) }

func newRoot(p app.Process) *cobra.Command {
	root := &cobra.Command{
		Use:     "koc",
		Short:   "OpenStack from the command line",
		Long:    "koc drives OpenStack clouds from the command line.\n\nThis build has none of its commands yet: only its version and this help.",
		Version: version,
		Args:    app.NoCommands,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetArgs(p.Args)
	return root
}
