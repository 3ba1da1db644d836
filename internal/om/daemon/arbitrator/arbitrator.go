// Package arbitrator is both sides of a vote: how this node asks the arbitrators
// of its cluster, and how its daemon gives its own vote to other clusters.
//
// An arbitrator is a server on a third site. A plain one votes for every node that
// reaches it. One that is a daemon can be asked for an exclusive vote, which only
// one part of a split cluster gets: see [orchestrate.Lease].
package arbitrator

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// mostAnswer bounds what is read of an answer.
const mostAnswer = 64 << 10

// Prober asks arbitrators.
type Prober struct {
	// Password is the one a sec object holds.
	Password func(object string) (secret.String, error)
	// Dial connects to arbitrators; nil: as everybody does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex
	tickets map[cluster.Arbitrator]ticket
}

// ticket is a token of an arbitrator. It is asked for with the password while all
// is well: verifying a password takes an arbitrator longer than a vote may.
type ticket struct {
	token secret.String
	until time.Time
}

const (
	ticketLife  = 10 * time.Minute
	ticketRenew = 5 * time.Minute // before its end
)

// Question is what an arbitrator is asked.
type Question struct {
	ClusterID string
	Port      int // of arbitrators that say none
	Claim     orchestrate.Claim
	Release   bool // give an exclusive vote back
}

// Vote asks an arbitrator for its vote. An error says why it does not vote.
func (p *Prober) Vote(ctx context.Context, a cluster.Arbitrator, q Question) (orchestrate.Answer, error) {
	if !a.Exclusive {
		return orchestrate.Answer{Vote: true}, p.reach(ctx, a, q.Port)
	}
	asked := time.Now()
	body, err := json.Marshal(api.VoteClaim{ClusterID: q.ClusterID, Node: q.Claim.Node, Members: q.Claim.Members, Release: q.Release})
	if err != nil {
		return orchestrate.Answer{}, err
	}
	var g api.VoteGrant
	_, held := p.ticket(a)
	err = p.call(ctx, a, q.Port, api.PostArbitratorVote.Method, api.PostArbitratorVote.Path, body, &g)
	if _, holds := p.ticket(a); err != nil && held && !holds { // the token is not believed any more, the password may be
		err = p.call(ctx, a, q.Port, api.PostArbitratorVote.Method, api.PostArbitratorVote.Path, body, &g)
	}
	if err != nil {
		return orchestrate.Answer{}, err
	}
	switch g.Verdict {
	case string(orchestrate.VoteGranted):
		// The lease began before it was answered: it is taken to begin when it was asked for.
		answer := orchestrate.Answer{Vote: true, Until: asked.Add(time.Duration(g.Lease) * time.Millisecond)}
		if g.Wait > 0 {
			answer.NotBefore = time.Now().Add(time.Duration(g.Wait) * time.Millisecond)
		}
		return answer, nil
	case string(orchestrate.VoteRefused):
		return orchestrate.Answer{Refused: true}, fmt.Errorf("%s gave its vote to %s", a.URI, strings.Join(g.Holders, ", "))
	case "released":
		return orchestrate.Answer{}, nil
	}
	return orchestrate.Answer{}, fmt.Errorf("%s answers with the verdict %.64q: it is no arbitrator", a.URI, g.Verdict)
}

// Check sees whether an arbitrator would vote, without asking it to.
func (p *Prober) Check(ctx context.Context, a cluster.Arbitrator, q Question) error {
	if !a.Exclusive {
		return p.reach(ctx, a, q.Port)
	}
	if err := p.login(ctx, a, q.Port); err != nil {
		return err
	}
	path := api.GetArbitratorVote.Path + "?" + url.Values{"cluster_id": {q.ClusterID}}.Encode()
	return p.call(ctx, a, q.Port, api.GetArbitratorVote.Method, path, nil, &api.VoteHolders{})
}

