package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// Service is a set of commands under a title of the help.
type Service struct {
	Name  string // "compute"
	Title string // "Servers and what they run on"
	// Words are the first words of its commands, blanks between, but for help. A line
	// that begins with one, or with a prefix, needs no services without it.
	Words   string
	Entries func() []Entry
}

// Program is all the commands and what they have in common.
type Program struct {
	Name    string // koc
	Version string
	Short   string
	// Services lists the commands. Nothing is asked of them for --version.
	Services func() []Service
	// Open makes the session of a run. It is called for every command; nothing is
	// asked of the cloud before the command does.
	Open func(c *Call) (*cloud.Cloud, error)
}

// Run runs the command that the arguments of the process name and returns the exit
// code.
func (p *Program) Run(ctx context.Context, proc program.Process) int {
	return p.Start(proc, func() context.Context { return ctx }) //nolint:contextcheck // it is the same
}

// Start is Run that asks for its context only when a command runs.
func (p *Program) Start(proc program.Process, signals func() context.Context) int {
	r := &invocation{Program: p, proc: proc, out: proc.Streams, voice: voice(proc), signals: signals}
	return r.report(r.run())
}

// invocation is one run of the program.
type invocation struct {
	*Program
	proc  program.Process
	out   *iostreams.Streams
	voice render.Voice
	tree  tree

	signals func() context.Context
	session *cloud.Cloud // of the command that runs, nil before
}

// voice is whose voice the process asks for. It must be known before the arguments
// are read, since it decides how they are.
func voice(proc program.Process) render.Voice {
	chosen := proc.Env("KOC_COMPAT")
	if proc.Name == "openstack" {
		chosen = "openstack"
	}
	for i, a := range proc.Args {
		if a == "--" {
			break
		}
		if a == "--compat" && i+1 < len(proc.Args) {
			chosen = proc.Args[i+1]
		}
		if v, ok := strings.CutPrefix(a, "--compat="); ok {
			chosen = v
		}
	}
	if chosen == "openstack" {
		return render.OpenStack
	}
	return render.Own
}

// entries are the commands that the line may mean: those of the services whose word
// it begins with, or whose words begin with it, else all.
func (r *invocation) entries() tree {
	if r.tree != nil {
		return r.tree
	}
	services := r.All()
	if len(r.proc.Args) > 0 && r.voice == render.Own {
		first := r.proc.Args[0]
		if some := with(services, func(word string) bool { return word == first }); len(some) > 0 {
			services = some
		} else if some := with(services, func(word string) bool { return strings.HasPrefix(word, first) }); len(some) > 0 {
			services = some
		}
	}
	for _, s := range services {
		r.tree = append(r.tree, s.Entries()...)
	}
	return r.tree
}

// aliases are the other names of all commands.
func (r *invocation) aliases() tree {
	var all tree
	for _, s := range r.All() {
		for _, e := range s.Entries() {
			for _, name := range e.Build().Aliases {
				all = append(all, Entry{Name: name, Build: e.Build})
			}
		}
	}
	return all
}

// with are the services that have a word.
func with(services []Service, is func(word string) bool) []Service {
	var some []Service
	for _, s := range services {
		if slices.ContainsFunc(strings.Fields(s.Words), is) {
			some = append(some, s)
		}
	}
	return some
}

func (r *invocation) run() error {
	args := r.proc.Args
	if len(args) == 0 {
		return r.help("")
	}
	if v := r.proc.Env("KOC_COMPAT"); v != "" && v != "koc" && v != "openstack" {
		return Reject("KOC_COMPAT=%q: expected koc or openstack", v)
	}
	switch {
	case args[0] == completing:
		return r.complete(r.signals(), args[1:])
	case len(args) == 1 && args[0] == "--version":
		return r.printVersion()
	}
	globals := Globals()
	s := &scanner{tree: r.entries(), globals: scanning(globals), cliff: r.voice == render.OpenStack}
	t := s.find(args)
	if t.entry == nil && len(t.words) > len(strings.Fields(t.path)) {
		// Aliases are known only to built commands, so they are looked for last.
		other := *s
		other.tree = r.aliases()
		if found := other.find(args); found.entry != nil {
			t = found
		}
	}
	if t.path == "help" {
		return r.helpOn(s, t.args)
	}
	if t.entry == nil {
		return r.group(t, globals)
	}
	return r.command(t, globals)
}

