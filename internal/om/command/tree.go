package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Subsystem is a first word of the command line: what its verbs act on.
type Subsystem struct {
	Name    string
	Short   string
	Kind    object.Kind // of the objects, "" when it is not one kind of objects
	Selects bool        // its verbs take a selector
	Verbs   []verb.Verb
}

// Tree is a whole command line.
type Tree struct {
	Name       string // "om"
	Short      string
	Subsystems []Subsystem
	Verbs      []verb.Verb       // found at the root
	Alone      string            // the command of a line that names none; "" is the help
	Topics     map[string]string // what the words between a subsystem and a verb gather
	Backend    verb.Backend
}

// Globals is implemented by a backend with flags of its own, given to every command.
type Globals interface{ GlobalFlags(f *pflag.FlagSet) }

// Checker is implemented by a backend that may be unfit to run anything.
type Checker interface{ Check() error }

// Explainer is implemented by a backend that knows what to do about some errors.
type Explainer interface{ Explain(err error) error }

// Root builds the command for the arguments of p: the path to the command they
// name, its siblings so that help and suggestions know them, and the flags of
// that command only.
func (t Tree) Root(p app.Process) *cobra.Command {
	b := t.builder(p)
	known := t.words(b.root.PersistentFlags())
	args := Rewrite(known, t.opened(known, helpLast(p.Args)))
	b.line = append([]string{t.Name}, p.Args...)
	b.addRoot(func(s Subsystem) bool { return slices.Contains(args, s.Name) })
	b.root.SetArgs(args)
	b.args = completed(args)
	b.completeGlobals()
	b.bindLeaf(b.args)
	return b.root
}

// Whole builds every command with its flags, for the reference pages.
func (t Tree) Whole(p app.Process) *cobra.Command {
	b := t.builder(p)
	b.addRoot(func(Subsystem) bool { return true })
	for cmd := range b.runners {
		b.bind(cmd)
	}
	return b.root
}

// helpLast turns "help x y" into "x y --help".
func helpLast(args []string) []string {
	if len(args) > 0 && args[0] == "help" {
		return append(slices.Clone(args[1:]), "--help")
	}
	return args
}

// completed returns the words of the command line being completed, or being run.
func completed(args []string) []string {
	for i, a := range args {
		if isCompletion(a) {
			return args[i+1 : max(i+1, len(args)-1)]
		}
	}
	return args
}

func (t Tree) words(global *pflag.FlagSet) Words {
	w := Words{Commands: []string{"help"}}
	for _, s := range t.Subsystems {
		w.Commands = append(w.Commands, s.Name)
		if s.Selects {
			w.Selecting = append(w.Selecting, s.Name)
		}
	}
	for _, v := range t.Verbs {
		for _, spelling := range append([]string{v.Path}, v.Also...) {
			first, _, _ := strings.Cut(spelling, " ")
			w.Commands = append(w.Commands, first)
		}
		w.Commands = append(w.Commands, v.Aliases...)
		if v.Selects {
			w.Selecting = append(append(w.Selecting, v.Path), v.Aliases...)
		}
	}
	w.Commands = append(w.Commands, completionName)
	global.VisitAll(func(f *pflag.Flag) {
		if f.NoOptDefVal == "" {
			w.ValueFlags = append(w.ValueFlags, "--"+f.Name)
			if f.Shorthand != "" {
				w.ValueFlags = append(w.ValueFlags, "-"+f.Shorthand)
			}
		}
	})
	return w
}

// builder makes the cobra commands of one run.
type builder struct {
	tree    Tree
	process app.Process
	root    *cobra.Command
	globals *globals
	line    []string
	args    []string // rewritten
	runners map[*cobra.Command]leaf
}

// leaf is what a command without children runs.
type leaf struct {
	verb      verb.Verb
	subsystem Subsystem
	runner    verb.Runner
}

