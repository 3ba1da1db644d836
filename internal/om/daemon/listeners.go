package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// listeners are where the API is served.
type listeners struct {
	socket string
	cert   tls.Certificate
	server *httpd.Server
	state  *state.State
	bus    *bus.Bus
	log    *slog.Logger
}

// serveSocket serves the unix socket. A daemon that has none is of no use.
func (l *listeners) serveSocket(ctx context.Context) error {
	socket, err := httpd.ListenSocket(l.socket)
	if err != nil {
		return err
	}
	err = l.server.Serve(ctx, socket)
	return errors.Join(err, ignoreClosed(socket.Close()))
}

// serveTLS serves the listener the cluster configuration asks for, and another
// one when it changes. A port that is taken is asked for again: the services of
// the node do not depend on it.
func (l *listeners) serveTLS(ctx context.Context) error {
	changes := l.bus.Latest("listener", func(e *event.Envelope) (string, bool) {
		return "", e.Kind == event.ClusterConfigUpdated{}.Kind()
	})
	defer changes.Close()
	for ctx.Err() == nil {
		config := l.state.View().Config.Listener
		serving, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- l.serveOn(serving, config) }()
		err := l.untilOther(ctx, config, changes, done)
		cancel()
		if err == nil {
			err = <-done
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

// untilOther waits for the end of ctx, of what is served, or for another listener
// to be configured.
func (l *listeners) untilOther(ctx context.Context, config cluster.ListenerConfig, changes *bus.Latest, done chan error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-done:
			done <- nil
			return err
		case <-changes.C():
			changes.Take()
			if l.state.View().Config.Listener != config {
				return nil
			}
		}
	}
}

func (l *listeners) serveOn(ctx context.Context, config cluster.ListenerConfig) error {
	var listener net.Listener
	failed := ""
	err := retry.Until(ctx, retry.Policy{Interval: time.Second, Max: time.Minute}, func(ctx context.Context) (bool, error) {
		var err error
		if listener, err = httpd.ListenTLS(ctx, config.Addr, config.Port, l.cert); err != nil {
			if failed != err.Error() {
				failed = err.Error()
				l.log.Error("the API is only served on the unix socket", slog.Any("err", err))
				l.publish("failed", config.Addr, strconv.Itoa(config.Port))
			}
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return ended(err)
	}
	addr, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	l.log.Info("the API is served", slog.String("peer", listener.Addr().String()))
	l.publish("running", addr, port)
	err = l.server.Serve(ctx, listener)
	l.publish("stopped", addr, port)
	return errors.Join(err, ignoreClosed(listener.Close()))
}

func (l *listeners) publish(state, addr, port string) {
	l.bus.Publish(event.DaemonListenerUpdated{Node: l.bus.Node(), Listener: event.Listener{
		ID: "lsnr-inet", State: state, Addr: addr, Port: port, UpdatedAt: time.Now(),
	}})
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
