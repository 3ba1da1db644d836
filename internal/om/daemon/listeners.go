package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"
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
	cert   func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	server *httpd.Server
	state  *state.State
	bus    *bus.Bus
	log    *slog.Logger
	tried  chan struct{} // closed once it is known whether the network is listened to
	once   sync.Once

	asked chan struct{} // the listener is started, stopped or restarted

	mu      sync.Mutex
	stopped bool // by hand
}

var _ httpd.Listeners = (*listeners)(nil)

// Start implements [httpd.Listeners].
func (l *listeners) Start(string) error {
	if l.ask(false) {
		l.wake()
	}
	return nil
}

// Stop implements [httpd.Listeners].
func (l *listeners) Stop(string) error {
	if l.ask(true) {
		l.wake()
	}
	return nil
}

// Restart implements [httpd.Listeners].
func (l *listeners) Restart(string) error {
	l.ask(false)
	l.wake()
	return nil
}

// ask says whether the listener is to be stopped, and whether that is another wish.
func (l *listeners) ask(stopped bool) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed, l.stopped = l.stopped != stopped, stopped
	return changed
}

func (l *listeners) wake() {
	select {
	case l.asked <- struct{}{}:
	default: // it is about to look
	}
}

func (l *listeners) isStopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// serveSocket serves the unix socket. A daemon that has none is of no use. Who
// gets an answer can ask whether the network gets one.
func (l *listeners) serveSocket(ctx context.Context) error {
	select {
	case <-l.tried:
	case <-ctx.Done():
		return nil
	}
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
		if l.isStopped() {
			l.publish(cluster.Listener{State: cluster.ListenerStopped, Addr: config.Addr, Port: strconv.Itoa(config.Port)})
			select {
			case <-l.asked:
			case <-ctx.Done():
			}
			continue
		}
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
		case <-l.asked:
			return nil
		case <-changes.C():
			changes.Take()
			if l.state.View().Config.Listener != config {
				return nil
			}
		}
	}
}

func (l *listeners) serveOn(ctx context.Context, config cluster.ListenerConfig) error {
	listener, err := l.listen(ctx, config)
	if err != nil {
		return ended(err)
	}
	addr, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	l.log.Info("the API is served", slog.String("peer", listener.Addr().String()))
	l.publish(cluster.Listener{State: cluster.ListenerRunning, Addr: addr, Port: port})
	err = l.server.Serve(ctx, listener)
	l.publish(cluster.Listener{State: cluster.ListenerStopped, Addr: addr, Port: port})
	return errors.Join(err, ignoreClosed(listener.Close()))
}

// listen opens the listener, asking again until it can be.
func (l *listeners) listen(ctx context.Context, config cluster.ListenerConfig) (listener net.Listener, err error) {
	failed := ""
	err = retry.Until(ctx, retry.Policy{Interval: time.Second, Max: time.Minute}, func(ctx context.Context) (bool, error) {
		var err error
		if config.Port == 0 { // what the configuration says cannot be read
			err = errors.New("no port: see the issues of the cluster configuration")
		} else {
			listener, err = httpd.ListenCertificates(ctx, config.Addr, config.Port, l.cert)
		}
		if err != nil && failed != err.Error() {
			failed = err.Error()
			l.log.Error("the API is only served on the unix socket, the listener is tried again", slog.Any("err", err))
			l.publish(cluster.Listener{
				State: cluster.ListenerFailed, Addr: config.Addr, Port: strconv.Itoa(config.Port), Error: failed,
			})
		}
		return err == nil, nil
	})
	return listener, err
}

func (l *listeners) publish(v cluster.Listener) {
	v.UpdatedAt = time.Now()
	l.state.SetNodeListener(l.state.Node(), v)
	l.once.Do(func() { close(l.tried) })
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
