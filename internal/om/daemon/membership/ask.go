package membership

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// connect returns a client of a node that only believes an authority.
func connect(where, token string, authority []byte) (*client.Client, error) {
	return client.New(client.Options{Server: where, Token: secret.New(token), CA: authority})
}

// locate reads [scheme://]host[:port].
func locate(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return "", errors.New("write host, host:port or https://host:port")
	}
	port := u.Port()
	if port == "" {
		port = client.DefaultPort
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// ask calls an operation of another node. The error is an *[api.Problem] that says
// what it is about.
func ask[In, Out any](ctx context.Context, c *client.Client, what string, op api.Operation[In, Out], in In) (Out, error) {
	out, err := client.Do(ctx, c, op, in)
	if err == nil {
		return out, nil
	}
	refused, isAnswer := errors.AsType[*api.Problem](err)
	switch {
	case isAnswer && refused.Status == http.StatusUnauthorized:
		err = problem(http.StatusBadGateway, "%s does not believe the token: is it of its cluster, not expired, and are the clocks right?", what)
	case isAnswer && refused.Status < http.StatusInternalServerError && strings.HasPrefix(refused.Detail, what+" "):
		err = problem(refused.Status, "%s", refused.Detail)
	case isAnswer && refused.Status < http.StatusInternalServerError:
		err = problem(refused.Status, "%s refuses: %s", what, refused.Detail)
	case isAnswer:
		err = problem(http.StatusBadGateway, "%s fails: %s", what, refused.Detail)
	default:
		err = unreached(what, err)
	}
	return out, err
}

// unreached is what is told of a node that does not answer.
func unreached(what string, err error) *api.Problem {
	if wrong, ok := errors.AsType[*url.Error](err); ok {
		err = wrong.Err
	}
	var late net.Error
	unknown, isUnknown := errors.AsType[x509.UnknownAuthorityError](err)
	host, isOther := errors.AsType[x509.HostnameError](err)
	switch {
	case isUnknown:
		return problem(http.StatusBadGateway, "%s is not recognised: its certificate is not of the authority that the token names: was the token made there? %v", what, unknown)
	case isOther:
		return problem(http.StatusBadGateway, "%s is not recognised: %v: use a name that is in its certificate", what, host)
	case errors.As(err, &late) && late.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusGatewayTimeout, "%s does not answer: %v", what, err)
	}
	return problem(http.StatusBadGateway, "%s does not answer: %v", what, err)
}
