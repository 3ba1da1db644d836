// Package launch turns the running process into a command: it joins a control
// group, sets limits, umask, directory and user, writes down who it is, then
// executes. `om exec` is this package.
//
// The record is written by the process itself, before it becomes the command:
// there is no instant at which the command runs and nobody knows it.
package launch

import "time"

// Options are the flags of `om exec`.
type Options struct {
	Cgroup string   // control group joined, "/opensvc.slice/..."
	Record string   // file receiving the identity of the process
	Dir    string   // working directory
	User   string   // name or number
	Group  string   // name or number
	Umask  string   // octal
	Limits []Limit  // resource limits
	Argv   []string // command and arguments, executed without a shell
}

// Limit is one resource limit.
type Limit struct {
	Name  string // "nofile"
	Value uint64
}

// Flags is where [Options.Bind] declares flags; *pflag.FlagSet is one.
type Flags interface {
	StringVar(p *string, name, value, usage string)
	StringArrayVar(p *[]string, name string, value []string, usage string)
	DurationVar(p *time.Duration, name string, value time.Duration, usage string)
}

// Bind declares the flags. The arguments after the flags are the command.
func (o *Options) Bind(f Flags) { panic("to write") }

// Args is the command line of [Options.Bind], the command included.
func (o Options) Args() []string { panic("to write") }

// Exec prepares the running process and executes the command in its place. It
// returns only on failure.
func Exec(o Options, environ []string) error { panic("to write") }