func (t Tree) builder(p app.Process) *builder {
	b := &builder{tree: t, process: p, globals: &globals{}, runners: map[*cobra.Command]leaf{}}
	b.root = &cobra.Command{
		Use: t.Name, Short: t.Short, Version: p.Version,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	b.root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true})
	b.root.SetVersionTemplate("{{.Name}} version {{.Version}}\n")
	b.globals.bind(b.root.PersistentFlags())
	if g, ok := t.Backend.(Globals); ok {
		g.GlobalFlags(b.root.PersistentFlags())
	}
	return b
}

func (b *builder) addRoot(full func(Subsystem) bool) {
	b.root.Long = b.rootText()
	b.root.AddGroup(&cobra.Group{ID: objectsGroup, Title: "Objects, by kind:"}, &cobra.Group{ID: clusterGroup, Title: "Node and cluster:"})
	for _, s := range b.tree.Subsystems {
		cmd := &cobra.Command{Use: s.Name, Short: s.Short, GroupID: groupOf(s)}
		b.explain(cmd)
		b.group(cmd)
		if s.Selects {
			selectorFlags(cmd.PersistentFlags())
		}
		b.root.AddCommand(cmd)
		if full(s) {
			b.addVerbs(cmd, s, s.Verbs)
		}
	}
	b.addVerbs(b.root, Subsystem{}, b.tree.Verbs)
	b.root.AddCommand(b.completion())
	b.root.ValidArgsFunction = b.completeFirst()
}

// The groups the root lists its commands under.
const (
	objectsGroup = "objects"
	clusterGroup = "cluster"
)

func groupOf(s Subsystem) string {
	if s.Selects {
		return objectsGroup
	}
	return clusterGroup
}

func (b *builder) addVerbs(parent *cobra.Command, s Subsystem, verbs []verb.Verb) {
	for _, v := range verbs {
		runner := v.New(b.tree.Backend)
		if runner == nil {
			continue
		}
		if s.Kind != "" && !v.AppliesTo(s.Kind) {
			runner, v.Hidden, v.Args = unsupported{}, true, verb.Args{Max: -1}
		}
		b.addVerb(parent, v.Path, v.Hidden, v.Aliases, leaf{v, s, runner})
		for _, spelling := range v.Also {
			b.addVerb(parent, spelling, true, free(parent, spelling, v.Aliases), leaf{v, s, runner})
		}
	}
}

func (b *builder) addVerb(parent *cobra.Command, path string, hidden bool, aliases []string, l leaf) {
	words := strings.Fields(path)
	for i, w := range words[:len(words)-1] {
		parent = b.topic(parent, w, strings.Join(words[:i+1], " "), hidden)
	}
	use := words[len(words)-1]
	if l.verb.Args.Use != "" {
		use += " " + l.verb.Args.Use
	}
	cmd := &cobra.Command{
		Use: use, Aliases: aliases, Short: l.verb.Short, Long: l.verb.Long, Example: l.verb.Example, Hidden: hidden,
		Args:        positional(l.verb.Args),
		Annotations: map[string]string{headingKey: l.verb.Group},
		RunE:        func(cmd *cobra.Command, args []string) error { return b.run(cmd.Context(), cmd, l, args) },
	}
	_, refuses := l.runner.(unsupported)
	cmd.FParseErrWhitelist.UnknownFlags = refuses
	b.explain(cmd)
	if former := child(parent, words[len(words)-1]); former != nil {
		// A word both runs and gathers: "monitor" of "print status" style spellings.
		former.RunE, former.Args, former.Short, former.Hidden = cmd.RunE, cmd.Args, cmd.Short, cmd.Hidden
		b.runners[former] = l
		return
	}
	parent.AddCommand(cmd)
	b.runners[cmd] = l
}

