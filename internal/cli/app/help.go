package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
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
	if flags := strings.TrimRight(cmd.LocalFlags().FlagUsages(), "\n"); flags != "" {
		put(w, "\nFlags:\n%s\n", flags)
	}
	if flags := strings.TrimRight(cmd.InheritedFlags().FlagUsages(), "\n"); flags != "" {
		put(w, "\nGlobal flags:\n%s\n", flags)
	}
	if cmd.HasAvailableSubCommands() {
		put(w, "\n%s <command> --help tells more about a command.\n", cmd.CommandPath())
	}
}

// writeCommands lists the sub-commands by group.
func writeCommands(w io.Writer, cmd *cobra.Command) {
	for _, group := range append(cmd.Groups(), &cobra.Group{Title: "Commands:"}) {
		title := "\n" + group.Title + "\n"
		for _, sub := range cmd.Commands() {
			if sub.GroupID != group.ID || !sub.IsAvailableCommand() {
				continue
			}
			put(w, "%s  %s\n", title, strings.TrimRight(pad(sub.Name(), sub.NamePadding())+"  "+sub.Short, " "))
			title = ""
		}
	}
}

func pad(s string, width int) string { return fmt.Sprintf("%-*s", width, s) }

// put writes help; a closed terminal is nobody's error.
func put(w io.Writer, format string, a ...any) { _, _ = fmt.Fprintf(w, format, a...) }
