package container

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// removeWait is how long an engine may take to stop what it kills, and to remove it.
const removeWait = 30 * time.Second

// ours is what find returns, and an error for a container of somebody else.
func (c *container) ours(ctx context.Context) (*found, error) {
	f, err := c.find(ctx)
	if err == nil && f != nil && !c.owns(f) {
		return nil, c.foreign()
	}
	return f, err
}

// Start implements [resource.Starter].
func (c *container) Start(ctx context.Context) error {
	refuse := func(err error) error { return &resource.UntouchedError{Err: err} }
	f, err := c.ours(ctx)
	switch {
	case err != nil:
		return refuse(err)
	case f == nil:
		return c.started(ctx, c.create(ctx, nil))
	case f.phase() == runs:
		return &resource.AlreadyUpError{What: "container " + c.fullName()}
	case f.phase() == between:
		return refuse(fmt.Errorf("the container %s is %s: stop it, then start it again", c.fullName(), f.State.Status))
	case c.rm:
		return c.started(ctx, c.create(ctx, f))
	}
	engine, err := c.engine()
	if err != nil {
		return refuse(err)
	}
	group, err := c.cgroupParent(ctx, engine)
	if err != nil {
		return refuse(err)
	}
	if f.HostConfig.CgroupParent != group {
		return refuse(fmt.Errorf("the container %s was made in the control group %q, and is to run in %q: remove it with `%s rm %s`, or set rm = true", c.fullName(), f.HostConfig.CgroupParent, group, engine, c.fullName()))
	}
	argv := []string{"start"}
	if !c.detach {
		argv = append(argv, "--attach")
	}
	return c.started(ctx, c.do(ctx, c.startTimeout, append(argv, f.ID)...))
}

// started makes sure that what was started runs.
func (c *container) started(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	f, err := c.find(ctx)
	switch {
	case !c.detach && c.rm && err == nil && f != nil && c.owns(f):
		return c.remove(ctx, f)
	case !c.detach:
		return err
	case err != nil:
		return err
	case f == nil:
		return fmt.Errorf("the container %s has vanished since it was started", c.fullName())
	case f.phase() == ended:
		engine, _ := c.engine()
		return fmt.Errorf("the container %s ended as soon as it was started, with exit status %d: `%s logs %s` shows what it said", c.fullName(), f.State.ExitCode, engine, f.ID[:min(len(f.ID), 12)])
	}
	return nil
}

// discard removes what a failed making left.
func (c *container) discard(ctx context.Context) error {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWait)
	defer cancel()
	f, err := c.find(after)
	if err != nil || f == nil || !c.owns(f) {
		return err
	}
	return c.remove(after, f)
}

// remove removes a container of ours, with the volumes the engine made for it alone.
func (c *container) remove(ctx context.Context, f *found) error {
	return c.do(ctx, removeWait, "rm", "--force", "--volumes", f.ID)
}

// Stop implements [resource.Stopper].
func (c *container) Stop(ctx context.Context) error {
	f, err := c.ours(ctx)
	if err != nil || f == nil {
		return err
	}
	if f.phase() != ended {
		if err := c.end(ctx, f); err != nil {
			return err
		}
	}
	if !c.rm {
		return nil
	}
	// The engine may have done it: a container may be told to vanish when it ends.
	err = c.remove(ctx, f)
	if gone, findErr := c.find(ctx); findErr == nil && gone == nil {
		return nil
	}
	return err
}

// end stops a container. The engine kills it once its time is over.
func (c *container) end(ctx context.Context, f *found) error {
	if f.State.Status == "paused" {
		if err := c.do(ctx, removeWait, "unpause", f.ID); err != nil {
			return err
		}
	}
	patience := c.stopTimeout
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)*9/10)
	}
	seconds := int64(max(patience+time.Second-1, 0) / time.Second)
	if err := c.do(ctx, patience+removeWait, "stop", "-t", strconv.FormatInt(seconds, 10), f.ID); err != nil {
		if ctx.Err() != nil {
			return err
		}
		c.env.Warnf("%s: killed", err)
		if killErr := c.do(ctx, removeWait, "kill", f.ID); killErr != nil {
			err = errors.Join(err, killErr)
		}
		if left, findErr := c.find(ctx); findErr != nil || left != nil && left.phase() != ended {
			return errors.Join(err, findErr)
		}
	}
	return nil
}

