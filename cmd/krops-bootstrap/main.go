// Command krops-bootstrap brings up Kubernetes management clusters. It has no
// command yet beyond its version and help: they come with issues of their own.
package main

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
)

// version is set by the linker.
var version = "devel"

func main() { app.Main("krops-bootstrap", newRoot) }

func newRoot(p app.Process) *cobra.Command {
	root := &cobra.Command{
		Use:     "krops-bootstrap",
		Short:   "Bootstrap Kubernetes management clusters",
		Long:    "krops-bootstrap brings up Cluster API management clusters from one file.\n\nThis build has none of its commands yet: only its version and this help.",
		Version: version,
		Args:    app.NoCommands,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetArgs(p.Args)
	return root
}
