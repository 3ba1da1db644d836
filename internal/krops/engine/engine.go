// Package engine speaks to the container engine of this host, docker or podman,
// through the socket of its API. No program is run.
//
// Every question has three answers: there, not there, and an error. A listing that
// fails is an error, never an empty list.
package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// The engines.
const (
	Docker = "docker"
	Podman = "podman"
)

// queryTime bounds one question; removing and creating take longer.
const (
	queryTime = 30 * time.Second
	actTime   = 3 * time.Minute
)

// An Engine is a container engine that answers.
type Engine struct {
	Name     string // Docker or Podman
	Socket   string // as the daemon sees it: what is mounted into the kind node
	Host     string // where we reach it: unix:///…
	Version  string
	Rootless bool
	Notes    []string // what an operator should know of the choice, one sentence each

	api *client.Client
}

// Close lets the connections go.
func (e *Engine) Close() error { return e.api.Close() }

// endpoint is where an engine may listen.
type endpoint struct {
	host string
	tls  *tlsFiles
	from string // what named it, for messages
}

type tlsFiles struct {
	ca, cert, key string
	unverified    bool
}

// open prepares a client. It does not connect.
func (p endpoint) open() (*client.Client, error) {
	scheme, _, _ := strings.Cut(p.host, "://")
	switch scheme {
	case "unix", "tcp", "http", "https", "npipe":
	case "ssh":
		return nil, fmt.Errorf("%s is %s: an engine behind ssh cannot be used; forward its socket and name that", p.from, p.host)
	default:
		return nil, fmt.Errorf("%s is %q: expected unix:///path or tcp://host:port", p.from, p.host)
	}
	web, err := p.web()
	if err != nil {
		return nil, fmt.Errorf("use %s of %s: %w", p.host, p.from, err)
	}
	scheme = "http"
	if p.tls != nil {
		scheme = "https"
	}
	api, err := client.New(client.WithHTTPClient(web), client.WithHost(p.host), client.WithScheme(scheme), client.WithUserAgent("krops-bootstrap"))
	if err != nil {
		return nil, fmt.Errorf("use %s of %s: %w", p.host, p.from, err)
	}
	return api, nil
}

// web is the HTTP client below, which follows no redirects.
func (p endpoint) web() (*http.Client, error) {
	transport := &http.Transport{MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second}
	if p.tls != nil {
		config, err := p.tls.config()
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = config
	}
	return &http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}, nil
}

func (f tlsFiles) config() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("read the client certificate of the engine: %w", err)
	}
	roots := x509.NewCertPool()
	authority, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, fmt.Errorf("read the authority of the engine: %w", err)
	}
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", f.ca)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: roots,
		InsecureSkipVerify: f.unverified, //nolint:gosec // as docker does while DOCKER_TLS_VERIFY is not set
	}, nil
}

// socket is the path of a unix socket, "" for another address.
func (p endpoint) socket() string {
	path, ok := strings.CutPrefix(p.host, "unix://")
	if !ok {
		return ""
	}
	return path
}

// absent tells whether an error says that the thing is not there.
func absent(err error) bool { return errdefs.IsNotFound(err) }

// why says what is wrong with a socket in words an operator can act on.
func why(err error) error {
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: this user may not use the socket of the engine (is it in the right group?)", err)
	case errors.Is(err, os.ErrNotExist):
		return errors.New("there is no such socket")
	}
	return err
}

// query bounds a question in time.
func query(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, queryTime)
}

// conflict tells whether an error says that something else is going on.
func conflict(err error) bool { return errdefs.IsConflict(err) }