// Unprovision implements [resource.Unprovisioner].
func (c *container) Unprovision(ctx context.Context) error {
	f, err := c.ours(ctx)
	if err != nil || f == nil {
		return err
	}
	return c.remove(ctx, f)
}

// Signal implements [resource.Signaler].
func (c *container) Signal(ctx context.Context, sig syscall.Signal) (string, error) {
	f, err := c.find(ctx)
	if err != nil || f == nil || !c.owns(f) || f.phase() != runs {
		return "", err
	}
	if err := c.do(ctx, removeWait, "kill", "--signal", unix.SignalName(sig), f.ID); err != nil {
		return "", err
	}
	return "container " + c.fullName(), nil
}

// shell is what is run in a container that is entered: the better of those it has.
const shell = "command -v bash >/dev/null 2>&1 && exec bash || exec sh"

// Enter implements [resource.Enterer].
func (c *container) Enter(ctx context.Context) error {
	f, err := c.there(ctx)
	if err != nil {
		return err
	}
	if f.phase() != runs {
		return fmt.Errorf("the container %s is %s: start the resource first", c.fullName(), f.State.Status)
	}
	argv := []string{"exec", "--interactive"}
	if c.env.TTY {
		argv = append(argv, "--tty")
	}
	return c.foreground(ctx, append(argv, f.ID, "sh", "-c", shell)...)
}

// Printed implements [resource.Printer].
func (c *container) Printed(ctx context.Context, lines int, follow bool) error {
	f, err := c.there(ctx)
	if err != nil {
		return err
	}
	return c.foreground(ctx, "logs", "--tail", strconv.Itoa(lines), "--follow="+strconv.FormatBool(follow), f.ID)
}

// there is the container of the resource, for somebody to look at.
func (c *container) there(ctx context.Context) (*found, error) {
	if c.env.Terminal.In == nil {
		return nil, errors.New("there is nobody to talk to: this is for the command line of the node")
	}
	f, err := c.ours(ctx)
	if err == nil && f == nil {
		err = fmt.Errorf("there is no container %s: start the resource first", c.fullName())
	}
	return f, err
}

// foreground runs the engine on the terminal of whoever asked.
func (c *container) foreground(ctx context.Context, argv ...string) error {
	engine, err := c.engine()
	if err != nil {
		return err
	}
	err = host.Foreground(ctx, host.Cmd{Argv: append([]string{engine}, argv...), Env: c.env.Vars, Dir: "/"}, c.env.Terminal)
	if exit, ok := errors.AsType[*host.ExitError](err); ok {
		exit.Argv = []string{engine, argv[0]}
	}
	return err
}

// Info implements [resource.Informer].
func (c *container) Info(ctx context.Context) (map[string]string, error) {
	engine, err := c.engine()
	if err != nil {
		return nil, err
	}
	known := map[string]string{"name": c.fullName(), "engine": engine, "image": c.image}
	f, err := c.find(ctx)
	if err != nil || f == nil || !c.owns(f) {
		return known, err
	}
	known["id"], known["image_id"] = f.ID, f.Image
	return known, nil
}

var (
	_ resource.Starter       = (*container)(nil)
	_ resource.Stopper       = (*container)(nil)
	_ resource.Unprovisioner = (*container)(nil)
	_ resource.Enterer       = (*container)(nil)
	_ resource.Printer       = (*container)(nil)
	_ resource.Signaler      = (*container)(nil)
	_ resource.Informer      = (*container)(nil)
)
