package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
)

// unknownWord refuses a word which is no command of cmd.
func unknownWord(cmd *cobra.Command, word string) error {
	if near, ok := app.Nearest(word, names(cmd)); ok {
		return app.Usage("%s has no command %q: did you mean %q?", sayPath(cmd), word, near)
	}
	return app.Usage("%s has no command %q: %s --help lists them", sayPath(cmd), word, sayPath(cmd))
}

// noVerb refuses a command line made of a selector only. The word may well be
// a command misspelt.
func noVerb(root *cobra.Command, selector string) error {
	if near, ok := app.Nearest(selector, names(root)); ok {
		return app.Usage("say what to do with %[1]q, as in: %[2]s %[1]s instance status. Or did you mean: %[2]s %[3]s?", selector, root.Name(), near)
	}
	return app.Usage("say what to do with %[1]q, as in: %[2]s %[1]s instance status (%[2]s --help lists the verbs)", selector, root.Name())
}

// flagError refuses a flag and names the nearest one. The flags after a word
// that is no command are those of a command unknown: the word is what is wrong.
func (b *builder) flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		_, rest, findErr := b.root.Find(b.args)
		known := b.tree.words(b.root.PersistentFlags())
		if i := known.firstWord(rest); findErr == nil && i < len(rest) && rest[i] != "--" {
			return unknownWord(cmd, rest[i])
		}
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return app.Usage("%s: %s", sayPath(cmd), err)
	}
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, f.Name)
		}
	})
	if near, ok := app.Nearest(name, flags); ok {
		return app.Usage("%s has no flag --%s: did you mean --%s?", sayPath(cmd), name, near)
	}
	return app.Usage("%s has no flag --%s: %s --help lists them", sayPath(cmd), name, sayPath(cmd))
}

// sayPath is how a command is typed: the selector before the verb.
func sayPath(cmd *cobra.Command) string {
	words := strings.Fields(cmd.CommandPath())
	if selector := selectorOf(cmd); selector != "" && len(words) > 1 {
		words[1] = selector
	}
	return strings.Join(words, " ")
}

// names lists what may follow cmd, the spellings that help does not show included.
func names(cmd *cobra.Command) []string {
	var out []string
	for _, c := range cmd.Commands() {
		out = append(out, c.Name())
	}
	return out
}