// scanning is a grammar of all flags that may stand before the words: those of
// every command and of every kind of output.
func scanning(globals []Flag) *grammar {
	flags := append([]Flag{}, globals...)
	for _, kind := range []Output{Listed, Shown} {
		flags = append(flags, formatterFlags(&Command{Output: kind})...)
	}
	return newGrammar(&Command{Flags: flags}, nil)
}

// group is a run without a command: of the bare program or a group, of --version
// and --help, or of words that lead nowhere.
func (r *invocation) group(t target, globals []Flag) error {
	many := Command{Args: []Arg{{Name: "words", Many: true, Optional: true}}}
	v, err := Parse(&many, globals, t.args)
	switch astray := len(t.words) > len(strings.Fields(t.path)); {
	case astray && (err != nil || !v.Is("version")):
		return r.unknownCommand(t) // whose flags are not known either
	case err != nil:
		return r.usage(err, t.path, nil)
	case v.Is("version"):
		return r.printVersion()
	case len(v.Texts("words")) > 0:
		return r.unknownCommand(t)
	case r.voice == render.OpenStack && t.path != "" && !v.Is("help"):
		return &UsageError{Message: r.notOne(t.path)}
	}
	return r.help(t.path)
}

// notOne is what the openstack client says of words that begin several commands.
func (r *invocation) notOne(path string) string {
	return "'" + path + "' is not an openstack command. See 'openstack --help'.\nDid you mean one of these?\n  " +
		strings.Join(r.entries().names(path), "\n  ")
}

func (r *invocation) printVersion() error {
	_, err := fmt.Fprintf(r.out.Out, "%s %s\n", r.Name, r.Version)
	return err
}

// command runs a command.
func (r *invocation) command(t target, globals []Flag) error {
	cmd := t.entry.Build()
	g := newGrammar(&cmd, globals)
	g.upstream = r.voice == render.OpenStack
	v, err := g.parse(t.args)
	if err != nil {
		return r.usage(err, t.path, &cmd)
	}
	switch {
	case v.Is("help"):
		return r.helpCommand(t.path, &cmd)
	case v.Is("version"):
		return r.printVersion()
	}
	c := &Call{
		Values: v, Name: t.path, Streams: r.out, Env: r.proc.Env,
		Output: renderOptions(&cmd, v, r.voice, r.proc.Env),
	}
	if name, given := v.Global("log-file"); given {
		log, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("--log-file: %w", err)
		}
		// It is not closed before the process ends: the error of the run goes there too.
		streams := *r.out
		streams.Err = io.MultiWriter(streams.Err, log)
		r.out, c.Streams = &streams, &streams
	}
	c.quiet = v.Is("quiet")
	again, err := watched(&cmd, v)
	if err != nil {
		return r.usage(err, t.path, &cmd)
	}
	var stderr gate
	if again {
		streams := *r.out
		stderr.to = streams.Err
		streams.Err, c.Streams = &stderr, &streams
	}
	if c.Cloud, err = r.Open(c); err != nil {
		return err
	}
	if r.session = c.Cloud; c.Cloud != nil {
		defer c.Cloud.Close()
	}
	ctx := r.signals()
	if again {
		return r.usage(r.repeat(ctx, &cmd, c, &stderr), t.path, &cmd)
	}
	return r.usage(cmd.Run(ctx, c), t.path, &cmd)
}

