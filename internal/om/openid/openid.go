// Package openid logs a person in with an OpenID provider: in a browser of this
// host, by an authorization code that comes back to a port of the loopback
// interface (RFC 8252, PKCE), or in any other browser by a code that the person
// types there (RFC 8628). It knows no secret of a client: whoever has the program
// would have it too.
//
//	Discover -> Browser: page, wait for its answer, exchange the code   -> Grant
//	         -> Device:  page and code to type, ask until somebody has  -> Grant
//	         -> Renew:   the refresh token of an earlier grant          -> Grant
//
// What a token says is read here to choose one and to know its end. Whether it is
// genuine is for the daemon to say, which has the keys of the provider.
package openid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Settings name the provider, and what the cluster is called there.
type Settings struct{ Issuer, ClientID string }

// Grant is what a login gave.
type Grant struct {
	Token      secret.String // to show to the cluster
	End        time.Time     // of the token
	Subject    string        // who logged in
	Refresh    secret.String // gives the next grant; zero: the provider renews nothing
	RefreshEnd time.Time     // zero: the provider does not say
}

// ErrEnded says that a grant cannot be renewed: somebody has to log in again.
var ErrEnded = errors.New("the session ended at the provider")

const (
	requestLimit = 30 * time.Second // of one request
	maxAnswer    = 1 << 20          // bytes
)

// Provider is a provider that said where it is talked to.
type Provider struct {
	http     *http.Client
	settings Settings
	now      func() time.Time

	issuer                       string // as it names itself
	authorization, token, device string
	offline                      bool // it has refresh tokens for those who ask
}

// Discover asks a provider where it is talked to. transport is how, that of the
// host when nil.
func Discover(ctx context.Context, transport http.RoundTripper, s Settings) (*Provider, error) {
	p := &Provider{settings: s, now: time.Now, http: &http.Client{
		Transport: transport, Timeout: requestLimit,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 3 || r.Method != http.MethodGet {
				return http.ErrUseLastResponse // what is posted is for nobody else
			}
			return private(r.URL.String())
		},
	}}
	if err := p.discover(ctx); err != nil {
		return nil, fmt.Errorf("OpenID provider %s: %w", s.Issuer, err)
	}
	return p, nil
}

func (p *Provider) discover(ctx context.Context) error {
	address := strings.TrimSuffix(p.settings.Issuer, "/") + "/.well-known/openid-configuration"
	if err := private(address); err != nil {
		return err
	}
	var document struct {
		Issuer        string   `json:"issuer"`
		Authorization string   `json:"authorization_endpoint"`
		Token         string   `json:"token_endpoint"`
		Device        string   `json:"device_authorization_endpoint"`
		Scopes        []string `json:"scopes_supported"`
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	status, err := p.ask(request, &document)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s answers %d: no provider is described there", address, status)
	}
	if document.Issuer == "" || document.Token == "" {
		return fmt.Errorf("%s names no issuer, or no token_endpoint", address)
	}
	for _, endpoint := range []string{document.Authorization, document.Token, document.Device} {
		if err := private(endpoint); endpoint != "" && err != nil {
			return err
		}
	}
	p.issuer, p.authorization, p.token, p.device = document.Issuer, document.Authorization, document.Token, document.Device
	p.offline = slices.Contains(document.Scopes, "offline_access")
	return nil
}

// private refuses the addresses where somebody between could read what is exchanged,
// and those that a terminal would not show as they are.
func private(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	ip := net.ParseIP(u.Hostname())
	switch {
	case strings.ContainsFunc(address, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("an address with what does not print")
	case u.Scheme == "https" && u.Host != "":
		return nil
	case u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()):
		return nil
	}
	return fmt.Errorf("%s: not an https address", u.Redacted())
}

// scope is what a login asks for.
func (p *Provider) scope() string {
	if p.offline {
		return "openid offline_access"
	}
	return "openid"
}

