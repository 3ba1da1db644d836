// Package client calls the API of an agent. [Do] calls any operation declared
// in package api; there is nothing to write per endpoint.
//
// A client talks either to the daemon of this host, through its unix socket and
// without credential, or to a server over TLS with a bearer token.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Options say where the daemon is and who the caller is. Give Socket or Server.
type Options struct {
	Socket   string        // path of the unix socket of the daemon of this host
	Server   string        // host, host:port or https://host:port of a listener
	Token    secret.String // bearer token, with Server
	CA       []byte        // PEM certificates of the authorities trusted, with Server; nil: those of the host
	Insecure bool          // do not verify the certificate of Server

	// Credential gives tokens that are renewed, in place of Token.
	Credential Credential
	// Certificate is shown to Server, for a user who is known by it.
	Certificate *tls.Certificate
	// User and Password identify the caller, to get a token. They are sent to
	// Server with each request.
	User     string
	Password secret.String
}

// Credential gives the token of a request.
type Credential interface {
	// Token returns the token to send. refused is the one that was not taken,
	// zero at first: the answer is another one, or an error that says what to do.
	Token(ctx context.Context, refused secret.String) (secret.String, error)
}

// DefaultPort is the port of the listener when none is given.
const DefaultPort = "1215"

// dialTimeout bounds the opening of a connection: a node that is gone does not
// hold a command for minutes.
const dialTimeout = 5 * time.Second

// Client calls one daemon. It is safe for concurrent use.
type Client struct {
	http   *http.Client
	base   string // scheme and authority of the URLs
	target string // for errors

	token      secret.String
	credential Credential // nil: token, if any
	user       string
	password   secret.String

	patience, pulse time.Duration // of a daemon of this host; see their constants
}

// New returns a client. It connects at the first call.
func New(o Options) (*Client, error) {
	if o.Socket != "" {
		return &Client{
			http: &http.Client{Transport: &http.Transport{
				DisableCompression: true, // the other end is this host
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return socket.Dial(ctx, o.Socket)
				},
			}},
			base: "http://localhost", target: o.Socket, patience: patience, pulse: pulse,
		}, nil
	}
	base, err := baseURL(o.Server)
	if err != nil {
		return nil, err
	}
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: o.Insecure} //nolint:gosec // asked by the user
	if o.CA != nil {
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(o.CA) {
			return nil, errors.New("certificate authority: no PEM certificate in it")
		}
	}
	if o.Certificate != nil {
		tlsConfig.Certificates = []tls.Certificate{*o.Certificate}
	}
	// A link that is gone is noticed in half a minute, a stream of events that is
	// silent included.
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	return &Client{
		http: &http.Client{Transport: &http.Transport{
			TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTimeout,
			DialContext: dialer.DialContext,
		}},
		base: base.String(), target: base.Host,
		token: o.Token, credential: o.Credential, user: o.User, password: o.Password,
	}, nil
}

// Close drops the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func baseURL(server string) (*url.URL, error) {
	if server == "" {
		return nil, errors.New("no server: give the address of a listener or the path of a socket")
	}
	text := server
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("server %q: write host, host:port or https://host:port", server)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), DefaultPort)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}
