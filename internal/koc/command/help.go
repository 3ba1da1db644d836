package command

import (
	"fmt"
	"strings"
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
		text += " ..."
	}
	if a.Optional {
		text = "[" + text + "]"
	}
	return text
}

func (r *invocation) help(path string) error {
	for e := range r.entries().below(path) {
		_, _ = fmt.Fprintf(r.out.Out, "  %s\n", e.Name)
	}
	return nil
}

func (r *invocation) helpOn(s *scanner, args []string) error {
	var words []string
	for i, a := range args {
		if i > 0 || a != "help" {
			words = append(words, a)
		}
	}
	t := s.find(words)
	if t.entry == nil {
		return r.help(t.path)
	}
	cmd := t.entry.Build()
	return r.helpCommand(t.path, &cmd)
}

func (r *invocation) helpCommand(path string, cmd *Command) error {
	_, err := fmt.Fprintf(r.out.Out, "%s\n\nUsage: %s %s\n", cmd.Short, r.Name, usageLine(path, cmd))
	return err
}