// ask reads an answer in JSON. An answer that is none is an error.
func (p *Provider) ask(r *http.Request, answer any) (status int, err error) {
	r.Header.Set("Accept", "application/json")
	response, err := p.http.Do(r)
	if err != nil {
		return 0, withoutQuery(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return response.StatusCode, err
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "application/json" && response.StatusCode >= 300 {
		return response.StatusCode, nil // a page for people: the status says enough
	}
	if err := json.Unmarshal(data, answer); err != nil {
		// Not what the decoder quotes: it may be a part of a token.
		return response.StatusCode, fmt.Errorf("%s answers %d with what is no JSON", r.URL.Redacted(), response.StatusCode)
	}
	return response.StatusCode, nil
}

// withoutQuery is an error of a request without what was asked.
func withoutQuery(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// RefusedError is an answer of the provider that is an error.
type RefusedError struct {
	Code        string // as access_denied
	Description string
	Status      int
}

// Error says it in the words of the provider.
func (e *RefusedError) Error() string {
	switch {
	case e.Code == "":
		return fmt.Sprintf("the provider answers %d", e.Status)
	case e.Description == "":
		return "the provider answers " + clip(e.Code)
	}
	return "the provider answers " + clip(e.Code) + ": " + clip(e.Description)
}

// clip keeps an error within some lines.
func clip(text string) string {
	const most = 300
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// answer is what the endpoints of a provider answer.
type answer struct {
	ID           string  `json:"id_token"`
	Access       string  `json:"access_token"`
	Refresh      string  `json:"refresh_token"`
	RefreshUntil seconds `json:"refresh_expires_in"` // of one common provider

	Code        string `json:"error"`
	Description string `json:"error_description"`

	DeviceCode string  `json:"device_code"`
	UserCode   string  `json:"user_code"`
	Page       string  `json:"verification_uri"`
	FullPage   string  `json:"verification_uri_complete"`
	Expires    seconds `json:"expires_in"`
	Interval   seconds `json:"interval"`
}

// seconds is a number of them. Some providers write it as a text.
type seconds int64

// UnmarshalJSON implements [json.Unmarshaler]. What is no number says nothing.
func (s *seconds) UnmarshalJSON(data []byte) error {
	if n, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64); err == nil && n >= 0 && n <= 1<<31 {
		*s = seconds(n)
	}
	return nil
}

func (s seconds) duration() time.Duration { return time.Duration(s) * time.Second }

// post asks an endpoint of the provider.
func (p *Provider) post(ctx context.Context, endpoint string, form url.Values) (answer, error) {
	form.Set("client_id", p.settings.ClientID)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var a answer
	status, err := p.ask(request, &a)
	switch {
	case err != nil:
		return answer{}, err
	case a.Code == "invalid_client", a.Code == "unauthorized_client":
		return a, fmt.Errorf("%w\nclient %s must be a public one at the provider: no secret, with PKCE, the authorization code, refresh tokens and device codes",
			&RefusedError{a.Code, a.Description, status}, p.settings.ClientID)
	case status != http.StatusOK || a.Code != "":
		return a, &RefusedError{a.Code, a.Description, status}
	}
	return a, nil
}

// grant makes a grant of an answer. nonce is what the identity token must repeat.
func (p *Provider) grant(a answer, nonce string) (Grant, error) {
	token, c, err := choose(p.settings.ClientID, a.ID, a.Access)
	if err != nil {
		return Grant{}, err
	}
	if id, err := parse(a.ID); nonce != "" && (err != nil || id.Nonce != nonce) {
		return Grant{}, errors.New("the identity token of the provider is not the answer to this login")
	}
	g := Grant{Token: secret.New(token), End: c.end(), Subject: c.Subject, Refresh: secret.New(a.Refresh)}
	if a.Refresh != "" && a.RefreshUntil > 0 {
		g.RefreshEnd = p.now().Add(a.RefreshUntil.duration())
	}
	return g, nil
}

// Renew gives the next grant for the refresh token of one. The provider may give
// another refresh token: that of before is worth nothing then.
func (p *Provider) Renew(ctx context.Context, refresh secret.String) (Grant, error) {
	a, err := p.post(ctx, p.token, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh.Reveal()}})
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Code == "invalid_grant" {
		return Grant{}, fmt.Errorf("%w (%w)", ErrEnded, err)
	}
	if err != nil {
		return Grant{}, err
	}
	if a.Refresh == "" {
		a.Refresh = refresh.Reveal()
	}
	return p.grant(a, "")
}
