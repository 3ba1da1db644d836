package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

const completionName = "completion"

// completion prints the script that teaches a shell the words of this program.
func (b *builder) completion() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	cmd := &cobra.Command{
		Use:   completionName + " " + strings.Join(shells, "|"),
		Short: "Print the completion script of a shell",
		Long: "Print the script that teaches a shell to complete the commands, objects, keywords and resources of " + b.tree.Name +
			".\n\nFor bash: source <(" + b.tree.Name + " completion bash)",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return app.Usage("say which shell: %s completion %s", b.tree.Name, strings.Join(shells, "|"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			out := b.process.Streams.Out
			switch args[0] {
			case "bash":
				return b.root.GenBashCompletionV2(out, true)
			case "zsh":
				return b.root.GenZshCompletion(out)
			case "fish":
				return b.root.GenFishCompletion(out, true)
			default:
				return b.root.GenPowerShellCompletionWithDesc(out)
			}
		},
	}
	b.explain(cmd)
	return cmd
}

// complete gives a command the values of its flags and arguments. A flag means
// the same in every verb, so its name says what completes it.
func (b *builder) complete(cmd *cobra.Command, l leaf) {
	c, ok := b.tree.Backend.(verb.Completer)
	values := func(what string) cobra.CompletionFunc {
		return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if what == verb.CompleteFiles {
				return c.Complete(cmd.Context(), verb.CompleteObjects, "", prefix), cobra.ShellCompDirectiveDefault
			}
			return c.Complete(cmd.Context(), what, selectorOf(cmd), prefix), cobra.ShellCompDirectiveNoFileComp | noSpace(what)
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		what := verb.Completes(f.Name)
		if !ok || what == "" {
			return
		}
		// The error only says that the flag has a function already.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, values(what))
	})
	switch {
	case len(l.verb.Args.Values) > 0:
		cmd.ValidArgs = l.verb.Args.Values
	case l.verb.Args.Max == 0:
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// completeGlobals gives the global flags their values.
func (b *builder) completeGlobals() {
	for name, values := range map[string][]string{"color": {"auto", "yes", "no"}, "output": output.Formats()} {
		// The error only says that the flag has a function already.
		_ = b.root.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			fit := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, prefix) })
			if len(fit) == 1 && strings.HasSuffix(fit[0], "=") {
				return fit, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return fit, cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// noSpace tells whether a completed value is continued: a keyword by its value.
func noSpace(what string) cobra.ShellCompDirective {
	if what == verb.CompleteAssignments {
		return cobra.ShellCompDirectiveNoSpace
	}
	return 0
}

// completeFirst offers, beside the commands, the objects a command line may start with.
func (b *builder) completeFirst() cobra.CompletionFunc {
	c, ok := b.tree.Backend.(verb.Completer)
	if !ok {
		return nil
	}
	return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return c.Complete(cmd.Context(), verb.CompleteObjects, "", prefix), cobra.ShellCompDirectiveNoFileComp
	}
}
