package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// errNoCredentials is the error of a run that knows no cloud.
var errNoCredentials = errors.New("no credentials found: set --os-cloud, or OS_AUTH_URL and the related OS_* variables")

// object is a JSON object that is sent.
type object = map[string]any

// Token returns the token of the session, authenticating when there is none yet.
func (c *Cloud) Token(ctx context.Context) (Token, error) {
	t, err := c.current(ctx)
	if err != nil {
		return Token{}, err
	}
	return *t, nil
}

func (c *Cloud) current(ctx context.Context) (*Token, error) {
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != nil {
		return c.token, nil
	}
	if t := c.cached(); t != nil {
		c.secret.add(t.ID)
		c.token, c.verified = t, false
		return t, nil
	}
	return c.renew(ctx)
}

// renew authenticates. The caller holds the lock.
func (c *Cloud) renew(ctx context.Context) (*Token, error) {
	t, err := c.authenticate(ctx)
	if err != nil {
		return nil, err
	}
	t.late = lateness(t, time.Now())
	c.token, c.verified = t, true
	c.keep(t)
	return t, nil
}

// replace authenticates again, unless the refused token is replaced already.
func (c *Cloud) replace(ctx context.Context, refused *Token) (*Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != nil && c.token != refused {
		return c.token, nil
	}
	c.forget()
	return c.renew(ctx)
}

// renewable reports whether the session can get another token by itself.
func (c *Cloud) renewable() bool {
	switch c.settings.authType() {
	case "none", "http_basic", "admin_token", "token":
		return false
	}
	return true
}

// spent says what gave the token of this run and serves once, "" for what may be
// used again.
func (c *Cloud) spent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.settings
	switch kind := s.authType(); {
	case !c.verified: // the token is one of the cache
	case kind == "oidcauthcode":
		return "authorization code (" + s.values["code"].Source + ")"
	case (kind == "totp" || kind == "multifactor" || kind == "password") && s.text("passcode") != "":
		return "passcode (" + s.values["passcode"].Source + ")"
	}
	return ""
}

// authType is the way to authenticate, without version: password, token,
// applicationcredential, totp, multifactor, oidc..., none, http_basic, admin_token.
func (s *settings) authType() string {
	if t := s.text("auth_type"); t != "" {
		t = strings.ToLower(t)
		if rest, ok := strings.CutPrefix(t, "v3"); ok {
			t = rest
		}
		switch t {
		case "noauth":
			t = "none"
		case "token_endpoint":
			t = "admin_token"
		}
		return t
	}
	app, tok := s.level("application_credential_id", "application_credential_name"), s.level("token")
	user := s.level("username", "user_id")
	switch {
	case app <= min(tok, user) && app <= assumed:
		// The name of an application credential needs its user beside it.
		return "applicationcredential"
	case tok <= user && tok <= assumed:
		return "token"
	}
	return "password"
}

// authenticate gets a new token.
func (c *Cloud) authenticate(ctx context.Context) (*Token, error) {
	t, err := c.here(ctx)
	if err != nil || c.settings.text("service_provider") == "" {
		return t, err
	}
	return c.elsewhere(ctx, t)
}

// here gets a token of the Keystone of the settings.
func (c *Cloud) here(ctx context.Context) (*Token, error) {
	s := c.settings
	kind := s.authType()
	switch kind {
	case "none", "http_basic", "admin_token":
		return c.standalone(ctx, kind)
	}
	if s.text("auth_url") == "" {
		if s.cloud != "" {
			return nil, fmt.Errorf("cloud %q has no auth_url: add it to its auth section, or give --os-auth-url", s.cloud)
		}
		return nil, errNoCredentials
	}
	if v := s.values["auth_url"]; !strings.Contains(v.Value, "://") {
		return nil, fmt.Errorf("the address %q of the identity service (%s) has no scheme: it begins with https://", v.Value, v.Source)
	}
	scope, err := s.scope()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(kind, "oidc") {
		t, err := c.federate(ctx, kind)
		if err != nil {
			return nil, err
		}
		return c.rescope(ctx, c.keystone(), t.ID, scope)
	}
	methods := []string{kind}
	switch {
	case kind == "multifactor":
		if methods = s.methods(); len(methods) == 0 {
			return nil, errors.New("auth type v3multifactor needs its methods: set auth_methods in clouds.yaml or OS_AUTH_METHODS, as in v3password,v3totp")
		}
	case kind == "password" && s.text("passcode") != "":
		methods = append(methods, "totp")
	}
	identity := object{}
	var sent []string
	for _, m := range methods {
		name, body, err := c.method(ctx, m)
		if err != nil {
			return nil, err
		}
		identity[name] = body
		sent = append(sent, name)
	}
	identity["methods"] = sent
	auth := object{"identity": identity}
	if scope != nil && !slices.Contains(sent, "application_credential") { // which has a scope of its own
		auth["scope"] = scope
	}
	return c.issue(ctx, c.keystone(), auth)
}

