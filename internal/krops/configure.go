package krops

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

func configCommand(p program.Process) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check the configuration"}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "lint [FILE]",
			Short: "Check bootstrap.toml against its repository",
			Long: "Check bootstrap.toml and all that it says of its repository: files and directories that it names, chart\n" +
				"versions, the task that runs after kind, names of AWS resources. Each problem is one line with its place.\n" +
				"FILE is bootstrap.toml, or what BOOTSTRAP_CONFIG names.",
			Example: "  krops-bootstrap config lint\n  krops-bootstrap config lint examples/site-local/bootstrap.toml",
			Args:    atMostOne("file"),
			RunE:    func(_ *cobra.Command, args []string) error { return lint(p, args) },
		},
		&cobra.Command{
			Use:     "schema",
			Short:   "Print the JSON Schema of bootstrap.toml",
			Example: "  krops-bootstrap config schema > bootstrap.schema.json",
			Args:    app.NoCommands,
			RunE: func(*cobra.Command, []string) error {
				_, err := p.Streams.Out.Write(config.Schema())
				return err
			},
		},
	)
	return cmd
}

func lint(p program.Process, args []string) error {
	path := config.Path(lookup(p))
	if len(args) > 0 {
		path = args[0]
	}
	f, err := load(path)
	if err != nil {
		return err
	}
	tree, err := repository(path)
	if err != nil {
		return err
	}
	if found := f.Lint(os.DirFS(tree)); len(found) > 0 {
		return fmt.Errorf("bootstrap config '%s' does not fit its repository: %w", path, &config.FileError{Name: path, List: found})
	}
	environments := "1 environment"
	if n := len(f.Environments); n > 1 {
		environments = fmt.Sprintf("%d environments", n)
	}
	_, err = fmt.Fprintf(p.Streams.Out, "✓   %s: nothing wrong in %s\n", path, environments)
	return err
}