// free leaves of the aliases of another spelling those that are nobody else's:
// "keys" is no reason for "ls" to mean the keys.
func free(parent *cobra.Command, spelling string, aliases []string) []string {
	if strings.Contains(spelling, " ") {
		return aliases
	}
	return slices.DeleteFunc(slices.Clone(aliases), func(alias string) bool {
		return slices.ContainsFunc(parent.Commands(), func(c *cobra.Command) bool { return c.Name() == alias || c.HasAlias(alias) })
	})
}

// topic returns the command gathering the verbs under a word, made when needed.
func (b *builder) topic(parent *cobra.Command, word, path string, hidden bool) *cobra.Command {
	if cmd := child(parent, word); cmd != nil {
		if !hidden && b.tree.Topics[path] != "" {
			cmd.Hidden = false
		}
		return cmd
	}
	cmd := &cobra.Command{Use: word, Short: b.tree.Topics[path], Hidden: hidden, Annotations: map[string]string{headingKey: ""}}
	b.explain(cmd)
	b.group(cmd)
	parent.AddCommand(cmd)
	return cmd
}

// explain gives a command below the root its help and its refusals of flags,
// which speak the selector-first syntax.
func (b *builder) explain(cmd *cobra.Command) {
	cmd.SetHelpFunc(b.help)
	cmd.SetFlagErrorFunc(b.flagError)
}

// group makes a command that gathers others: alone it explains itself, with a
// word it does not know it fails and names the nearest one.
func (b *builder) group(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownWord(cmd, args[0])
		}
		if selector := selectorOf(cmd); selector != "" {
			return noVerb(b.root, selector)
		}
		return cmd.Help()
	}
}

// unsupported is a verb that objects of a kind do not have.
type unsupported struct{}

// exitUnsupported is the exit code of a command that objects of this kind do not have.
const exitUnsupported = 4

func (unsupported) Flags(*pflag.FlagSet) {}

func (unsupported) Run(_ context.Context, c *verb.Call) error {
	return app.WithCode(fmt.Errorf("%s: %s is not supported on objects of kind %s", c.Selector, c.Verb, c.Kind), exitUnsupported)
}

func child(parent *cobra.Command, word string) *cobra.Command {
	for _, c := range parent.Commands() {
		if c.Name() == word {
			return c
		}
	}
	return nil
}

func positional(a verb.Args) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < a.Min:
			return app.Usage("%s needs %s", cmd.CommandPath(), a.Use)
		case a.Max >= 0 && len(args) > a.Max:
			return app.Usage("%s does not take %q", cmd.CommandPath(), args[a.Max])
		}
		return nil
	}
}

// bindLeaf binds the flags of the command that args name.
func (b *builder) bindLeaf(args []string) {
	if cmd, _, err := b.root.Find(args); err == nil {
		b.bind(cmd)
	}
}

func (b *builder) bind(cmd *cobra.Command) {
	l, ok := b.runners[cmd]
	if !ok {
		return
	}
	l.runner.Flags(cmd.Flags())
	if l.verb.Selects && !l.subsystem.Selects {
		selectorFlags(cmd.Flags())
	}
	b.complete(cmd, l)
}

func (b *builder) run(ctx context.Context, cmd *cobra.Command, l leaf, args []string) error {
	if err := b.globals.apply(b.process); err != nil {
		return err
	}
	if err := checkFlags(cmd); err != nil {
		return err
	}
	if c, ok := b.tree.Backend.(Checker); ok {
		if err := c.Check(); err != nil {
			return err
		}
	}
	err := l.runner.Run(ctx, &verb.Call{
		Streams: b.process.Streams, Env: b.process.Env, Backend: b.tree.Backend,
		Line: strings.Join(b.line, " "), Verb: l.verb.Path, Kind: l.subsystem.Kind, Selector: selectorOf(cmd), Args: args,
		Format: b.globals.format, Quiet: b.globals.quiet, Debug: b.globals.debug,
	})
	if ignored(cmd, err) {
		return nil
	}
	err = inFlags(cmd, err)
	if e, ok := b.tree.Backend.(Explainer); ok && err != nil {
		return e.Explain(err)
	}
	return err
}