// method is the part of one method in the request for a token.
func (c *Cloud) method(ctx context.Context, kind string) (name string, body object, err error) {
	s := c.settings
	switch kind {
	case "password":
		user, err := s.user(true)
		if err != nil {
			return "", nil, err
		}
		if user["password"], err = c.password(ctx); err != nil {
			return "", nil, err
		}
		return "password", object{"user": user}, nil
	case "totp":
		user, err := s.user(true)
		if err != nil {
			return "", nil, err
		}
		if s.text("passcode") == "" {
			return "", nil, errors.New("auth type v3totp needs a passcode: give --os-passcode or OS_PASSCODE")
		}
		user["passcode"] = s.text("passcode")
		return "totp", object{"user": user}, nil
	case "token":
		if s.text("token") == "" {
			return "", nil, errors.New("auth type token needs a token: give --os-token or OS_TOKEN")
		}
		return "token", object{"id": s.text("token")}, nil
	case "applicationcredential":
		return c.applicationCredential()
	}
	return "", nil, fmt.Errorf("auth type %q (%s) is not known: use one of %s", s.text("auth_type"), s.values["auth_type"].Source, strings.Join(AuthTypes(), ", "))
}

// AuthTypes are the ways to authenticate that there are.
func AuthTypes() []string {
	return []string{
		"password", "token", "v3applicationcredential", "v3totp", "v3multifactor",
		"v3oidcpassword", "v3oidcclientcredentials", "v3oidcaccesstoken", "v3oidcauthcode", "v3oidcdeviceauthz", "none", "http_basic", "admin_token",
	}
}

func (c *Cloud) applicationCredential() (string, object, error) {
	s := c.settings
	if s.text("application_credential_secret") == "" {
		return "", nil, errors.New("the application credential has no secret: give --os-application-credential-secret or OS_APPLICATION_CREDENTIAL_SECRET")
	}
	body := object{"secret": s.text("application_credential_secret")}
	switch {
	case s.text("application_credential_id") != "":
		body["id"] = s.text("application_credential_id")
	case s.text("application_credential_name") != "":
		user, err := s.user(true)
		if err != nil {
			return "", nil, fmt.Errorf("an application credential that is given by its name needs its user: %w", err)
		}
		body["name"], body["user"] = s.text("application_credential_name"), user
	default:
		return "", nil, errors.New("no application credential: give --os-application-credential-id or OS_APPLICATION_CREDENTIAL_ID")
	}
	return "application_credential", body, nil
}

// methods are those of multi-factor authentication.
func (s *settings) methods() []string {
	list := strings.FieldsFunc(s.text("auth_methods"), func(r rune) bool { return strings.ContainsRune(", []'\"", r) })
	for i, m := range list {
		m = strings.TrimPrefix(strings.ToLower(m), "v3")
		list[i] = strings.ReplaceAll(m, "application_credential", "applicationcredential")
	}
	return list
}

// user names who authenticates: by id, or by name and domain.
func (s *settings) user(need bool) (object, error) {
	id, name := s.text("user_id"), s.text("username")
	if id != "" && s.level("user_id") <= s.level("username") {
		return object{"id": id}, nil
	}
	if name == "" {
		if !need {
			return nil, nil
		}
		if s.cloud == "" && s.level("auth_url") > assumed {
			return nil, errNoCredentials
		}
		return nil, errors.New("no user name: set --os-username, OS_USERNAME or username in clouds.yaml")
	}
	user := object{"name": name}
	for _, d := range []string{"user_domain", "domain", "project_domain"} {
		if domain := s.domain(d); domain != nil {
			user["domain"] = domain
			return user, nil
		}
	}
	user["domain"] = s.fallback()
	return user, nil
}

// domain reads a pair of settings: the id wins, unless the name was given at a level that does.
func (s *settings) domain(prefix string) object {
	id, name := s.text(prefix+"_id"), s.text(prefix+"_name")
	switch {
	case id != "" && s.level(prefix+"_id") <= s.level(prefix+"_name"):
		return object{"id": id}
	case name != "":
		return object{"name": name}
	}
	return nil
}

// fallback is the domain of what names none.
func (s *settings) fallback() object {
	if d := s.domain("default_domain"); d != nil {
		return d
	}
	if d := s.text("default_domain"); d != "" {
		return object{"id": d}
	}
	return object{"id": "default"}
}

