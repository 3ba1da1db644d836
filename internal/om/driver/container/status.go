package container

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Status implements [resource.Driver].
func (c *container) Status(ctx context.Context) resource.State {
	state := resource.State{Label: c.kind + " " + c.image}
	remark := func(status cluster.Status, level, format string, a ...any) resource.State {
		state.Status = status
		state.Log = append(state.Log, cluster.ResourceLogEntry{Level: level, Message: fmt.Sprintf(format, a...)})
		return state
	}
	f, err := c.find(ctx)
	if _, missing := errors.AsType[*missingError](err); missing {
		return remark(cluster.NotApplicable, "warn", "%s", err)
	}
	switch {
	case err != nil:
		return remark(cluster.Warn, "error", "%s", err)
	case f == nil:
		state.Status = c.down()
		return state
	case !c.owns(f):
		return remark(cluster.Warn, "error", "%s", c.foreign())
	}
	state.Info = map[string]any{"container_id": f.ID}
	switch f.phase() {
	case runs:
		state.Status = cluster.Up
		for _, d := range c.differences(ctx, f) {
			remark(cluster.Up, "warn", "%s", d)
		}
	case ended:
		state.Status = c.down()
		switch {
		case f.State.Status == "created", f.State.Status == "configured":
			remark(state.Status, "info", "the container is made and was never started")
		case f.State.ExitCode != 0:
			remark(state.Status, "warn", "the container ended with exit status %d", f.State.ExitCode)
		}
	case between:
		return remark(cluster.Warn, "warn", "the container is %s", f.State.Status)
	}
	return state
}

// down is the status of what does not run.
func (c *container) down() cluster.Status {
	if !c.detach {
		return cluster.NotApplicable
	}
	return cluster.Down
}

// differences tells in what a running container is not what is configured.
func (c *container) differences(ctx context.Context, f *found) []string {
	var told []string
	differ := func(what, is, want string) {
		told = append(told, fmt.Sprintf("%s is %s, should be %s: a start of a new container applies it", what, is, want))
	}
	text := func(what, is, want string) {
		if is != want {
			differ(what, fmt.Sprintf("%q", is), fmt.Sprintf("%q", want))
		}
	}
	flag := func(what string, is, want bool) {
		if is != want {
			differ(what, strconv.FormatBool(is), strconv.FormatBool(want))
		}
	}
	list := func(what string, is, want []string) {
		if !slices.Equal(is, want) {
			differ(what, host.Quote(is), host.Quote(want))
		}
	}
	text("name", strings.TrimPrefix(f.Name, "/"), c.fullName())
	if c.hostname != "" && len(otherContainer(c.netns)) == 0 {
		text("hostname", f.Config.Hostname, c.hostname)
	}
	flag("tty", f.Config.Tty, c.tty)
	flag("privileged", f.HostConfig.Privileged, c.privileged)
	if c.readOnly != nil {
		flag("read_only", f.HostConfig.ReadonlyRootfs, *c.readOnly)
	}
	command := c.command
	if len(c.entrypoint) > 0 {
		list("entrypoint", f.Config.Entrypoint, c.entrypoint[:1])
		command = slices.Concat(c.entrypoint[1:], c.command)
	}
	if len(command) > 0 {
		list("command", f.Config.Cmd, command)
	}
	told = append(told, c.otherNamespaces(ctx, f)...)
	switch id, err := c.ask(ctx, "image", "inspect", "--format", "{{.Id}}", c.image); {
	case err != nil:
		told = append(told, fmt.Sprintf("image: %s is not known to the engine any more: %s", c.image, err))
	case strings.TrimPrefix(id, "sha256:") != strings.TrimPrefix(f.Image, "sha256:"):
		differ("image", f.Image, c.image+" "+id)
	}
	return told
}

// otherNamespaces tells which namespaces are not those configured.
func (c *container) otherNamespaces(ctx context.Context, f *found) (told []string) {
	for _, ns := range []struct{ name, value, mode string }{
		{"netns", c.netns, f.HostConfig.NetworkMode}, {"pidns", c.pidns, f.HostConfig.PidMode}, {"ipcns", c.ipcns, f.HostConfig.IpcMode}, {"utsns", c.utsns, f.HostConfig.UTSMode},
	} {
		switch {
		case ns.value == "" || ns.value == ns.mode:
			continue
		case len(otherContainer(ns.value)) > 0:
			id, err := c.running(ctx, ns.value)
			if err == nil && joins(ns.mode, id) {
				continue
			}
			if err != nil {
				told = append(told, fmt.Sprintf("%s: %s", ns.name, err))
				continue
			}
		}
		told = append(told, fmt.Sprintf("%s is %q, should be %s: a start of a new container applies it", ns.name, ns.mode, ns.value))
	}
	return told
}
