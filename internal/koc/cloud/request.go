package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

func (s Service) do(ctx context.Context, r Request) error {
	a, err := s.cloud.send(ctx, s, r)
	if err != nil {
		return err
	}
	defer a.close()
	if r.Into == nil || a.status == http.StatusNoContent {
		return a.finish()
	}
	return a.decode(r.Into)
}

func (s Service) open(ctx context.Context, r Request) (*Response, error) {
	a, err := s.cloud.send(ctx, s, r)
	if err != nil {
		return nil, err
	}
	return &Response{Status: a.status, Header: a.header, Body: a.body}, nil
}

// call is one request as it is sent.
type call struct {
	service string
	method  string
	url     string
	header  http.Header
	body    any
	size    int64
	ok      []int
	once    bool
	// still is for an answer that redirects and must not be followed.
	still bool
}

// send adds what identifies the session and the service to a request. A refused
// token is replaced once.
func (c *Cloud) send(ctx context.Context, s Service, r Request) (*answer, error) {
	token, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	k := call{service: s.Type, method: r.Method, header: http.Header{}, body: r.Body, size: r.Size, ok: r.OK, once: r.Once}
	if k.method == "" {
		k.method = http.MethodGet
	}
	if k.url, err = c.address(token, s, r); err != nil {
		return nil, err
	}
	k.header.Set("Accept", "application/json")
	s.microversion(k.header)
	for name, values := range r.Header {
		k.header[http.CanonicalHeaderKey(name)] = values
	}
	if k.method != http.MethodGet && k.method != http.MethodHead {
		c.wrote.Store(true)
	}
	if !replayable(r.Body) {
		if token, err = c.fresh(ctx, token); err != nil {
			return nil, err
		}
	}
	if err := c.identify(ctx, &k, s, token); err != nil {
		return nil, err
	}
	a, err := c.exchange(ctx, k)
	var fault *Fault
	if !errors.As(err, &fault) {
		return a, err
	}
	if fault.Status == http.StatusNotFound && replayable(r.Body) && fault.strange() {
		if elsewhere, ok := c.moved(ctx, s); ok && rewind(r.Body) == nil {
			return c.send(ctx, elsewhere, r)
		}
	}
	if fault.Status != http.StatusUnauthorized || !c.renewable() || c.spent() != "" || !replayable(r.Body) {
		return nil, c.explain(fault, s, token)
	}
	if token, err = c.replace(ctx, token); err != nil {
		return nil, err
	}
	if err := rewind(r.Body); err != nil {
		return nil, err
	}
	if err := c.identify(ctx, &k, s, token); err != nil {
		return nil, err
	}
	a, err = c.exchange(ctx, k)
	if errors.As(err, &fault) {
		return nil, c.explain(fault, s, token)
	}
	return a, err
}

// fresh makes sure that the token was issued in this run: a body that cannot be
// sent twice must not meet one that was revoked since it was cached.
func (c *Cloud) fresh(ctx context.Context, token *Token) (*Token, error) {
	c.mu.Lock()
	ok := c.verified || c.token != token
	c.mu.Unlock()
	if ok {
		return token, nil
	}
	return c.replace(ctx, token)
}

func replayable(body any) bool {
	if _, ok := body.(io.Seeker); ok {
		return true
	}
	_, ok := body.(io.Reader)
	return !ok
}

func rewind(body any) error {
	if s, ok := body.(io.Seeker); ok {
		if _, err := s.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("send the body again after a refused token: %w", err)
		}
	}
	return nil
}

// address is where a request goes. A link that a service made leads to the
// endpoint even when the service knows itself by another name, as one behind a
// proxy may, so that no token reaches a machine that is not of the catalogue.
func (c *Cloud) address(token *Token, s Service, r Request) (string, error) {
	address := s.Endpoint + r.Path
	if strings.Contains(r.Path, "://") {
		address = r.Path
		if !c.trusted(token, s, address) {
			var err error
			if address, err = rebase(address, s.Endpoint); err != nil {
				return "", err
			}
		}
	}
	if len(r.Query) > 0 {
		mark := "?"
		if strings.Contains(address, "?") {
			mark = "&"
		}
		address += mark + r.Query.Encode()
	}
	return address, nil
}

