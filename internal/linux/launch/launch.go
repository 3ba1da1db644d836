// Package launch turns the running process into a command: it joins a control
// group, sets limits, umask, directory and user, writes down who it is, then
// executes. `om exec` is this package.
//
// The record is written by the process itself, before it becomes the command, so
// there is no instant at which the command runs and nobody knows it: whoever
// starts it may be killed at any time. The same record makes a second launch
// refuse while the first lives, and its [Lock] makes those who read it wait for the
// launches in progress.
package launch

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
)

// Options are the flags and the arguments of `om exec`.
type Options struct {
	Cgroup string   // control group joined, "/opensvc.slice/...", made if need be
	Record string   // file receiving the identity of the process
	Lock   int      // descriptor of the [Lock] of the record; 0: it is taken
	Report int      // descriptor of a [Watch]; 0: nobody watches
	Dir    string   // working directory
	User   string   // name or number
	Group  string   // name or number
	Umask  string   // octal
	Limits []string // "nofile=1024"
	Argv   []string // command and arguments, executed without a shell
}

// Flags is where [Options.Bind] declares flags; *pflag.FlagSet is one.
type Flags interface {
	StringVar(p *string, name, value, usage string)
	IntVar(p *int, name string, value int, usage string)
	StringArrayVar(p *[]string, name string, value []string, usage string)
}

// Bind declares the flags. The arguments after the flags are the command.
func (o *Options) Bind(f Flags) {
	f.StringVar(&o.Cgroup, "pg", "", "control group to join")
	f.StringVar(&o.Record, "record", "", "file to write the identity of the process in; refuse while the one recorded lives")
	f.IntVar(&o.Lock, "record-lock", 0, "descriptor that holds the lock of the record")
	f.IntVar(&o.Report, "report", 0, "descriptor on which to tell why the command could not be executed")
	f.StringVar(&o.Dir, "cwd", "", "working directory")
	f.StringVar(&o.User, "user", "", "user to become, with its supplementary groups")
	f.StringVar(&o.Group, "group", "", "group to become, that of the user by default")
	f.StringVar(&o.Umask, "umask", "", "file creation mask, octal")
	f.StringArrayVar(&o.Limits, "limit", nil, "resource limit as name=value, names "+strings.Join(LimitNames(), " "))
}

// Args is the command line that [Options.Bind] reads, the command included.
func (o Options) Args() []string {
	var args []string
	flag := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name, value)
		}
	}
	flag("pg", o.Cgroup)
	flag("record", o.Record)
	if o.Lock != 0 {
		flag("record-lock", strconv.Itoa(o.Lock))
	}
	if o.Report != 0 {
		flag("report", strconv.Itoa(o.Report))
	}
	flag("cwd", o.Dir)
	flag("user", o.User)
	flag("group", o.Group)
	flag("umask", o.Umask)
	for _, l := range o.Limits {
		flag("limit", l)
	}
	return append(append(args, "--"), o.Argv...)
}

// limits are the numbers the kernel gives to resource limits.
func limits() map[string]int {
	return map[string]int{
		"as": syscall.RLIMIT_AS, "core": syscall.RLIMIT_CORE, "cpu": syscall.RLIMIT_CPU, "data": syscall.RLIMIT_DATA,
		"fsize": syscall.RLIMIT_FSIZE, "memlock": 8, "nofile": syscall.RLIMIT_NOFILE, "nproc": 6, "rss": 5,
		"stack": syscall.RLIMIT_STACK, "vmem": syscall.RLIMIT_AS,
	}
}

// LimitNames lists the resource limits that can be set.
func LimitNames() []string {
	names := make([]string, 0, len(limits()))
	for name := range limits() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Exec prepares the running process and executes the command in its place. It
// returns only on failure; environ is the environment of the command. A failure
// that was told to who watches is a [*ReportedError].
func Exec(o Options, environ []string) error {
	watcher, err := openReport(o.Report)
	if err != nil {
		return err
	}
	return watcher.failed(o.exec(environ, watcher))
}

func (o Options) exec(environ []string, watcher *report) error {
	if len(o.Argv) == 0 {
		return errors.New("no command to execute: write it after --")
	}
	// The lock is never let go here: the execution does, and so does the end of the
	// process when it fails. Before that the record names a process that still runs.
	record, err := claim(o.Record, o.Lock)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(record)
	account, err := lookup(o.User, o.Group)
	if err != nil {
		return err
	}
	if o.Cgroup != "" {
		tree, err := cgroup.Open()
		if err != nil {
			return err
		}
		if err := tree.Join(o.Cgroup); err != nil {
			return err
		}
	}
	for _, l := range o.Limits {
		if err := setLimit(l); err != nil {
			return err
		}
	}
	if o.Umask != "" {
		mask, err := strconv.ParseUint(o.Umask, 8, 9)
		if err != nil {
			return fmt.Errorf("umask %q: write octal digits, as 022", o.Umask)
		}
		syscall.Umask(int(mask))
	}
	if err := account.become(); err != nil {
		return err
	}
	// The directory is entered as the user: what it may not enter it may not work in.
	if o.Dir != "" {
		if err := os.Chdir(o.Dir); err != nil {
			return fmt.Errorf("working directory: %w", err)
		}
	}
	name, err := Find(o.Argv[0], pathOf(environ))
	if err != nil {
		return err
	}
	if err := watcher.say(executing); err != nil {
		return err
	}
	heed()
	if err := syscall.Exec(name, o.Argv, environ); err != nil { //nolint:gosec // executing what it is told is its purpose
		return &os.PathError{Op: "execute", Path: name, Err: err}
	}
	return nil
}

// heed gives the command every signal, as the manager of services does: a daemon
// that was started with nohup ignores SIGHUP, its services must be able to reload.
// A signal with a handler gets the default action when the process executes.
func heed() {
	// Go does not tell whether these are ignored.
	all := []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}
	for number := syscall.Signal(1); number < 32; number++ {
		if signal.Ignored(number) {
			all = append(all, number)
		}
	}
	signal.Notify(make(chan os.Signal, 1), all...)
}

func setLimit(text string) error {
	name, value, ok := strings.Cut(text, "=")
	what, known := limits()[name]
	if !ok || !known {
		return fmt.Errorf("limit %q: write name=value, names %s", text, strings.Join(LimitNames(), " "))
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return fmt.Errorf("limit %s: %q is not a number", name, value)
	}
	if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
		return fmt.Errorf("limit %s to %d: %w", name, n, err)
	}
	return nil
}

func pathOf(environ []string) string {
	for _, e := range slices.Backward(environ) {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			return p
		}
	}
	return DefaultPath
}
