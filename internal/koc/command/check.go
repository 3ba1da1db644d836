package command

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns what is wrong with the declaration of a command. Tests of services
// call it; a wrong declaration would only show when somebody types the flag.
func Check(cmd *Command) []string {
	c := &checker{cmd: cmd, names: map[string]string{}}
	if cmd.Short == "" {
		c.found("no Short")
	}
	if strings.HasSuffix(cmd.Short, ".") || strings.Contains(cmd.Short, "\n") {
		c.found("Short is to be one sentence without full stop")
	}
	if cmd.Run == nil {
		c.found("no Run")
	}
	formatter := formatterFlags(cmd)
	for _, set := range [][]Flag{cmd.Flags, formatter} {
		for i := range set {
			c.flag(&set[i])
		}
	}
	c.args()
	c.groups()
	if len(cmd.OptIn) > 0 && cmd.Output != Listed {
		c.found("OptIn is for listings")
	}
	return c.all
}

type checker struct {
	cmd   *Command
	names map[string]string // spelling, by flag
	all   []string
}

func (c *checker) found(format string, a ...any) {
	c.all = append(c.all, fmt.Sprintf(format, a...))
}

func (c *checker) flag(f *Flag) {
	for _, name := range append([]string{f.Name, f.Short}, f.Also...) {
		if name == "" {
			continue
		}
		if other, taken := c.names[name]; taken {
			c.found("flag %s: %s is also flag %s", f.Name, name, other)
		}
		c.names[name] = f.Name
		if strings.HasPrefix(name, "-") || strings.ContainsAny(name, " =") || strings.ToLower(name) != name && len(name) > 1 {
			c.found("flag %q: bad name %q", f.Name, name)
		}
	}
	if f.Name == "" {
		c.found("a flag without a name")
	}
	if len(f.Short) > 1 {
		c.found("flag %s: Short is one letter", f.Name)
	}
	if f.Help == "" && !f.Hidden {
		c.found("flag %s: no Help", f.Name)
	}
	if !f.takesValue() {
		if f.Type != Text || len(f.Choices) > 0 || f.Optional != "" || f.Complete != "" || len(f.Keys) > 0 {
			c.found("flag %s: it has no Value, so it can have no type, choices, completion or keys", f.Name)
		}
		if f.Default != "" && f.Default != "true" && f.Default != "false" {
			c.found("flag %s: it has no Value, so its default is true or false", f.Name)
		}
		return
	}
	if len(f.Keys) > 0 && f.Type != Records {
		c.found("flag %s: Keys are for records", f.Name)
	}
	if f.Required && f.Default != "" {
		c.found("flag %s: required flags need no default", f.Name)
	}
	for _, text := range []string{f.Default, f.Optional} {
		if text == "" {
			continue
		}
		if _, err := checkFlag(f, f.Dashed(), text); err != nil {
			c.found("flag %s: %q: %v", f.Name, text, err)
		}
	}
}

func (c *checker) args() {
	seen := map[string]bool{}
	many, optional := false, false
	for _, a := range c.cmd.Args {
		if seen[a.Name] {
			c.found("argument %s is there twice", a.Name)
		}
		seen[a.Name] = true
		if !strings.Contains(a.Name, "<") || !strings.HasSuffix(a.Name, ">") {
			c.found("argument %s: write it <name>", a.Name)
		}
		if a.Help == "" {
			c.found("argument %s: no Help", a.Name)
		}
		if many && a.Many {
			c.found("argument %s: a second one that takes many", a.Name)
		}
		if optional && !a.Optional {
			c.found("argument %s: needed after an optional one", a.Name)
		}
		many = many || a.Many
		optional = optional || a.Optional
	}
}

func (c *checker) groups() {
	for _, g := range c.cmd.Exclusive {
		members := groupNames(g)
		if len(members) < 2 {
			c.found("exclusive group %q has fewer than two flags", g)
		}
		for _, name := range members {
			flag := slices.ContainsFunc(c.cmd.Flags, func(f Flag) bool { return f.Name == name })
			arg := slices.ContainsFunc(c.cmd.Args, func(a Arg) bool { return a.Name == name })
			if !flag && !arg {
				c.found("exclusive group %q: no flag %s", g, name)
			}
		}
	}
}
