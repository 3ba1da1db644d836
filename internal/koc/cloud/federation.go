package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// federate signs in at an OpenID Connect provider and shows Keystone its token.
// The token it returns has no scope.
func (c *Cloud) federate(ctx context.Context, kind string) (*Token, error) {
	s := c.settings
	for _, need := range []string{"identity_provider", "protocol"} {
		if s.text(need) == "" {
			return nil, s.lacks(need)
		}
	}
	access, err := c.accessToken(ctx, strings.TrimPrefix(kind, "oidc"))
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("%s/OS-FEDERATION/identity_providers/%s/protocols/%s/auth", c.keystone(),
		url.PathEscape(s.text("identity_provider")), url.PathEscape(s.text("protocol")))
	return c.unscoped(ctx, call{
		service: "identity", method: http.MethodPost, url: address, once: true,
		header: http.Header{"Authorization": {"Bearer " + access}, "Accept": {"application/json"}},
	})
}

// lacks is the error of a setting that the auth type needs.
func (s *settings) lacks(name string) error {
	k := keyOf(name)
	return fmt.Errorf("auth type %s needs %s: give %s, %s or %s in clouds.yaml", s.text("auth_type"), strings.ReplaceAll(name, "_", " "), k.flag(), k.envs()[0], name)
}

// unscoped is the token that a federated sign-in answers with.
func (c *Cloud) unscoped(ctx context.Context, k call) (*Token, error) {
	a, err := c.exchange(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("sign in at %s: %w", redactURLs(k.url), err)
	}
	defer a.close()
	var body tokenAnswer
	if err := a.decode(&body); err != nil {
		return nil, fmt.Errorf("sign in at %s: %w", redactURLs(k.url), err)
	}
	id := a.header.Get("X-Subject-Token")
	if id == "" {
		return nil, fmt.Errorf("sign in at %s: the answer has no token", redactURLs(k.url))
	}
	c.secret.add(id)
	return body.token(id), nil
}

// accessToken is what the provider gives for the credentials.
func (c *Cloud) accessToken(ctx context.Context, grant string) (string, error) {
	s := c.settings
	form := url.Values{"scope": {or(s.text("openid_scope"), "openid profile")}}
	switch grant {
	case "accesstoken":
		if s.text("access_token") == "" {
			return "", s.lacks("access_token")
		}
		return s.text("access_token"), nil
	case "password":
		password, err := c.password(ctx)
		if err != nil {
			return "", err
		}
		form.Set("grant_type", "password")
		form.Set("username", s.text("username"))
		form.Set("password", password)
	case "clientcredentials":
		form.Set("grant_type", "client_credentials")
	case "authcode":
		if s.text("code") == "" {
			return "", s.lacks("code")
		}
		form.Set("grant_type", "authorization_code")
		form.Set("code", s.text("code"))
		if back := s.text("redirect_uri"); back != "" {
			form.Set("redirect_uri", back)
		}
	case "deviceauthz":
		return c.device(ctx, form)
	default:
		return "", fmt.Errorf("auth type %q is not known", s.text("auth_type"))
	}
	endpoint, err := c.provider(ctx, "access_token_endpoint", "token_endpoint")
	if err != nil {
		return "", err
	}
	return c.granted(ctx, endpoint, form)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// provider finds an address of the provider: in the settings, else in its
// discovery document.
func (c *Cloud) provider(ctx context.Context, setting, member string) (string, error) {
	if u := c.settings.text(setting); u != "" {
		return u, nil
	}
	discovery := c.settings.text("discovery_endpoint")
	if discovery == "" {
		return "", c.settings.lacks("discovery_endpoint")
	}
	a, err := c.exchange(ctx, call{service: "identity provider", method: http.MethodGet, url: discovery, header: http.Header{"Accept": {"application/json"}}})
	if err != nil {
		return "", fmt.Errorf("read %s: %w", redactURLs(discovery), err)
	}
	defer a.close()
	var document map[string]any
	if err := a.decode(&document); err != nil {
		return "", err
	}
	u, _ := document[member].(string)
	if u == "" {
		return "", fmt.Errorf("the document %s has no %s: set %s", discovery, member, setting)
	}
	return u, nil
}

// grant sends a form to the provider, with the identity of the client.
func (c *Cloud) grant(ctx context.Context, endpoint string, form url.Values, into any) error {
	s := c.settings
	k := call{service: "identity provider", method: http.MethodPost, url: endpoint, body: form, once: true, header: http.Header{"Accept": {"application/json"}}}
	if id := s.text("client_id"); id != "" {
		form.Set("client_id", id)
		if secret := s.text("client_secret"); secret != "" {
			r := http.Request{Header: k.header}
			r.SetBasicAuth(id, secret)
		}
	}
	a, err := c.exchange(ctx, k)
	if err != nil {
		return err
	}
	defer a.close()
	return a.decode(into)
}

func (c *Cloud) granted(ctx context.Context, endpoint string, form url.Values) (string, error) {
	var tokens map[string]any
	if err := c.grant(ctx, endpoint, form, &tokens); err != nil {
		return "", fmt.Errorf("sign in at %s: %w", redactURLs(endpoint), err)
	}
	for name, v := range tokens {
		if text, ok := v.(string); ok && secretParameter(name) {
			c.secret.add(text)
		}
	}
	kind := or(c.settings.text("access_token_type"), "access_token")
	token, _ := tokens[kind].(string)
	if token == "" {
		return "", fmt.Errorf("sign in at %s: the answer has no %s", redactURLs(endpoint), kind)
	}
	return token, nil
}

// device lets the user sign in on another device, and waits.
func (c *Cloud) device(ctx context.Context, form url.Values) (string, error) {
	begin, err := c.provider(ctx, "device_authorization_endpoint", "device_authorization_endpoint")
	if err != nil {
		return "", err
	}
	endpoint, err := c.provider(ctx, "access_token_endpoint", "token_endpoint")
	if err != nil {
		return "", err
	}
	var started struct {
		Code     string `json:"device_code"`
		UserCode string `json:"user_code"`
		URI      string `json:"verification_uri"`
		Complete string `json:"verification_uri_complete"`
		Interval int    `json:"interval"`
		Expires  int    `json:"expires_in"`
	}
	if err := c.grant(ctx, begin, form, &started); err != nil {
		return "", fmt.Errorf("sign in at %s: %w", redactURLs(begin), err)
	}
	c.secret.add(started.Code)
	where := "open " + printable(or(started.Complete, started.URI))
	if started.Complete == "" {
		where += " and enter the code " + printable(started.UserCode)
	}
	_, _ = fmt.Fprintf(c.options.Streams.Err, "To sign in, %s\n", where)
	interval := time.Duration(max(started.Interval, 1)) * time.Second
	if started.Interval == 0 {
		interval = 5 * time.Second
	}
	end := time.Now().Add(time.Duration(max(started.Expires, 60)) * time.Second)
	for time.Now().Before(end) {
		if err := pause(ctx, interval); err != nil {
			return "", err
		}
		token, err := c.granted(ctx, endpoint, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {started.Code}})
		var f *Fault
		if !errors.As(err, &f) {
			return token, err
		}
		switch f.Code {
		case "slow_down":
			interval += 5 * time.Second
		case "authorization_pending":
		default:
			return "", err
		}
	}
	return "", errors.New("sign in: nobody did, in the time the identity provider gives")
}

