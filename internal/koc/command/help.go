package command

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// usageLine is the command with its arguments.
func usageLine(path string, cmd *Command) string {
	parts := []string{path}
	if len(cmd.Flags) > 0 || cmd.Output != None {
		parts = append(parts, "[flags]")
	}
	for i := range cmd.Flags {
		if f := &cmd.Flags[i]; f.Required {
			parts = append(parts, f.Dashed()+" "+f.Value)
		}
	}
	for i := range cmd.Args {
		parts = append(parts, argUsage(&cmd.Args[i]))
	}
	return strings.Join(parts, " ")
}

func argUsage(a *Arg) string {
	text := a.Name
	if a.Many {
		text += " [" + a.Name + " ...]"
	}
	if a.Optional {
		text = "[" + text + "]"
	}
	return text
}

// page is a page of help that is being written.
type page struct {
	w     io.Writer
	width int
}

func (r *invocation) page() *page {
	width := 100
	if r.out.Width > 0 {
		width = min(width, max(40, r.out.Width))
	}
	return &page{w: r.out.Out, width: width}
}

func (p *page) line(format string, a ...any) {
	_, _ = fmt.Fprintf(p.w, format+"\n", a...)
}

// row is a name and what is said of it.
type row struct{ left, right string }

// rows prints names with what is said of them, under a title.
func (p *page) rows(title string, rows []row) {
	if len(rows) == 0 {
		return
	}
	const limit = 34
	left := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r.left); n <= limit {
			left = max(left, n)
		}
	}
	p.line("\n%s:", title)
	for _, r := range rows {
		lines := wrap(r.right, p.width-left-4)
		if n := utf8.RuneCountInString(r.left); n > left {
			p.line("  %s", r.left)
		} else {
			first := ""
			if len(lines) > 0 {
				first, lines = lines[0], lines[1:]
			}
			p.line("%s", strings.TrimRight("  "+r.left+strings.Repeat(" ", left-n)+"  "+first, " "))
		}
		for _, l := range lines {
			p.line("%s%s", strings.Repeat(" ", left+4), l)
		}
	}
}

// wrap breaks text at blanks.
func wrap(text string, width int) []string {
	width = max(width, 20)
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func (p *page) paragraphs(text string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		p.line("")
		if strings.HasPrefix(paragraph, " ") {
			p.line("%s", paragraph)
			continue
		}
		for _, l := range wrap(paragraph, p.width) {
			p.line("%s", l)
		}
	}
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, ")") {
		return text
	}
	return text + "."
}

// aboutFlag is what the help says of a flag.
func aboutFlag(f *Flag) string {
	parts := []string{sentence(f.Help)}
	if len(f.Choices) > 0 {
		parts = append(parts, "One of "+strings.Join(f.Choices, ", ")+".")
	}
	if len(f.Keys) > 0 {
		var keys []string
		for _, k := range f.Keys {
			name, needed := strings.CutPrefix(k, "!")
			if needed {
				name += " (needed)"
			}
			keys = append(keys, name)
		}
		parts = append(parts, "Keys: "+strings.Join(keys, ", ")+".")
	}
	if f.Default != "" && f.takesValue() {
		parts = append(parts, "Default "+f.Default+".")
	}
	if f.Required {
		parts = append(parts, "Required.")
	}
	if f.keepsAll() && f.takesValue() {
		parts = append(parts, "Repeatable.")
	}
	if f.Koc {
		parts = append(parts, "[koc]")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// nameFlag is how the help writes a flag.
func nameFlag(f *Flag) string {
	name := f.Dashed()
	switch {
	case f.Short != "":
		name = "-" + f.Short + ", " + name
	case len(f.Name) > 1:
		name = "    " + name
	}
	switch {
	case f.takesValue() && f.Optional != "":
		return name + "[=" + f.Value + "]"
	case f.takesValue():
		return name + " " + f.Value
	}
	return name
}

func flagRows(flags []Flag) []row {
	var rows []row
	for i := range flags {
		if !flags[i].Hidden {
			rows = append(rows, row{nameFlag(&flags[i]), aboutFlag(&flags[i])})
		}
	}
	return rows
}

// help prints the help of a group or of the whole program.
func (r *invocation) help(path string) error {
	p := r.page()
	switch {
	case path != "" && r.voice == render.OpenStack:
		p.line("Command %q matches:", path)
		for _, name := range r.entries().names(path) {
			p.line("  %s", name)
		}
		return nil
	case path != "":
		r.helpGroup(p, path)
		return nil
	}
	p.line("%s", sentence(r.Short))
	p.line("\nUsage: %s <command> [flags] [arguments]", r.Name)
	for _, s := range r.All() {
		p.line("\n%s", s.Title)
		words := tree(s.Entries()).nouns()
		for _, l := range wrap(strings.Join(words, ", "), p.width-2) {
			p.line("  %s", l)
		}
	}
	p.rows("Global flags", flagRows(Globals()))
	p.line("\nWords and flags may be shortened while they stay unambiguous. Flags marked [koc] are not known to")
	p.line("the openstack client.")
	p.line("\nRun '%s help <command>' for more, '%s command list' for all commands.", r.Name, r.Name)
	return nil
}

// nouns are the first words of the commands without their verbs: what people look
// for in a list of what there is.
func (t tree) nouns() []string {
	var nouns []string
	for i := range t {
		noun, _, _ := strings.Cut(t[i].Name, " ")
		if two := strings.Fields(t[i].Name); len(two) > 2 && len(t.verbs(noun)) == 0 {
			noun = two[0] + " " + two[1]
		}
		if !slices.Contains(nouns, noun) {
			nouns = append(nouns, noun)
		}
	}
	slices.Sort(nouns)
	return nouns
}

// verbs are the commands of two words of a noun.
func (t tree) verbs(noun string) []string {
	var verbs []string
	for e := range t.below(noun) {
		if rest := e.Name[len(noun)+1:]; !strings.Contains(rest, " ") {
			verbs = append(verbs, rest)
		}
	}
	return verbs
}

func (r *invocation) helpGroup(p *page, path string) {
	p.line("Usage: %s %s <command> [flags] [arguments]", r.Name, path)
	var rows []row
	for e := range r.entries().below(path) {
		cmd := e.Build()
		rows = append(rows, row{e.Name[len(path)+1:], sentence(cmd.Short)})
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.left, b.left) })
	p.rows("Commands", rows)
	p.line("\nRun '%s %s <command> --help' for more about one of them.", r.Name, path)
}