// usage adds how to call the command to an error of the command line.
func (r *invocation) usage(err error, path string, cmd *Command) error {
	var wrong *UsageError
	if !errors.As(err, &wrong) || wrong.Usage != "" {
		return err
	}
	switch {
	case r.voice == render.OpenStack && cmd != nil:
		wrong.Usage = "usage: openstack " + usageLine(path, cmd)
	case cmd != nil:
		wrong.Usage = "Usage: " + r.Name + " " + usageLine(path, cmd) + "\n" + "Run '" + r.Name + " " + path + " --help' for its flags."
	default:
		wrong.Usage = "Run '" + join(r.Name, path) + " --help'."
	}
	wrong.Command = path
	return err
}

func (r *invocation) unknownCommand(t target) error {
	at := len(strings.Fields(t.path))
	word := t.words[min(at, len(t.words)-1)]
	near := nearest(word, r.entries().children(t.path))
	for i := range near {
		near[i] = join(t.path, near[i])
	}
	if t.path == "" && len(t.words) > 1 {
		near = append(near, r.nearestCommands(strings.Join(t.words, " "), near)...)
	}
	err := Reject("unknown command %q%s", join(t.path, word), didYouMean(near[:min(3, len(near))]))
	wrong := &UsageError{Message: err.Error(), Usage: "Run '" + join(r.Name, t.path) + " --help' for the available commands."}
	if t.path != "" {
		wrong.Message = fmt.Sprintf("unknown command %q for %q%s", word, r.Name+" "+t.path, didYouMean(near))
	}
	wrong.Upstream = "'" + strings.Join(t.words, " ") + "' is not an openstack command. See 'openstack --help'."
	if len(near) > 0 {
		wrong.Upstream += "\nDid you mean one of these?\n  " + strings.Join(near, "\n  ")
	}
	return wrong
}

func (r *invocation) nearestCommands(typed string, but []string) []string {
	var names []string
	for _, e := range r.entries() {
		names = append(names, e.Name)
	}
	if len(but) > 0 {
		return nil
	}
	return nearest(typed, names)
}

// report prints an error and returns the exit code.
func (r *invocation) report(err error) int {
	if err == nil {
		return 0
	}
	w := r.out.Err
	var wrong *UsageError
	var known *undone
	switch {
	case errors.Is(err, syscall.EPIPE):
		return brokenPipe
	case errors.Is(err, context.Canceled) && r.signals().Err() != nil:
		text := strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
		if r.session != nil && r.session.Wrote() && !errors.As(err, &known) {
			text += " (the server-side operation may still be running)"
		}
		_, _ = fmt.Fprintf(w, "%s: %s\n", r.Name, text)
		return program.Interrupted
	case errors.As(err, &wrong):
		r.reportUsage(w, wrong)
		return Rejected
	}
	if text := program.Unsaid(err); text != "" {
		if r.voice == render.Own {
			text = r.Name + ": " + text
		}
		_, _ = fmt.Fprintln(w, render.Plain(strings.TrimRight(text, "\n")))
	}
	return program.ExitCode(err)
}

// brokenPipe is the exit code of a shell for a program ended by SIGPIPE.
const brokenPipe = 128 + int(syscall.SIGPIPE)

func (r *invocation) reportUsage(w io.Writer, e *UsageError) {
	if r.voice == render.Own {
		_, _ = fmt.Fprintf(w, "%s: %s\n", r.Name, render.Plain(e.Message))
		if e.Usage != "" {
			_, _ = fmt.Fprintln(w, e.Usage)
		}
		return
	}
	text := e.Upstream
	if text == "" {
		text = e.Message
	}
	if strings.HasPrefix(e.Usage, "usage:") {
		_, _ = fmt.Fprintln(w, e.Usage)
		_, _ = fmt.Fprintf(w, "openstack %s: error: %s\n", e.Command, render.Plain(text))
		return
	}
	_, _ = fmt.Fprintf(w, "openstack: %s\n", render.Plain(text))
}
