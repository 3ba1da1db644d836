package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// fullName is the name of the container.
func (c *container) fullName() string {
	if c.name != "" {
		return c.name
	}
	name := c.env.Path.Name + "." + strings.Replace(c.env.RID, "#", ".", 1)
	if c.env.Path.Namespace != object.RootNamespace {
		name = c.env.Path.Namespace + ".." + name
	}
	return name
}

// labels tell whose the container is.
func (c *container) labels() []string {
	p := c.env.Path
	return []string{
		labelID + "=" + c.env.ObjectID,
		labelPath + "=" + p.String(),
		labelPrefix + "namespace=" + p.Namespace,
		labelPrefix + "name=" + p.Name,
		labelPrefix + "kind=" + string(p.Kind),
		labelRID + "=" + c.env.RID,
	}
}

// owns reports whether a container was made for this resource.
func (c *container) owns(f *found) bool {
	return f.Config.Labels[labelPath] == c.env.Path.String() && f.Config.Labels[labelRID] == c.env.RID
}

// foreign says that a container is not ours.
func (c *container) foreign() error {
	return fmt.Errorf("the container %s was not made for this resource, its labels say: rename or remove it, or set name", c.fullName())
}

// options are the options of the run command, in the order they are given.
type options struct {
	words []string
	given map[string]bool // by long name
}

func (o *options) set(name, value string) {
	if value != "" {
		o.add(name, value)
	}
}

func (o *options) add(name, value string) {
	o.words = append(o.words, "--"+name, value)
	o.given[name] = true
}

func (o *options) flag(name string, value bool) {
	o.words = append(o.words, "--"+name+"="+strconv.FormatBool(value))
	o.given[name] = true
}

// creation is what the making of a container needs to know of the node.
type creation struct {
	engine, cgroup  string
	net, pid, ipc   string   // namespaces, as the engine is told them
	data            []string // VAR=value, out of keys
	environmentFile string
}

// runArgv is the command line that makes the container, and the options of run_args
// that are left out.
func (c *container) runArgv(n creation) (argv, dropped []string) {
	o := options{given: map[string]bool{}}
	if n.engine == podman && n.cgroup != "" {
		// The one of systemd makes a slice of every part of a name between dashes.
		argv = append(argv, "--cgroup-manager", "cgroupfs")
	}
	o.add("name", c.fullName())
	o.set("hostname", c.hostname)
	o.flag("tty", c.tty)
	o.flag("detach", c.detach)
	o.add("pull", "never")
	if c.privileged {
		o.flag("privileged", true)
	}
	if c.readOnly != nil {
		o.flag("read-only", *c.readOnly)
	}
	o.set("user", c.user)
	o.set("workdir", c.cwd)
	o.flag("interactive", c.interactive)
	if c.init && c.pidns == "" {
		o.flag("init", true)
	}
	var arguments []string
	if len(c.entrypoint) > 0 {
		// One word is all that every engine takes.
		o.add("entrypoint", c.entrypoint[0])
		arguments = c.entrypoint[1:]
	}
	o.set("network", n.net)
	o.set("pid", n.pid)
	o.set("ipc", n.ipc)
	o.set("uts", c.utsns)
	o.set("userns", c.userns)
	for _, domain := range c.dnsSearch {
		o.add("dns-search", domain)
	}
	o.set("cgroup-parent", n.cgroup)
	for _, s := range c.sysctl {
		o.add("sysctl", s)
	}
	for _, d := range c.devices {
		o.add("device", d)
	}
	for _, m := range c.mounts {
		o.add("volume", m)
	}
	for _, v := range slices.Concat(c.identity(), c.environment.Environment) {
		o.add("env", v)
	}
	o.set("env-file", n.environmentFile)
	for _, l := range c.labels() {
		o.add("label", l)
	}
	kept, dropped := o.without(c.runArgs)
	argv = append(append(argv, "run"), o.words...)
	argv = append(append(argv, kept...), "--", c.image)
	return slices.Concat(argv, arguments, c.command), dropped
}