// scope is the one thing the token is for, nil for none.
func (s *settings) scope() (object, error) {
	system := s.level("system_scope")
	project, domain, trust := s.level("project_id", "project_name"), s.level("domain_id", "domain_name"), s.level("trust_id")
	best := min(system, project, domain, trust)
	if system == typed {
		if project == typed || domain == typed {
			return nil, errors.New("--os-system-scope excludes --os-project-name, --os-project-id and --os-domain-name: a token is scoped to the system, a domain or a project, not several")
		}
	}
	switch {
	case best > assumed:
		return nil, nil //nolint:nilnil // no scope is a scope
	case system == best:
		if v := s.values["system_scope"]; v.Value != "all" {
			return nil, fmt.Errorf("%s: unsupported value %q, the only value Keystone defines is \"all\"", v.Source, v.Value)
		}
		return object{"system": object{"all": true}}, nil
	case trust == best:
		return object{"OS-TRUST:trust": object{"id": s.text("trust_id")}}, nil
	case project == best:
		return s.project(), nil
	}
	return object{"domain": s.domain("domain")}, nil
}

func (s *settings) project() object {
	if id := s.text("project_id"); id != "" && s.level("project_id") <= s.level("project_name") {
		return object{"project": object{"id": id}}
	}
	project := object{"name": s.text("project_name"), "domain": s.fallback()}
	for _, d := range []string{"project_domain", "user_domain", "domain"} {
		if domain := s.domain(d); domain != nil {
			project["domain"] = domain
			break
		}
	}
	return object{"project": project}
}

// keystone is the root of the identity API that issues tokens.
func (c *Cloud) keystone() string { return identityRoot(c.settings.text("auth_url")) }

func identityRoot(u string) string {
	u = strings.TrimRight(u, "/")
	for _, v := range []string{"/v3", "/v2.0", "/v2"} {
		if rest, ok := strings.CutSuffix(u, v); ok {
			u = rest
			break
		}
	}
	return u + "/v3"
}

// rescope turns a token into one of another scope.
func (c *Cloud) rescope(ctx context.Context, keystone, id string, scope object) (*Token, error) {
	auth := object{"identity": object{"methods": []string{"token"}, "token": object{"id": id}}}
	if scope != nil {
		auth["scope"] = scope
	}
	return c.issue(ctx, keystone, auth)
}

// issue asks a Keystone for a token.
func (c *Cloud) issue(ctx context.Context, keystone string, auth object) (*Token, error) {
	where := redactURLs(keystone)
	header := http.Header{"Accept": {"application/json"}}
	e, err := c.exchange(ctx, call{service: "identity", method: http.MethodPost, url: keystone + "/auth/tokens", header: header, body: object{"auth": auth}, once: true})
	if err != nil {
		return nil, fmt.Errorf("authenticate at %s: %w", where, c.whoWasRefused(err))
	}
	defer e.close()
	var answer tokenAnswer
	if err := e.decode(&answer); err != nil {
		return nil, fmt.Errorf("authenticate at %s: %w", where, err)
	}
	id := e.header.Get("X-Subject-Token")
	if id == "" {
		return nil, fmt.Errorf("authenticate at %s: the answer has no token in the header X-Subject-Token: is this a Keystone of version 3?", where)
	}
	c.secret.add(id)
	return answer.token(id), nil
}

// whoWasRefused adds where the refused credentials came from.
func (c *Cloud) whoWasRefused(err error) error {
	var f *Fault
	s := c.settings
	if !errors.As(err, &f) || f.Status != http.StatusUnauthorized && (f.Status != http.StatusNotFound || s.authType() != "token") {
		return err // keystone does not find a token that it does not know
	}
	what := "password"
	switch s.authType() {
	case "token":
		what = "token"
	case "applicationcredential":
		what = "application_credential_secret"
	case "totp":
		what = "passcode"
	}
	v, ok := s.values[what]
	if !ok && c.prompted != "" {
		v.Source = "what was entered"
	}
	if v.Source == "" {
		return err
	}
	who := s.text("username")
	if who == "" {
		who = s.text("user_id")
	}
	if who != "" && what == "password" {
		who = " of " + who
	} else {
		who = ""
	}
	f.hint = fmt.Sprintf("check the %s%s (%s)", strings.ReplaceAll(what, "_", " "), who, v.Source)
	if project, ok := s.values["project_name"]; ok && what == "password" { // Keystone does not say that there is no such project
		f.hint += fmt.Sprintf(", and the project %s (%s)", project.Value, project.Source)
	}
	return err
}
