package app

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupMark tells the help that a command only holds others.
const groupMark = "holdfast/group"

// Prepare settles what all our programs do alike: a command that only holds
// others is a [Group], an unknown flag is a usage error naming the nearest one,
// errors are left to [Main], and help is ours. Main calls it; a documentation
// generator that walks a tree calls it too.
func Prepare(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(printUsage)
	if root.HasSubCommands() {
		root.SetHelpCommand(helpCommand())
	}
	prepare(root)
}

func prepare(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		Group(cmd)
	}
	for _, sub := range cmd.Commands() {
		prepare(sub)
	}
}

// Group makes a command that only holds others print its help when it is called
// alone, and refuse an unknown sub-command, naming the nearest one. It returns cmd.
func Group(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[groupMark] = "true"
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
	return cmd
}

// NoCommands is the argument check of a program that has no command at all.
func NoCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

func isGroup(cmd *cobra.Command) bool { return cmd.Annotations[groupMark] != "" }

func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	return Usage("unknown command %q of %s%s; %s --help lists them",
		word, cmd.CommandPath(), suggest(word, names, ""), cmd.CommandPath())
}

func flagError(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return Usage("%v; see %s --help", err, cmd.CommandPath())
	}
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return Usage("unknown flag -%s of %s; %s --help lists them", name, cmd.CommandPath(), cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return Usage("unknown flag --%s of %s%s; %s --help lists them",
		name, cmd.CommandPath(), suggest(name, names, "--"), cmd.CommandPath())
}

// suggest returns ", did you mean X?" when names has one near enough.
func suggest(word string, names []string, prefix string) string {
	if near, ok := Nearest(word, names); ok {
		return ", did you mean " + prefix + near + "?"
	}
	return ""
}

// Nearest returns the name a mistyped word most likely stands for.
func Nearest(word string, names []string) (string, bool) {
	type candidate struct {
		name            string
		distance, whole int
	}
	word = strings.ToLower(word)
	limit := max(1, (len(word)+1)/3)
	var near []candidate
	for _, name := range names {
		whole := distance(word, strings.ToLower(name))
		d := whole
		if len(word) >= 2 && strings.HasPrefix(name, word) {
			d = min(d, 1)
		}
		if d <= limit {
			near = append(near, candidate{name, d, whole})
		}
	}
	if len(near) == 0 {
		return "", false
	}
	best := slices.MinFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.whole, b.whole), cmp.Compare(a.name, b.name))
	})
	return best.name, true
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two words.
func distance(a, b string) int {
	ar, br := []rune(a), []rune(b)
	rows := make([][]int, len(ar)+1)
	for i := range rows {
		rows[i] = make([]int, len(br)+1)
		rows[i][0] = i
	}
	for j := range br {
		rows[0][j+1] = j + 1
	}
	for i := range ar {
		for j := range br {
			cost := 1
			if ar[i] == br[j] {
				cost = 0
			}
			d := min(rows[i][j+1]+1, rows[i+1][j]+1, rows[i][j]+cost)
			if i > 0 && j > 0 && ar[i] == br[j-1] && ar[i-1] == br[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(ar)][len(br)]
}
