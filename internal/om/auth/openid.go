package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// OpenIDSettings name the provider whose tokens are accepted; none when the
// issuer is empty.
type OpenIDSettings struct{ Issuer, ClientID string }

const (
	discoveryTimeout = 5 * time.Second  // to ask the provider
	discoveryLife    = time.Hour        // of what it said
	discoveryRetry   = 10 * time.Second // after it did not answer
	keysEvery        = 5 * time.Second  // between two questions for its keys
	maxDocument      = 1 << 20
)

// OpenID recognises the users of an OpenID provider, by the tokens it signs. The
// provider is asked for its keys when they are first needed, and again when a
// token names another one.
type OpenID struct {
	settings func() OpenIDSettings
	client   *http.Client

	mu       sync.Mutex
	provider *provider
}

// provider is what a provider said of itself.
type provider struct {
	settings OpenIDSettings
	verifier *oidc.IDTokenVerifier
	err      error // why it is not known
	until    time.Time
}

// NewOpenID returns the users of the provider that settings name at each moment.
func NewOpenID(settings func() OpenIDSettings) *OpenID {
	return &OpenID{settings: settings, client: &http.Client{
		Timeout: discoveryTimeout, Transport: &spaced{next: http.DefaultTransport, answers: map[string]answer{}},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("too many redirections")
			}
			return mustBePrivate(r.URL)
		},
	}}
}

// Settings are those of the provider.
func (o *OpenID) Settings() OpenIDSettings { return o.settings() }

// signatures are the algorithms a provider may sign with: those with a public
// key. One that shares a secret would share it with every node.
func signatures() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// Verify returns the user a token of the provider is of.
func (o *OpenID) Verify(ctx context.Context, token string, now time.Time) (Principal, error) {
	settings := o.settings()
	if settings.Issuer == "" {
		return Principal{}, errors.New("no OpenID provider is configured")
	}
	if len(token) > MaxToken {
		return Principal{}, fmt.Errorf("token of %d bytes: at most %d are looked at", len(token), MaxToken)
	}
	parsed, err := jose.ParseSignedCompact(token, signatures())
	if err != nil {
		return Principal{}, fmt.Errorf("OpenID token: %w", err)
	}
	if len(parsed.Signatures) != 1 || parsed.Signatures[0].Protected.KeyID == "" {
		return Principal{}, errors.New("OpenID token: it does not name the key it is signed with")
	}
	verifier, err := o.known(ctx, settings, now)
	if err != nil {
		return Principal{}, err
	}
	limited, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	verified, err := verifier.Verify(limited, token)
	if err != nil {
		return Principal{}, fmt.Errorf("OpenID token: %w", err)
	}
	var claims struct {
		Entitlements words `json:"entitlements"`
	}
	if err := verified.Claims(&claims); err != nil {
		return Principal{}, fmt.Errorf("OpenID token of %q: %w", verified.Subject, err)
	}
	if verified.Subject == "" {
		return Principal{}, errors.New("OpenID token without a subject")
	}
	p := Principal{Name: verified.Subject, Namespace: "system", Method: MethodOpenID, Expires: verified.Expiry}
	for _, word := range claims.Entitlements {
		// What is no grant is an entitlement to something else.
		if g, err := rbac.ParseGrant(word); err == nil {
			p.Grants = append(p.Grants, g)
		}
	}
	return p, nil
}

// words is a list of texts, or one text that holds them all.
type words []string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *words) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*w = strings.Fields(text)
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("entitlements are neither a text nor a list of texts")
	}
	*w = list
	return nil
}

// known asks the provider about itself, unless it said so lately.
func (o *OpenID) known(ctx context.Context, settings OpenIDSettings, now time.Time) (*oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock() // whoever comes meanwhile waits for the same answer
	if p := o.provider; p != nil && p.settings == settings && now.Before(p.until) {
		return p.verifier, p.err
	}
	p := &provider{settings: settings, until: now.Add(discoveryLife)}
	if p.verifier, p.err = o.discover(context.WithoutCancel(ctx), settings); p.err != nil {
		if old := o.provider; old != nil && old.settings == settings && old.verifier != nil {
			p.verifier, p.err = old.verifier, nil // what it said before holds until it says otherwise
		}
		p.until = now.Add(discoveryRetry)
	}
	o.provider = p
	return p.verifier, p.err
}

func (o *OpenID) discover(ctx context.Context, settings OpenIDSettings) (*oidc.IDTokenVerifier, error) {
	fail := func(err error) (*oidc.IDTokenVerifier, error) {
		return nil, fmt.Errorf("OpenID provider %s: %w", settings.Issuer, err)
	}
	address, err := url.Parse(strings.TrimSuffix(settings.Issuer, "/") + "/.well-known/openid-configuration")
	if err != nil {
		return fail(err)
	}
	if err := mustBePrivate(address); err != nil {
		return fail(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return fail(err)
	}
	response, err := o.client.Do(request)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxDocument))
	if err != nil {
		return fail(err)
	}
	if response.StatusCode != http.StatusOK {
		return fail(fmt.Errorf("%s: %s", address, response.Status))
	}
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return fail(fmt.Errorf("%s: %w", address, err))
	}
	keys, err := url.Parse(document.Keys)
	if err == nil {
		err = mustBePrivate(keys)
	}
	if err != nil || document.Issuer == "" {
		return fail(errors.Join(errors.New("its configuration names no issuer, or no jwks_uri"), err))
	}
	var algorithms []string
	for _, a := range signatures() {
		algorithms = append(algorithms, string(a))
	}
	lasting := oidc.ClientContext(context.Background(), o.client) // the keys outlive the request that needs them first
	set := oidc.NewRemoteKeySet(lasting, document.Keys)           //nolint:contextcheck // see above
	return oidc.NewVerifier(document.Issuer, set, &oidc.Config{ClientID: settings.ClientID, SupportedSigningAlgs: algorithms}), nil
}

// mustBePrivate refuses the addresses where somebody between the node and the
// provider could put keys of his own.
func mustBePrivate(u *url.URL) error {
	if u.Scheme == "https" {
		return nil
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("%s: not an https address", u.Redacted())
}

// spaced asks the same address at most once in keysEvery: a token that names an
// unknown key has the keys read again, and anybody can make such tokens.
type spaced struct {
	next http.RoundTripper

	mu      sync.Mutex
	answers map[string]answer
}

type answer struct {
	response http.Response
	body     []byte
	at       time.Time
}

// RoundTrip implements [http.RoundTripper].
func (s *spaced) RoundTrip(r *http.Request) (*http.Response, error) {
	address := r.URL.String()
	s.mu.Lock()
	known, ok := s.answers[address]
	s.mu.Unlock()
	if ok && time.Since(known.at) < keysEvery {
		return known.copy(r), nil
	}
	response, err := s.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	fresh := answer{response: *response, body: body, at: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answers) > 8 { // a provider has two addresses
		clear(s.answers)
	}
	s.answers[address] = fresh
	return fresh.copy(r), nil
}

func (a answer) copy(r *http.Request) *http.Response {
	response := a.response
	response.Header = response.Header.Clone()
	response.Request, response.Body = r, io.NopCloser(bytes.NewReader(a.body))
	return &response
}
