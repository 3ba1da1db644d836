package httpd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
)

// proxiedHeader names the node that passed a request on, which the other one
// therefore does not.
const proxiedHeader = "OM-Proxied-By"

// servedBy names the node that answered.
const servedBy = "OM-Served-By"

const (
	dialTimeout   = 5 * time.Second  // to reach another node
	peerIdle      = 2 * time.Minute  // of a connection to another node
	peerHandshake = 10 * time.Second // of TLS with another node
)

// Peers tells where the API of the other nodes is reached.
type Peers interface {
	// Peers lists the nodes of the cluster, this one included.
	Peers() []string
	// Address returns the host and the port of the API of a node.
	Address(node string) (string, error)
}

// proxy passes the requests for another node on to it. The caller is authorized
// here, and again there, by a short-lived token that says who it is: whatever the
// caller proved its name with stays here.
type proxy struct {
	node   string
	peers  Peers
	tokens func(auth.Principal) (string, error)
	log    *slog.Logger
	client *http.Transport
}

// newProxy returns what passes requests on to the peers, whose certificates roots
// must have signed.
func newProxy(o Options) *proxy {
	p := &proxy{node: o.Node, peers: o.Peers, log: o.Log}
	p.tokens = func(who auth.Principal) (string, error) {
		token, err := o.Tokens.IssueProxy(who, time.Now())
		return token.Reveal(), err
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	p.client = &http.Transport{
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: o.Roots},
		TLSHandshakeTimeout: peerHandshake, IdleConnTimeout: peerIdle, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			node, _, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			if addr, err = p.peers.Address(node); err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, addr)
		},
	}
	return p
}

// pass answers a request for another node.
func (p *proxy) pass(c huma.Context, node string) {
	r, w := humago.Unwrap(c)
	if problem := p.refusal(r, node); problem != nil {
		writeProblem(c, problem)
		return
	}
	token, err := p.tokens(principal(r.Context()))
	if err != nil {
		writeProblem(c, api.NewProblem(http.StatusInternalServerError, fmt.Sprintf("pass the request on to node %s: %v", node, err)))
		return
	}
	w.Header().Del(servedBy)
	(&httputil.ReverseProxy{
		Transport: p.client, FlushInterval: -1, ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "https", node, ""
			r.Out.Header.Del("Cookie")
			r.Out.Header.Set("Authorization", "Bearer "+token)
			r.Out.Header.Set(proxiedHeader, p.node)
		},
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusUnauthorized {
				return errors.New("it does not believe this node about who asks: is it of the same cluster, and is its clock right?")
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.Header().Set(servedBy, p.node)
			if broken, ok := errors.AsType[*bodyError](err); ok {
				answer(w, broken.problem())
				return
			}
			answer(w, p.failure(node, err))
		},
	}).ServeHTTP(&passing{w}, r)
}

// refusal says why a request is not passed on.
func (p *proxy) refusal(r *http.Request, node string) *api.Problem {
	if from := r.Header.Get(proxiedHeader); from != "" {
		return api.NewProblem(http.StatusNotFound, fmt.Sprintf("node %s is not this one, %s, to which %s passed the request on", node, p.node, from))
	}
	known := []string{p.node}
	if p.peers != nil {
		known = p.peers.Peers()
	}
	for _, name := range known {
		if name == node && node != p.node {
			return nil
		}
	}
	return api.NewProblem(http.StatusNotFound, fmt.Sprintf("node %s is not known here: this is %s, the nodes of the cluster are %s", node, p.node, strings.Join(known, ", ")))
}

// failure is what is told of a node that does not answer.
func (p *proxy) failure(node string, err error) *api.Problem {
	status := http.StatusBadGateway
	if wrong, ok := errors.AsType[*url.Error](err); ok {
		err = wrong.Err
	}
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		status = http.StatusGatewayTimeout
	}
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		err = fmt.Errorf("its certificate is of no authority of the cluster: %w", unknown)
	}
	return api.NewProblem(status, fmt.Sprintf("node %s does not answer %s: %v", node, p.node, err))
}

// passing gives each part of an answer that is passed on a limited time to leave.
type passing struct{ http.ResponseWriter }

// Write implements [io.Writer].
func (w *passing) Write(data []byte) (int, error) {
	limitWrites(w.ResponseWriter)
	return w.ResponseWriter.Write(data)
}

// Unwrap gives a controller the writer it controls.
func (w *passing) Unwrap() http.ResponseWriter { return w.ResponseWriter }