// login gets a token of an arbitrator, unless the one there is lasts.
func (p *Prober) login(ctx context.Context, a cluster.Arbitrator, port int) error {
	asked := time.Now()
	if t, ok := p.ticket(a); ok && asked.Before(t.until.Add(-ticketRenew)) {
		return nil
	}
	p.forget(a)
	q := url.Values{"role": {string(rbac.Heartbeat)}, "access_duration": {ticketLife.String()}, "refresh": {"false"}}
	var made api.AuthToken
	if err := p.call(ctx, a, port, api.PostAuthToken.Method, api.PostAuthToken.Path+"?"+q.Encode(), nil, &made); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tickets == nil {
		p.tickets = map[cluster.Arbitrator]ticket{}
	}
	p.tickets[a] = ticket{token: secret.New(made.AccessToken), until: asked.Add(ticketLife)}
	return nil
}

// ticket is the token of an arbitrator, when there is one.
func (p *Prober) ticket(a cluster.Arbitrator) (ticket, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.tickets[a]
	return t, ok && time.Now().Before(t.until)
}

func (p *Prober) forget(a cluster.Arbitrator) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tickets, a)
}

// identify says who asks: by the token there is, else by the password.
func (p *Prober) identify(a cluster.Arbitrator, r *http.Request) error {
	if t, ok := p.ticket(a); ok {
		r.Header.Set("Authorization", "Bearer "+t.token.Reveal())
		return nil
	}
	password, err := p.Password(a.Password)
	if err != nil {
		return fmt.Errorf("the password of user %s: %w", a.Username, err)
	}
	r.SetBasicAuth(a.Username, password.Reveal())
	return nil
}

// reach sees whether a plain arbitrator answers: a url with success, a port by
// taking the connection.
func (p *Prober) reach(ctx context.Context, a cluster.Arbitrator, port int) error {
	if strings.Contains(a.URI, "://") {
		return p.request(ctx, a, http.MethodGet, a.URI, nil, nil)
	}
	c, err := p.dial(ctx, "tcp", address(a.URI, port))
	if err != nil {
		return err
	}
	return c.Close()
}

// call calls an operation of an arbitrator that is a daemon.
func (p *Prober) call(ctx context.Context, a cluster.Arbitrator, port int, method, path string, body []byte, answer any) error {
	host := a.URI
	if scheme, rest, ok := strings.Cut(host, "://"); ok {
		if scheme != "https" {
			return fmt.Errorf("%s: an exclusive vote is asked for over https", a.URI)
		}
		host, _, _ = strings.Cut(rest, "/")
	}
	return p.request(ctx, a, method, "https://"+address(host, port)+path, body, answer)
}

func (p *Prober) request(ctx context.Context, a cluster.Arbitrator, method, location string, body []byte, answer any) (err error) {
	r, err := http.NewRequestWithContext(ctx, method, location, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if a.Exclusive {
		if err := p.identify(a, r); err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
	}
	transport := &http.Transport{
		DialContext: p.dial, DisableKeepAlives: true, ForceAttemptHTTP2: false,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: a.Insecure, MinVersion: tls.VersionTLS12}, //nolint:gosec // as the configuration says
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		if a.Exclusive {
			return http.ErrUseLastResponse // the password is for that server only
		}
		return nil
	}}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("%s: %w", a.URI, err)
	}
	if response.StatusCode == http.StatusUnauthorized {
		p.forget(a) // its keys are others since, or the user is
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("%s answers %s", a.URI, response.Status)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s answers what is no vote: %w", a.URI, err)
	}
	return nil
}

func (p *Prober) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if p.Dial != nil {
		return p.Dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// address is host:port, with the port that is implied when there is none.
func address(uri string, port int) string {
	if _, _, err := net.SplitHostPort(uri); err == nil {
		return uri
	}
	return net.JoinHostPort(strings.Trim(uri, "[]"), strconv.Itoa(port))
}
