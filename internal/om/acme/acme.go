// Package acme obtains certificates from ACME directories (RFC 8555), proving
// the names by http-01 challenges.
//
// The package asks and waits; what an answer of a directory means for the person
// who asked is decided by [Explain], which is pure. Where the answers to the
// challenges are published is given with the order.
package acme

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
)

// Client orders certificates.
type Client struct {
	HTTP    *http.Client // nil: one with deadlines, that retries
	Agent   string       // what it calls itself
	Now     func() time.Time
	Infof   func(format string, a ...any) // may be nil
	Attempt time.Duration                 // how long an order may take; 0: ten minutes
}

const (
	orderTimeout   = 10 * time.Minute
	cleanupTimeout = 30 * time.Second
)

// Issue obtains a certificate: the chain a directory gives, leaf first. It ends
// within the time of an order, whatever the directory does.
func (c *Client) Issue(ctx context.Context, o certificate.Order) ([]*x509.Certificate, error) {
	limit := c.Attempt
	if limit == 0 {
		limit = orderTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s did not issue the certificate within %s", o.Directory, limit))
	defer cancel()
	chain, err := c.issue(ctx, o)
	if err != nil {
		return nil, Explain(err, o.Directory, c.Now())
	}
	return chain, nil
}

func (c *Client) issue(ctx context.Context, o certificate.Order) ([]*x509.Certificate, error) {
	client := &acme.Client{
		Key: o.Account, HTTPClient: c.HTTP, DirectoryURL: o.Directory, UserAgent: c.Agent,
		RetryBackoff: func(n int, _ *http.Request, r *http.Response) time.Duration { return backoff(n, r) },
	}
	if c.HTTP == nil {
		client.HTTPClient = newHTTPClient()
	}
	if _, err := client.Discover(ctx); err != nil {
		return nil, during(ctx, "read the directory", err)
	}
	if err := c.register(ctx, client, o); err != nil {
		return nil, during(ctx, "register the account", err)
	}
	order, err := client.AuthorizeOrder(ctx, identifiers(o.Names))
	if err != nil {
		return nil, during(ctx, "order the certificate", err)
	}
	if err := c.prove(ctx, client, order, o); err != nil {
		return nil, err
	}
	url := order.URI
	if order, err = client.WaitOrder(ctx, url); err != nil {
		return nil, during(ctx, "wait for the order", err)
	}
	order.URI = url // an answer need not repeat it
	der, _, err := client.CreateCertFromOrder(ctx, order, o.Request, true)
	if err != nil {
		return nil, during(ctx, "finalize the order", err)
	}
	chain := make([]*x509.Certificate, len(der))
	for i, b := range der {
		if chain[i], err = x509.ParseCertificate(b); err != nil {
			return nil, fmt.Errorf("read the certificate: %w", err)
		}
	}
	return chain, nil
}

// register makes the account, or finds the one of the key.
func (c *Client) register(ctx context.Context, client *acme.Client, o certificate.Order) error {
	account := &acme.Account{}
	if o.Contact != "" {
		account.Contact = []string{"mailto:" + o.Contact}
	}
	_, err := client.Register(ctx, account, acme.AcceptTOS)
	if errors.Is(err, acme.ErrAccountAlreadyExists) {
		return nil
	}
	if err == nil {
		c.infof("account registered at %s", o.Directory)
	}
	return err
}

func identifiers(names []string) []acme.AuthzID {
	ids := make([]acme.AuthzID, len(names))
	for i, name := range names {
		ids[i] = acme.AuthzID{Type: "dns", Value: name}
		if _, err := netip.ParseAddr(name); err == nil {
			ids[i].Type = "ip"
		}
	}
	return ids
}

// proof is a name that is still to be proven.
type proof struct {
	name, url string
	challenge *acme.Challenge
}

// prove answers the challenges of an order, all at once.
func (c *Client) prove(ctx context.Context, client *acme.Client, order *acme.Order, o certificate.Order) (err error) {
	proofs, answers, err := c.challenges(ctx, client, order)
	if err != nil || len(proofs) == 0 {
		return err
	}
	// A name that stays pending counts against the limits of the directory.
	defer func() {
		if err != nil {
			abandon(ctx, client, proofs)
		}
	}()
	withdraw, err := o.Publish(ctx, answers)
	if err != nil {
		return err
	}
	defer func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if withdrawErr := withdraw(limited); withdrawErr != nil {
			c.infof("the answers to the challenges are left behind: %s", withdrawErr)
		}
	}()
	for _, p := range proofs {
		if _, err := client.Accept(ctx, p.challenge); err != nil {
			return during(ctx, "ask the directory to verify "+p.name, err)
		}
	}
	var failed error
	for _, p := range proofs {
		if _, err := client.WaitAuthorization(ctx, p.url); err != nil {
			failed = errors.Join(failed, during(ctx, "prove "+p.name, err))
		}
	}
	return failed
}

// challenges lists what is to be proven, with the answers by token.
func (*Client) challenges(ctx context.Context, client *acme.Client, order *acme.Order) ([]proof, map[string]string, error) {
	var proofs []proof
	answers := map[string]string{}
	for _, url := range order.AuthzURLs {
		z, err := client.GetAuthorization(ctx, url)
		if err != nil {
			return nil, nil, during(ctx, "read an authorization", err)
		}
		if z.Status == acme.StatusValid {
			continue
		}
		p := proof{name: z.Identifier.Value, url: url}
		for _, challenge := range z.Challenges {
			if challenge.Type == "http-01" {
				p.challenge = challenge
			}
		}
		if p.challenge == nil {
			return nil, nil, fmt.Errorf("the directory offers no http-01 challenge for %s, the only one that is supported", p.name)
		}
		if err := certificate.CheckToken(p.challenge.Token); err != nil {
			return nil, nil, err
		}
		answer, err := client.HTTP01ChallengeResponse(p.challenge.Token)
		if err != nil {
			return nil, nil, err
		}
		answers[p.challenge.Token] = answer
		proofs = append(proofs, p)
	}
	return proofs, answers, nil
}

// abandon gives up what was not proven. That it cannot changes nothing to the
// failure: the authorizations end by themselves.
func abandon(ctx context.Context, client *acme.Client, proofs []proof) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	for _, p := range proofs {
		_ = client.RevokeAuthorization(limited, p.url)
	}
}

func (c *Client) infof(format string, a ...any) {
	if c.Infof != nil {
		c.Infof(format, a...)
	}
}

// during says what was attempted, and why it ended when that was the time.
func during(ctx context.Context, what string, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%s: %w", what, cause)
	}
	return fmt.Errorf("%s: %w", what, err)
}