// elsewhere turns a token into one of another cloud that trusts this one.
func (c *Cloud) elsewhere(ctx context.Context, local *Token) (*Token, error) {
	s := c.settings
	name := s.text("service_provider")
	var found *ServiceProvider
	var names []string
	for i, p := range local.Providers {
		if names = append(names, p.ID); p.ID == name {
			found = &local.Providers[i]
		}
	}
	if found == nil {
		return nil, fmt.Errorf("there is no service provider %q (%s): this cloud has %s", name, s.values["service_provider"].Source, or(strings.Join(names, ", "), "none"))
	}
	project := remote(s)
	if project == nil {
		return nil, errors.New("a service provider needs a project there: give --os-remote-project-name or --os-remote-project-id")
	}
	assertion, err := c.assertion(ctx, local, name)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/vnd.paos+xml"}}
	a, err := c.exchange(ctx, call{
		service: "service provider", method: http.MethodPost, url: found.SPURL, header: header, body: strings.NewReader(assertion), size: int64(len(assertion)),
		still: true, ok: []int{http.StatusOK, http.StatusFound, http.StatusSeeOther}, once: true,
	})
	if err != nil {
		return nil, fmt.Errorf("sign in at the service provider %s: %w", name, err)
	}
	a.drain()
	next := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/vnd.paos+xml"}}
	for _, cookie := range (&http.Response{Header: a.header}).Cookies() {
		next.Add("Cookie", cookie.Name+"="+cookie.Value)
	}
	there, err := c.unscoped(ctx, call{service: "service provider", method: http.MethodGet, url: found.AuthURL, header: next})
	if err != nil {
		return nil, err
	}
	root, _, _ := strings.Cut(found.AuthURL, "/OS-FEDERATION")
	return c.rescope(ctx, identityRoot(root), there.ID, project)
}

// assertion asks Keystone to say who we are, for a service provider.
func (c *Cloud) assertion(ctx context.Context, local *Token, provider string) (string, error) {
	body := object{"auth": object{
		"identity": object{"methods": []string{"token"}, "token": object{"id": local.ID}},
		"scope":    object{"service_provider": object{"id": provider}},
	}}
	a, err := c.exchange(ctx, call{service: "identity", method: http.MethodPost, url: c.keystone() + "/auth/OS-FEDERATION/saml2/ecp", body: body, header: http.Header{}, once: true})
	if err != nil {
		return "", fmt.Errorf("ask for an assertion for the service provider %s: %w", provider, err)
	}
	defer a.close()
	text, err := io.ReadAll(io.LimitReader(a.body, maxFault))
	if err != nil {
		return "", a.cut(err)
	}
	return string(text), nil
}

// remote is the project at the service provider, nil for none.
func remote(s *settings) object {
	if id := s.text("remote_project_id"); id != "" {
		return object{"project": object{"id": id}}
	}
	name := s.text("remote_project_name")
	if name == "" {
		return nil
	}
	domain := s.domain("remote_project_domain")
	if domain == nil {
		domain = s.fallback()
	}
	return object{"project": object{"name": name, "domain": domain}}
}
