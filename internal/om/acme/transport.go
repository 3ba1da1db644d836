package acme

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

const (
	requestTimeout = time.Minute
	headerTimeout  = 20 * time.Second
	bodyLimit      = 8 << 20 // of an answer
)

// newHTTPClient returns the client directories are asked with. It verifies them
// with the authorities of the system (SSL_CERT_FILE names others), goes through
// the proxy of the environment, and never waits for ever.
func newHTTPClient() *http.Client {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, ResponseHeaderTimeout: headerTimeout, TLSHandshakeTimeout: headerTimeout}
	return &http.Client{Transport: Patient(t), Timeout: requestTimeout}
}

// Patient sends again a request that got no answer at all, and bounds what is
// read of the answers. Directories accept that: a request that was received the
// first time is refused for its nonce, and then signed again.
func Patient(t http.RoundTripper) http.RoundTripper { return patient{t} }

type patient struct{ next http.RoundTripper }

const tries = 3

// RoundTrip implements [http.RoundTripper].
func (p patient) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	ctx := r.Context()
	left := tries
	waitErr := retry.Until(ctx, retry.Policy{Interval: time.Second, Max: 5 * time.Second}, func(context.Context) (bool, error) {
		left--
		answer, err = p.next.RoundTrip(r) //nolint:bodyclose // the caller closes it
		if err == nil || left == 0 || ctx.Err() != nil || r.Body != nil && r.GetBody == nil {
			return true, nil //nolint:nilerr // the caller returns it
		}
		if r.Body != nil {
			body, bodyErr := r.GetBody()
			if bodyErr != nil {
				return false, bodyErr
			}
			r = r.Clone(ctx)
			r.Body = body
		}
		return false, nil
	})
	switch {
	case err != nil:
		return nil, err
	case waitErr != nil:
		return nil, waitErr
	}
	answer.Body = limited{io.LimitReader(answer.Body, bodyLimit), answer.Body}
	return answer, nil
}

type limited struct {
	io.Reader
	io.Closer
}
