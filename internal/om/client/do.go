package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// maxAnswer bounds what is read of an answer: beyond, the other end is no agent.
const maxAnswer = 1 << 30

// Do calls an operation. A refusal is an *[api.Problem], the absence of a
// daemon a *[DownError], one of this host that answers nothing a *[HungError].
func Do[In, Out any](ctx context.Context, c *Client, op api.Operation[In, Out], in In) (out Out, err error) {
	ctx, stop, cancel := c.watch(ctx)
	defer cancel()
	defer stop()
	defer func() { err = hung(ctx, err) }()
	response, err := c.send(ctx, op.Describe(), in, "application/json")
	if err != nil {
		return out, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return out, fmt.Errorf("%s %s: read the answer: %w", op.Method, op.Path, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return out, problem(response, body)
	}
	if err := decode(response.Header, body, &out); err != nil {
		return out, fmt.Errorf("%s %s: decode the answer: %w", op.Method, op.Path, err)
	}
	return out, nil
}

// send sends a request, again when the token it carried was refused and there is
// another one.
func (c *Client) send(ctx context.Context, d api.Description, in any, accept string) (*http.Response, error) {
	r, err := encode(d.Path, in)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", d.Method, d.Path, err)
	}
	r.shorten(d.Method)
	if c.credential == nil {
		return c.sendWith(ctx, d, r, accept, c.token)
	}
	token, err := c.credential.Token(ctx, secret.String{})
	if err != nil {
		return nil, err
	}
	response, err := c.sendWith(ctx, d, r, accept, token)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, c.wrapTransport(err)
	}
	if token, err = c.credential.Token(ctx, token); err != nil {
		return nil, err
	}
	return c.sendWith(ctx, d, r, accept, token)
}

func (c *Client) sendWith(ctx context.Context, d api.Description, r *request, accept string, token secret.String) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, d.Method, c.base+r.url(), r.body())
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", d.Method, d.Path, err)
	}
	request.Header = r.header.Clone()
	request.Header.Set("Accept", accept)
	switch {
	case !token.IsZero():
		request.Header.Set("Authorization", "Bearer "+token.Reveal())
	case c.user != "":
		request.SetBasicAuth(c.user, c.password.Reveal())
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.wrapTransport(err)
	}
	return response, nil
}

// problem reads a refusal. Whatever is in the way (a proxy, another server) may
// answer something else than a problem document.
func problem(response *http.Response, body []byte) *api.Problem {
	var p api.Problem
	if err := json.Unmarshal(body, &p); err != nil || p.Status != response.StatusCode {
		return api.NewProblem(response.StatusCode, fmt.Sprintf("%s %s: unexpected answer %s", response.Request.Method, response.Request.URL.Path, response.Status))
	}
	return &p
}
