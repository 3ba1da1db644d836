package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
)

const (
	headerTimeout = 10 * time.Second // to send the headers of a request
	idleTimeout   = 2 * time.Minute  // of a connection without a request
	closeTimeout  = 5 * time.Second  // for requests in progress to end when the daemon does
)

// ProtocolHeartbeat is the name by which TLS clients ask for heartbeats rather than
// for the API.
const ProtocolHeartbeat = "holdfast-hb/1"

// ListenSocket makes the unix socket at path, in a directory only its owner enters.
func ListenSocket(path string) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of the socket: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory is entered
		return nil, fmt.Errorf("directory of the socket: %w", err)
	}
	l, err := socket.Listen(path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("mode of the socket: %w", err), l.Close())
	}
	return l, nil
}

// ListenTLS is [ListenCertificates] with one certificate for every client.
func ListenTLS(ctx context.Context, addr string, port int, cert tls.Certificate) (net.Listener, error) {
	return ListenCertificates(ctx, addr, port, func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &cert, nil })
}

// ListenCertificates opens the listener of the cluster. An empty addr is every
// address, port 0 any free port. certificate gives the one to present to a client.
func ListenCertificates(ctx context.Context, addr string, port int, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(addr, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen on port %d, listener.port of the cluster configuration: %w", port, err)
	}
	return tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS13, GetCertificate: certificate, NextProtos: []string{"h2", "http/1.1", ProtocolHeartbeat},
		ClientAuth: tls.RequestClientCert, // who holds one is recognised by it, see package auth
	}), nil
}

// Serve answers on the listeners until ctx ends, then lets the requests in
// progress end, and closes the listeners.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler: s, Protocols: protocols, MaxHeaderBytes: maxHeaders,
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog:    slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return requests },
		ConnContext: withPeer,
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){
			ProtocolHeartbeat: func(_ *http.Server, c *tls.Conn, _ http.Handler) { s.serveHeartbeats(requests, c) },
		},
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, l := range listeners {
		g.Go(func() error {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve on %s: %w", l.Addr(), err)
			}
			return nil
		})
	}
	g.Go(func() error {
		<-ctx.Done()
		cancel() // streams and waits end now
		limited, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer stop()
		if err := server.Shutdown(limited); err != nil {
			return errors.Join(fmt.Errorf("requests in progress: %w", err), server.Close())
		}
		return nil
	})
	return g.Wait()
}

// serveHeartbeats gives a connection of a peer to the heartbeats, until ctx ends.
func (s *Server) serveHeartbeats(ctx context.Context, c *tls.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // which ends the reading
	defer stop()
	if s.o.Beats == nil || c.SetDeadline(time.Time{}) != nil {
		_ = c.Close() // nobody listens
		return
	}
	s.o.Beats(c)
}
