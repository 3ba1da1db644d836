package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpCommand is the command "help", which unlike cobra's fails on a command
// that does not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show what a command does and how to call it",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return Usage("%v", err)
			}
			if len(rest) > 0 && found.HasSubCommands() {
				return unknownCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

func printHelp(cmd *cobra.Command, _ []string) {
	writeHelp(cmd.OutOrStdout(), cmd)
}

func printUsage(cmd *cobra.Command) error {
	writeUsage(cmd.OutOrStderr(), cmd)
	return nil
}

// writeHelp prints what a command is for and how to call it.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	if about != "" {
		put(w, "%s\n\n", strings.TrimSpace(about))
	}
	writeUsage(w, cmd)
}

func writeUsage(w io.Writer, cmd *cobra.Command) {
	put(w, "Usage:\n")
	if cmd.Runnable() && !isGroup(cmd) {
		put(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		put(w, "  %s <command> [flags]\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		put(w, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		put(w, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	writeCommands(w, cmd)
	writeFlags(w, "Flags:", cmd.LocalFlags())
	writeFlags(w, "Global flags:", cmd.InheritedFlags())
	if cmd.HasAvailableSubCommands() {
		put(w, "\n%s <command> --help tells more about a command.\n", cmd.CommandPath())
	}
}

// writeCommands lists the sub-commands by group.
func writeCommands(w io.Writer, cmd *cobra.Command) {
	width := 0
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			width = max(width, len(sub.Name()))
		}
	}
	for _, group := range append(cmd.Groups(), &cobra.Group{Title: "Commands:"}) {
		title := "\n" + group.Title + "\n"
		for _, sub := range cmd.Commands() {
			if sub.GroupID != group.ID || !sub.IsAvailableCommand() {
				continue
			}
			put(w, "%s  %s\n", title, strings.TrimRight(pad(sub.Name(), width)+"   "+sub.Short, " "))
			title = ""
		}
	}
}

// WriteFlags lists the flags of a command that writes its own help.
func WriteFlags(w io.Writer, title string, flags *pflag.FlagSet) { writeFlags(w, title, flags) }

// writeFlags lists flags with what they take, what they do and their default.
func writeFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	var names, uses []string
	width := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		takes, use := pflag.UnquoteUsage(f)
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		if takes != "" {
			name += " " + takes
		}
		if f.DefValue != "" && !slices.Contains([]string{"false", "0", "0s", "[]"}, f.DefValue) {
			use += " (default " + f.DefValue + ")"
		}
		names, uses = append(names, name), append(uses, use)
		width = max(width, len(name))
	})
	for i, name := range names {
		if i == 0 {
			put(w, "\n%s\n", title)
		}
		put(w, "  %s\n", strings.TrimRight(pad(name, width)+"   "+uses[i], " "))
	}
}

func pad(s string, width int) string { return fmt.Sprintf("%-*s", width, s) }

// put writes help; a closed terminal is nobody's error.
func put(w io.Writer, format string, a ...any) { _, _ = fmt.Fprintf(w, format, a...) }