// identity tells the container whose it is.
func (c *container) identity() []string {
	p := c.env.Path
	return []string{
		"OPENSVC_RID=" + c.env.RID, "OPENSVC_NAME=" + p.Name, "OPENSVC_KIND=" + string(p.Kind),
		"OPENSVC_ID=" + c.env.ObjectID, "OPENSVC_NAMESPACE=" + p.Namespace,
	}
}

// repeated are the options an engine takes several times: those of run_args add to
// those of the keywords.
const repeated = "env env-file label volume device sysctl dns-search"

// boolean are the options that take no value after a blank.
const boolean = "tty detach privileged read-only interactive init rm replace"

func isOneOf(names, name string) bool { return slices.Contains(strings.Fields(names), name) }

// long is the long name of an option of one letter.
func long(name string) string {
	known := map[string]string{
		"h": "hostname", "t": "tty", "d": "detach", "u": "user", "w": "workdir", "i": "interactive",
		"e": "env", "l": "label", "v": "volume", "net": "network",
	}
	if full, ok := known[name]; ok {
		return full
	}
	return name
}

// option reads a word that is an option, as "--name=value".
func option(word string) (name string, valued, ok bool) {
	name, ok = strings.CutPrefix(word, "--")
	if !ok {
		if name, ok = strings.CutPrefix(word, "-"); !ok || len(name) != 1 {
			return "", false, false
		}
	}
	name, _, valued = strings.Cut(name, "=")
	return long(name), valued, ok
}

// without leaves out of more options those that are set already, and those that say
// what the agent decides.
func (o *options) without(more []string) (kept, dropped []string) {
	for i := 0; i < len(more); i++ {
		name, valued, ok := option(more[i])
		decided := isOneOf("rm replace detach name pull", name)
		if !ok || !decided && (!o.given[name] || isOneOf(repeated, name)) {
			kept = append(kept, more[i])
			continue
		}
		dropped = append(dropped, more[i])
		if !valued && !isOneOf(boolean, name) && i+1 < len(more) {
			i++
			dropped = append(dropped, more[i])
		}
	}
	return kept, dropped
}

// checkRunArgs is the rule of run_args.
func checkRunArgs(text string) error {
	args, err := config.ParseShlex(text)
	if err != nil {
		return err
	}
	for i, word := range args {
		name, _, ok := option(word)
		switch {
		case ok && isOneOf("cgroup-manager cgroup-parent cgroups pod pod-id-file", name):
			return fmt.Errorf("%s: the container would not be in the control group of its resource", word)
		case ok && isOneOf("root runroot imagestore connection url remote", name):
			return fmt.Errorf("%s: the agent would look for the container elsewhere", word)
		case ok && name == "label" || strings.Contains(word, labelPrefix):
			if strings.Contains(word, labelPrefix) {
				return fmt.Errorf("%s: the labels %s* are those of the agent", word, labelPrefix)
			}
		case ok && name == "", word == "-", i == 0 && !strings.HasPrefix(word, "-"): // it would be the image
			return fmt.Errorf("%q is no option of the engine", word)
		}
	}
	return nil
}

// create makes the container and starts it, in place of a former one, if any.
func (c *container) create(ctx context.Context, former *found) error {
	n, err := c.prepare(ctx)
	if err != nil {
		return &resource.UntouchedError{Err: err}
	}
	if err := c.pull(ctx); err != nil {
		return &resource.UntouchedError{Err: err}
	}
	if former != nil {
		if err := c.remove(ctx, former); err != nil {
			return &resource.UntouchedError{Err: err}
		}
	}
	cmd := host.Cmd{}
	if len(n.data) > 0 {
		n.environmentFile = "/dev/stdin"
		cmd.Stdin = []byte(strings.Join(n.data, "\n") + "\n")
	}
	argv, dropped := c.runArgv(n)
	if len(dropped) > 0 {
		c.env.Warnf("run_args: left out, for other keywords say it: %s", host.Quote(dropped))
	}
	cmd.Argv = argv
	c.say(argv)
	if c.logs && !c.detach {
		cmd.OnLine = func(stderr bool, line string) {
			if stderr {
				c.env.Errorf("%s", line)
			} else {
				c.env.Infof("%s", line)
			}
		}
	}
	_, err = c.call(ctx, c.startTimeout, cmd)
	if err != nil {
		return errors.Join(err, c.discard(ctx))
	}
	return nil
}