// helpOn is "koc help words".
func (r *invocation) helpOn(s *scanner, words []string) error {
	t := s.find(words)
	switch {
	case t.entry != nil:
		cmd := t.entry.Build()
		return r.helpCommand(t.path, &cmd)
	case len(t.words) > len(strings.Fields(t.path)):
		return r.unknownCommand(t)
	}
	return r.help(t.path)
}

func (r *invocation) helpCommand(path string, cmd *Command) error {
	p := r.page()
	r.describe(p, path, cmd)
	p.rows("Output flags", flagRows(formatterOnly(cmd)))
	p.rows("Watch flags", flagRows(watchFlags(cmd)))
	p.line("\nRun \"%s --help\" to list the global auth, TLS, and output flags.", r.Name)
	return nil
}

// describe prints what is special to a command.
func (r *invocation) describe(p *page, path string, cmd *Command) {
	p.line("%s", sentence(cmd.Short))
	p.line("\nUsage: %s %s", r.Name, usageLine(path, cmd))
	if cmd.Long != "" {
		p.paragraphs(cmd.Long)
	}
	p.rows("Arguments", argRows(cmd.Args))
	p.rows("Flags", flagRows(cmd.Flags))
	var groups []row
	for _, g := range cmd.Exclusive {
		if text := groupText(cmd, g); text != "" {
			groups = append(groups, row{text, ""})
		}
	}
	p.rows("One at most", groups)
	if len(cmd.OptIn) > 0 {
		p.line("\nColumns shown when named in --column or --sort-column:")
		for _, l := range wrap(strings.Join(cmd.OptIn, ", "), p.width-2) {
			p.line("  %s", l)
		}
	}
}

func argRows(args []Arg) []row {
	var rows []row
	for i := range args {
		about := sentence(args[i].Help)
		if len(args[i].Choices) > 0 {
			about = strings.TrimSpace(about + " One of " + strings.Join(args[i].Choices, ", ") + ".")
		}
		rows = append(rows, row{args[i].Name, about})
	}
	return rows
}

// groupText is an exclusive group for the help, without its hidden flags.
func groupText(cmd *Command, group string) string {
	var shown []string
	for _, name := range groupNames(group) {
		hidden := slices.ContainsFunc(cmd.Flags, func(f Flag) bool { return f.Name == name && f.Hidden })
		isFlag := slices.ContainsFunc(cmd.Flags, func(f Flag) bool { return f.Name == name })
		switch {
		case hidden:
		case isFlag:
			shown = append(shown, dashed(name))
		default:
			shown = append(shown, name)
		}
	}
	if len(shown) < 2 {
		return ""
	}
	text := strings.Join(shown, ", ")
	if strings.HasPrefix(group, "!") {
		text += " (one is needed)"
	}
	return text
}

// Reference prints the help of a command for the reference pages: without the flags
// that all commands of its kind have.
func (p *Program) Reference(w io.Writer, name string, cmd *Command) {
	r := &invocation{Program: p}
	r.describe(&page{w: w, width: 100}, name, cmd)
}

// ReferenceFlags prints the flags that are not of one command: the global ones, and
// those of the output and the watch of listings and of single things.
func (p *Program) ReferenceFlags(w io.Writer) {
	out := &page{w: w, width: 100}
	out.rows("Global flags", flagRows(Globals()))
	out.rows("Output flags of a listing", flagRows(formatterOnly(&Command{Output: Listed})))
	out.rows("Output flags of one thing", flagRows(formatterOnly(&Command{Output: Shown})))
	out.rows("Watch flags", flagRows(watchFlags(&Command{Output: Listed})))
}
