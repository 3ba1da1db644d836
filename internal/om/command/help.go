package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
)

// headingKey annotates a command with the heading it is listed under.
const headingKey = "heading"

// help explains a command: what it does, how it is typed, what is under it, its flags.
func (b *builder) help(cmd *cobra.Command, _ []string) {
	var w strings.Builder
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(&w, "%s\n\nUsage:\n  %s\n", paragraphs(text, 78), b.usage(cmd))
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&w, "\nAliases: %s\n", strings.Join(cmd.Aliases, ", "))
	}
	if cmd.Example != "" {
		fmt.Fprintf(&w, "\nExamples:\n%s\n", indent(strings.TrimSpace(cmd.Example)))
	}
	b.listCommands(&w, cmd)
	app.WriteFlags(&w, "Flags:", cmd.LocalNonPersistentFlags())
	app.WriteFlags(&w, "Global flags:", b.root.PersistentFlags())
	if _, err := fmt.Fprint(cmd.OutOrStdout(), w.String()); err != nil {
		cmd.PrintErrln(err)
	}
}

// usage is how the command is typed, selector first.
func (b *builder) usage(cmd *cobra.Command) string {
	words := strings.Fields(cmd.CommandPath())
	if s, ok := b.subsystem(cmd); ok && s.Selects && len(words) > 1 {
		words[1] = "<selector>"
		if s.Kind != "" {
			words[1] = "<" + string(s.Kind) + " selector>"
		}
	}
	_, args, _ := strings.Cut(cmd.Use, " ")
	switch {
	case cmd.HasAvailableSubCommands():
		words = append(words, "<command>")
	case args != "":
		words = append(words, args)
	}
	if !cmd.HasAvailableSubCommands() {
		words = append(words, "[flags]")
	}
	return strings.Join(words, " ")
}

func (b *builder) subsystem(cmd *cobra.Command) (Subsystem, bool) {
	for cmd.HasParent() && cmd.Parent() != b.root {
		cmd = cmd.Parent()
	}
	i := slices.IndexFunc(b.tree.Subsystems, func(s Subsystem) bool { return s.Name == cmd.Name() })
	if i < 0 {
		return Subsystem{}, false
	}
	return b.tree.Subsystems[i], true
}

func (b *builder) listCommands(w *strings.Builder, cmd *cobra.Command) {
	sections := map[string][]string{}
	var headings []string
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		h := c.Annotations[headingKey]
		if sections[h] == nil {
			headings = append(headings, h)
		}
		sections[h] = append(sections[h], fmt.Sprintf("  %-14s %s\n", c.Name(), c.Short))
	}
	slices.Sort(headings)
	for _, h := range headings {
		title := "Commands"
		if h != "" {
			title = strings.ToUpper(h[:1]) + h[1:]
		}
		fmt.Fprintf(w, "\n%s:\n%s", title, strings.Join(sections[h], ""))
	}
}

// rootText explains the program and lists what follows a selector.
func (b *builder) rootText() string {
	i := slices.IndexFunc(b.tree.Subsystems, func(s Subsystem) bool { return s.Selects && s.Kind == "" })
	if i < 0 {
		return b.tree.Short + "."
	}
	var words []string
	for _, v := range b.tree.Subsystems[i].Verbs {
		if !v.Hidden && v.New(b.tree.Backend) != nil {
			words = append(words, v.Path)
		}
	}
	slices.Sort(words)
	return b.tree.Short + "." + fmt.Sprintf("\n\n%[1]s <selector> <verb> acts on objects: %[1]s hello start, %[1]s 'web*' ls. The verbs:\n%[2]s",
		b.tree.Name, indent(strings.Join(fold(commas(words), 76), "\n")))
}

// paragraphs folds each paragraph of a text at width.
func paragraphs(text string, width int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = strings.Join(fold(strings.Fields(l), width), "\n")
	}
	return strings.Join(lines, "\n")
}

// fold fills lines of at most width with words.
func fold(words []string, width int) []string {
	var lines []string
	line := ""
	for _, w := range words {
		switch {
		case line == "":
			line = w
		case len(line)+1+len(w) > width:
			lines, line = append(lines, line), w
		default:
			line += " " + w
		}
	}
	return append(lines, line)
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

func commas(words []string) []string {
	for i := range len(words) - 1 {
		words[i] += ","
	}
	return words
}