// prepare finds out what the command line needs.
func (c *container) prepare(ctx context.Context) (n creation, err error) {
	if n.engine, err = c.engine(); err != nil {
		return n, err
	}
	for _, m := range c.mounts {
		source, _, _ := strings.Cut(m, ":")
		if _, err := os.Stat(source); err != nil {
			return n, fmt.Errorf("volume_mounts: %s: %w: make it before, an fs.directory resource does", m, err)
		}
	}
	if n.data, err = c.data(); err != nil {
		return n, err
	}
	for _, ns := range []struct {
		to          *string
		name, value string
	}{{&n.net, "netns", c.netns}, {&n.pid, "pidns", c.pidns}, {&n.ipc, "ipcns", c.ipcns}} {
		if *ns.to = ns.value; len(otherContainer(ns.value)) == 0 {
			continue
		}
		id, err := c.running(ctx, ns.value)
		if err != nil {
			return n, fmt.Errorf("%s = %s: %w", ns.name, ns.value, err)
		}
		*ns.to = "container:" + id
	}
	n.cgroup, err = c.cgroupParent(ctx, n.engine)
	return n, err
}

// longestVariable is the longest line an engine reads in a file of variables.
const longestVariable = 64<<10 - 2

// longestData is half of the arguments and variables the kernel lets a process have.
const longestData = 1 << 20

// data are the variables that come from keys. The engine reads them line by line.
func (c *container) data() ([]string, error) {
	env := c.env
	env.Vars = nil
	from := c.environment
	from.Environment = nil
	variables, err := from.Environ(env)
	if err != nil {
		return nil, err
	}
	all := 0
	for _, v := range variables {
		if all += len(v) + 1; all > longestData {
			return nil, fmt.Errorf("the values of configs_environment and secrets_environment are longer than %d bytes in all, more than a process can be given: install the keys as files in a directory that volume_mounts mounts", longestData)
		}
		name, value, _ := strings.Cut(v, "=")
		for _, cannot := range []struct {
			what string
			is   bool
		}{
			{"has several lines", strings.ContainsAny(value, "\n\r")},
			{"is not text in UTF-8", !utf8.ValidString(value)}, // docker says the bytes, podman puts others in their place
			{fmt.Sprintf("is longer than %d bytes", longestVariable), len(v) > longestVariable},
		} {
			if cannot.is {
				return nil, fmt.Errorf("variable %s: its value %s, which no engine takes from a file of variables: install the key as a file in a directory that volume_mounts mounts", name, cannot.what)
			}
		}
		if strings.ContainsAny(name, " \t\n\r#*\"'") {
			return nil, fmt.Errorf("variable %q: blanks, quotes, * and # are not taken in the name of a variable", name)
		}
	}
	return variables, nil
}

// pull makes the engine have the image.
func (c *container) pull(ctx context.Context) error {
	if c.pullPolicy != "always" {
		_, err := c.ask(ctx, "image", "inspect", "--format", "{{.Id}}", c.image)
		if _, failed := errors.AsType[*host.ExitError](err); !failed {
			return err
		}
	}
	if err := c.do(ctx, c.pullTimeout, "pull", "--quiet", c.image); err != nil {
		return fmt.Errorf("image %s is not on this node, or is to be pulled again, and can not be pulled: %w", c.image, err)
	}
	return nil
}
