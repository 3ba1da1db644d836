package container

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
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

// find returns the container of the name of the resource, nil when there is none.
func (c *container) find(ctx context.Context) (*found, error) {
	name := c.fullName()
	out, err := c.ask(ctx, "container", "inspect", name)
	if err == nil {
		return parseInspect([]byte(out))
	}
	if _, failed := errors.AsType[*host.ExitError](err); !failed {
		return nil, err
	}
	// It failed: because there is none, or for another reason? The list tells.
	ids, listErr := c.ask(ctx, "ps", "--all", "--no-trunc", "--filter", "name=^"+regexp.QuoteMeta(name)+"$", "--format", "{{.ID}}")
	switch {
	case listErr != nil:
		return nil, listErr
	case ids != "":
		return nil, err
	}
	return nil, nil //nolint:nilnil // nil is "there is none"
}

// running is the identity of the container of another resource of the object.
func (c *container) running(ctx context.Context, rid string) (string, error) {
	out, err := c.ask(ctx, "ps", "--no-trunc", "--filter", "label="+labelPath+"="+c.env.Path.String(), "--filter", "label="+labelRID+"="+rid, "--format", "{{.ID}}")
	ids := strings.Fields(out)
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
