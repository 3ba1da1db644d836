package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
)

// userSocket is where the API is served to the local accounts of a unix group.
type userSocket struct {
	path   string
	runner host.Runner
	server *httpd.Server
	state  *state.State
	bus    *bus.Bus
	log    *slog.Logger

	conditions standing.Conditions
}

// groupTimeout bounds the question which number a group has.
const groupTimeout = 3 * time.Second

// groupRetry is when a group that is not known is asked about again: the name
// service may not have been up yet.
const groupRetry = 5 * time.Minute

// run serves the socket to the group the cluster configuration names, and to
// another one when it changes. A node that does not know the group serves none.
func (u *userSocket) run(ctx context.Context) error {
	changes := u.bus.Latest("user socket", func(e *event.Envelope) (string, bool) {
		return "", e.Kind == event.ClusterConfigUpdated{}.Kind()
	})
	defer changes.Close()
	for ctx.Err() == nil {
		group := u.state.View().Config.UXOwnerGroup
		serving, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := u.serve(serving, group); err != nil && serving.Err() == nil {
				u.warn(err)
			}
		}()
		u.untilOther(ctx, group, changes, ended)
		cancel()
		<-ended
	}
	return nil
}

// warn tells why no socket is served, once for each reason: it is tried again
// every now and then.
func (u *userSocket) warn(err error) {
	if u.conditions.News("", err.Error()) {
		u.log.Warn("no user socket is served", slog.Any("err", err))
	}
}

// untilOther returns when another group is configured, when what is not served is
// to be tried again, or with ctx.
func (u *userSocket) untilOther(ctx context.Context, group string, changes *bus.Latest, ended <-chan struct{}) {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			retry := time.NewTimer(groupRetry)
			defer retry.Stop()
			ended, again = nil, retry.C
		case <-again:
			return
		case <-changes.C():
			changes.Take()
			if u.state.View().Config.UXOwnerGroup != group {
				return
			}
		}
	}
}

func (u *userSocket) serve(ctx context.Context, group string) error {
	if group == "" {
		return nil
	}
	gid, err := u.groupID(ctx, group)
	if err != nil {
		return fmt.Errorf("listener.ux_owner_group: %w", err)
	}
	listener, err := httpd.ListenUserSocket(u.path, gid)
	if err != nil {
		return err
	}
	u.conditions.Over("")
	u.log.Info("the API is served to local accounts", slog.String("peer", group))
	err = u.server.Serve(ctx, listener)
	return errors.Join(err, ignoreClosed(listener.Close()))
}

// groupID asks the name service for the number of a group.
func (u *userSocket) groupID(ctx context.Context, name string) (int, error) {
	limited, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	if strings.HasPrefix(name, "-") {
		return 0, fmt.Errorf("%q is no name of a group", name)
	}
	out, err := u.runner.Run(limited, host.Cmd{Argv: []string{"getent", "group", name}})
	exit, failed := errors.AsType[*host.ExitError](err)
	switch {
	case failed && exit.Code == 2:
		return 0, fmt.Errorf("this node has no group %s: make it, or name another one", name)
	case host.NotFound(err):
		g, err := user.LookupGroup(name)
		if err != nil {
			return 0, fmt.Errorf("this node has no group %s: make it, or name another one: %w", name, err)
		}
		return strconv.Atoi(g.Gid)
	case err != nil:
		return 0, fmt.Errorf("ask the name service for group %s: %w", name, err)
	}
	fields := strings.Split(strings.TrimSpace(string(out.Stdout)), ":")
	if len(fields) < 3 {
		return 0, fmt.Errorf("the name service says nothing usable of group %s", name)
	}
	return strconv.Atoi(fields[2])
}
