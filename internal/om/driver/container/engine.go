package container

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
)

// lookWait is how long an engine may take to answer a question.
const lookWait = 10 * time.Second

// engine is what runs the containers of the resource.
func (c *container) engine() (string, error) {
	if c.kind != "oci" {
		return c.kind, nil
	}
	if c.env.Installation.Ref != nil {
		// Not being set is an error of the reference.
		if name, err := c.env.Installation.Ref("node.oci"); err == nil && name != "" {
			if name != podman && name != docker {
				return "", fmt.Errorf("the oci keyword of the node configuration is %q: it is podman or docker", name)
			}
			return name, nil
		}
	}
	if _, err := launch.Find(docker, c.searchPath()); err == nil {
		return docker, nil
	}
	return podman, nil
}

func (c *container) searchPath() string {
	for _, v := range c.env.Vars {
		if list, ok := strings.CutPrefix(v, "PATH="); ok {
			return list
		}
	}
	return launch.DefaultPath
}

// missingError tells that the node has not got the engine.
type missingError struct{ engine string }

// Error says what to do.
func (e *missingError) Error() string {
	return e.engine + " is not installed on this node: install it, or give the resource another type"
}

// call runs the engine, at most wait when it is not zero.
func (c *container) call(ctx context.Context, wait time.Duration, cmd host.Cmd) (string, error) {
	name, err := c.engine()
	if err != nil {
		return "", err
	}
	if wait > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("%s has not answered in %s", name, wait))
		defer cancel()
		ctx = limited
	}
	shown := []string{name, verb(cmd.Argv)}
	cmd.Argv = append([]string{name}, cmd.Argv...)
	cmd.Env, cmd.Dir = c.env.Vars, "/"
	out, err := c.env.Host.Runner.Run(ctx, cmd)
	var exit *host.ExitError
	switch {
	case err == nil:
	case host.NotFound(err):
		return "", &missingError{engine: name}
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", host.Quote(shown), context.Cause(ctx))
	case errors.As(err, &exit):
		exit.Argv = shown // the whole is in the log, and long
	}
	return strings.TrimSpace(string(out.Stdout)), err
}

// verb is what a command line of the engine does, after the options for all commands.
func verb(argv []string) string {
	for len(argv) > 2 && strings.HasPrefix(argv[0], "--") {
		argv = argv[2:]
	}
	return argv[0]
}

// longestAnswer is how much an engine may say of a container: three times the arguments
// and the variables the kernel lets a process have, each byte of them written as six.
const longestAnswer = 3 * 6 * (2 << 20)

// inspect describes the container of a name or an identity.
func (c *container) inspect(ctx context.Context, name string) (*found, error) {
	out, err := c.call(ctx, lookWait, host.Cmd{Argv: []string{"container", "inspect", name}, Keep: longestAnswer})
	if err != nil {
		return nil, err
	}
	return parseInspect([]byte(out))
}

// ask runs a short command of the engine that only looks.
func (c *container) ask(ctx context.Context, argv ...string) (string, error) {
	return c.call(ctx, lookWait, host.Cmd{Argv: argv})
}

// do runs a command of the engine that changes something, and says so.
func (c *container) do(ctx context.Context, wait time.Duration, argv ...string) error {
	c.say(argv)
	_, err := c.call(ctx, wait, host.Cmd{Argv: argv})
	return err
}

func (c *container) say(argv []string) {
	if name, err := c.engine(); err == nil {
		c.env.Infof("run: %s", host.Quote(append([]string{name}, argv...)))
	}
}

// find returns the container of the resource, nil when there is none. It is the one
// of the name of the resource: there may be one of another name, for it was renamed,
// or the resource was.
func (c *container) find(ctx context.Context) (*found, error) {
	name := c.fullName()
	f, err := c.inspect(ctx, name)
	if _, failed := errors.AsType[*host.ExitError](err); !failed {
		return f, err
	}
	// It failed: because there is none, or for another reason? The list tells.
	ids, listErr := c.list(ctx, "--all", "--filter", "name=^"+regexp.QuoteMeta(name)+"$")
	switch {
	case listErr != nil:
		return nil, listErr
	case len(ids) > 0:
		return nil, err
	}
	ids, err = c.labelled(ctx, c.env.RID, "--all", "--filter", "label="+labelID+"="+c.env.ObjectID)
	switch {
	case err != nil:
		return nil, err
	case len(ids) > 1:
		return nil, fmt.Errorf("none of the %d containers made for this resource is named %s: remove those that are too many: %s", len(ids), name, strings.Join(ids, ", "))
	case len(ids) == 0:
		return nil, nil //nolint:nilnil // nil is "there is none"
	}
	return c.inspect(ctx, ids[0])
}

// list returns the identities of the containers that the filters of the engine select.
func (c *container) list(ctx context.Context, filters ...string) ([]string, error) {
	out, err := c.ask(ctx, slices.Concat([]string{"ps", "--no-trunc", "--format", "{{.ID}}"}, filters)...)
	return strings.Fields(out), err
}

// labelled is [container.list] among those made for a resource of the object.
func (c *container) labelled(ctx context.Context, rid string, filters ...string) ([]string, error) {
	return c.list(ctx, append(filters, "--filter", "label="+labelPath+"="+c.env.Path.String(), "--filter", "label="+labelRID+"="+rid)...)
}

// running is the identity of the container of another resource of the object.
func (c *container) running(ctx context.Context, rid string) (string, error) {
	ids, err := c.labelled(ctx, rid)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		name, _ := c.engine()
		return "", fmt.Errorf("%s has no container that %s runs: start it first, with an engine of the same type", rid, name)
	case len(ids) > 1:
		return "", fmt.Errorf("%s has %d running containers: %s", rid, len(ids), strings.Join(ids, ", "))
	}
	return ids[0], nil
}

// cgroupParent is how the engine is told the control group. Podman, told to make
// groups itself, takes none that is named as a slice of systemd: it gets one below.
func (c *container) cgroupParent(ctx context.Context, engine string) (string, error) {
	group := c.env.Cgroup
	switch {
	case group == "":
		return "", nil
	case engine == podman:
		return group + "/" + podman, nil
	}
	driver, err := c.ask(ctx, "info", "--format", "{{.CgroupDriver}}")
	if err != nil {
		return "", err
	}
	if driver == "systemd" {
		return path.Base(group), nil // it takes names of slices alone
	}
	return group, nil
}