func (c *Cloud) trusted(token *Token, s Service, address string) bool {
	if sameOrigin(address, s.Endpoint) || sameOrigin(address, c.settings.text("auth_url")) {
		return true
	}
	for _, entry := range token.Catalog {
		for _, e := range entry.Endpoints {
			if sameOrigin(address, e.URL) {
				return true
			}
		}
	}
	return false
}

// rebase moves a link below an endpoint.
func rebase(link, endpoint string) (string, error) {
	from, err := url.Parse(link)
	if err != nil {
		return "", fmt.Errorf("follow a link of the service: %w", err)
	}
	to, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("endpoint %q: %w", endpoint, err)
	}
	from.Scheme, from.Host, from.User = to.Scheme, to.Host, nil
	base := strings.TrimRight(to.Path, "/")
	if last := base[strings.LastIndex(base, "/")+1:]; !within(from.Path, base) && last != "" {
		// The proxy adds a prefix that the service does not know.
		if rest, ok := strings.CutPrefix(from.Path, "/"+last); ok && (rest == "" || rest[0] == '/') {
			from.Path, from.RawPath = base+rest, ""
		}
	}
	return from.String(), nil
}

func within(path, base string) bool {
	rest, ok := strings.CutPrefix(path, base)
	return ok && (rest == "" || rest[0] == '/')
}

func sameOrigin(a, b string) bool {
	x, err := url.Parse(a)
	if err != nil {
		return false
	}
	y, err := url.Parse(b)
	return err == nil && x.Host != "" && x.Scheme == y.Scheme && hostPort(x) == hostPort(y)
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// exchange sends a call, again where that is safe, and returns an accepted answer.
func (c *Cloud) exchange(ctx context.Context, k call) (*answer, error) {
	body, err := encode(&k)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		a, err := c.once(ctx, k, body)
		wait, again := c.again(ctx, k, a, err, try)
		if again {
			if a != nil {
				a.drain()
			}
			if err := pause(ctx, wait); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if accepted(k.ok, a.status) {
			return a, nil
		}
		return nil, a.fault()
	}
}

func accepted(ok []int, status int) bool {
	if len(ok) == 0 {
		return status >= 200 && status < 300
	}
	return slices.Contains(ok, status)
}

// encode makes the body, nil when it is a reader or none.
func encode(k *call) ([]byte, error) {
	switch b := k.body.(type) {
	case nil, io.Reader:
		return nil, nil
	case url.Values:
		k.header.Set("Content-Type", "application/x-www-form-urlencoded")
		return []byte(b.Encode()), nil
	}
	var buffer bytes.Buffer
	e := json.NewEncoder(&buffer)
	e.SetEscapeHTML(false)
	if err := e.Encode(k.body); err != nil {
		return nil, fmt.Errorf("write the body of %s %s: %w", k.method, k.url, err)
	}
	if k.header.Get("Content-Type") == "" {
		k.header.Set("Content-Type", "application/json")
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// once sends a call one time.
func (c *Cloud) once(ctx context.Context, k call, body []byte) (*answer, error) {
	var reader io.Reader
	if r, ok := k.body.(io.Reader); ok {
		reader = r
	} else if body != nil {
		reader = bytes.NewReader(body)
	}
	if reader != nil {
		// The transport must not close what the caller owns.
		reader = struct{ io.Reader }{reader}
	}
	request, err := http.NewRequestWithContext(ctx, k.method, k.url, reader)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.method, k.url, err)
	}
	request.Header = k.header.Clone()
	request.Header.Set("User-Agent", "koc/"+c.options.Version)
	switch {
	case body != nil:
		request.ContentLength = int64(len(body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	case k.size > 0:
		request.ContentLength = k.size
	case reader != nil:
		request.ContentLength = -1
	}
	c.sent(request, body)
	client := c.client
	if k.still {
		still := *client
		still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		client = &still
	}
	response, err := client.Do(request) //nolint:bodyclose // the answer owns it
	if err != nil {
		return nil, c.masked(c.unreachable(k, err))
	}
	return &answer{cloud: c, call: k, status: response.StatusCode, header: response.Header, body: ending{response.Body, ctx.Err}, limit: c.options.limit}, nil
}
