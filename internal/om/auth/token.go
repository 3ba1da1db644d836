package auth

import (
	"crypto"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Life of a token.
const (
	DefaultLife        = 10 * time.Minute
	MaxLife            = 24 * time.Hour
	DefaultRefreshLife = 24 * time.Hour
	MaxRefreshLife     = 30 * 24 * time.Hour
	proxyLife          = time.Minute
)

// algorithm is the only one accepted: a token does not choose how it is verified.
const algorithm = jose.ES256

// The token_use of the tokens.
const (
	useAccess  = "access"  // calls operations
	useRefresh = "refresh" // makes access tokens, and nothing else
	useProxy   = "proxy"   // a node calls another one for somebody
)

// leeway is how much the clocks of the nodes of a cluster may differ.
const leeway = 5 * time.Second

// MaxToken bounds what is looked at: a token with hundreds of grants is shorter.
const MaxToken = 16 << 10

// Tokens makes and verifies the bearer tokens of a cluster.
type Tokens struct {
	issuer    string
	key       *ecdsa.PrivateKey
	signer    jose.Signer
	authority string // PEM
}

// NewTokens returns the tokens signed by key, a P-256 key that serves nothing
// else. The issuer is the id of the cluster: another cluster with the same key
// material still does not accept them.
func NewTokens(key *ecdsa.PrivateKey, issuer string) (*Tokens, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return nil, fmt.Errorf("token signing key: %w", err)
	}
	return &Tokens{issuer: issuer, key: key, signer: signer}, nil
}

// Naming returns the tokens that name the authority of the certificates of the
// cluster when they let a node join: the bearer is not of the cluster yet, and
// trusts nothing of it otherwise.
func (t *Tokens) Naming(authority []byte) *Tokens {
	named := *t
	named.authority = string(authority)
	return &named
}

// PublicKey is what verifies the tokens.
func (t *Tokens) PublicKey() crypto.PublicKey { return t.key.Public() }

// Session is what a refresh token renews.
type Session struct {
	Subject string
	Grants  rbac.Grants // of the tokens it makes, unless they are those of a user
	User    bool        // the grants are those the user has when the token is used
	UserID  string      // of the object of that user
	Roles   []string    // limit those of the user; none is no limit
	Scope   string      // likewise
	Stamp   string      // of the password the session began with, see [User]
}

type claims struct {
	jwt.Claims

	TokenUse string   `json:"token_use"`
	Grant    []string `json:"grant,omitempty"`
	Method   string   `json:"auth,omitempty"`  // of a proxy token: how the caller was recognised
	Until    int64    `json:"until,omitempty"` // of a proxy token: when what the caller presented expires
	User     bool     `json:"user,omitempty"`  // the grants follow those of the user
	UserID   string   `json:"user_id,omitempty"`
	Role     []string `json:"role,omitempty"`  // of a refresh token, and those below
	Scope    string   `json:"scope,omitempty"` //
	Stamp    string   `json:"stamp,omitempty"` //
	CA       string   `json:"ca,omitempty"`    // of a token that lets a node join
}

// Issue makes a token that says the bearer is subject, with these grants, for
// life from now on; zero is [DefaultLife].
func (t *Tokens) Issue(subject string, grants rbac.Grants, life time.Duration, now time.Time) (secret.String, time.Time, error) {
	return t.issue(subject, claims{}, grants, life, now)
}

// IssueUser is [Tokens.Issue] for a user of the cluster: what the token gives is
// never more than what the user still has when it is presented. The id is that of
// the object of the user.
func (t *Tokens) IssueUser(subject, id string, grants rbac.Grants, life time.Duration, now time.Time) (secret.String, time.Time, error) {
	return t.issue(subject, claims{User: true, UserID: id}, grants, life, now)
}

func (t *Tokens) issue(subject string, c claims, grants rbac.Grants, life time.Duration, now time.Time) (secret.String, time.Time, error) {
	if life == 0 {
		life = DefaultLife
	}
	if life < time.Second || life > MaxLife {
		return secret.String{}, time.Time{}, fmt.Errorf("token duration %s: must be between 1s and %s", life, MaxLife)
	}
	c.TokenUse, c.Grant = useAccess, grants.Strings()
	if slices.ContainsFunc(grants, func(g rbac.Grant) bool { return g.Role == rbac.Join }) {
		c.CA = t.authority
	}
	return t.sign(subject, c, life, now)
}

// IssueRefresh makes a token that renews a session, for life from now on; zero
// is [DefaultRefreshLife].
func (t *Tokens) IssueRefresh(s Session, life time.Duration, now time.Time) (secret.String, time.Time, error) {
	if life == 0 {
		life = DefaultRefreshLife
	}
	if life < time.Second || life > MaxRefreshLife {
		return secret.String{}, time.Time{}, fmt.Errorf("refresh token duration %s: must be between 1s and %s", life, MaxRefreshLife)
	}
	c := claims{TokenUse: useRefresh, User: s.User, UserID: s.UserID, Role: s.Roles, Scope: s.Scope, Stamp: s.Stamp}
	if !s.User {
		c.Grant = s.Grants.Strings()
	}
	return t.sign(s.Subject, c, life, now)
}

// IssueProxy makes a token for a node to call another one for p.
func (t *Tokens) IssueProxy(p Principal, now time.Time) (secret.String, error) {
	if !p.Caller().Known {
		return secret.String{}, errors.New("a proxy token for nobody")
	}
	c := claims{TokenUse: useProxy, Method: p.Method, User: p.User, UserID: p.UserID, Grant: p.Grants.Strings()}
	if !p.Expires.IsZero() {
		c.Until = p.Expires.Unix()
	}
	token, _, err := t.sign(p.Name, c, proxyLife, now)
	return token, err
}

func (t *Tokens) sign(subject string, c claims, life time.Duration, now time.Time) (secret.String, time.Time, error) {
	if subject == "" {
		return secret.String{}, time.Time{}, errors.New("token without a subject")
	}
	expires := now.Add(life).Truncate(time.Second)
	c.Claims = jwt.Claims{
		ID: uuid.NewString(), Issuer: t.issuer, Subject: subject,
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(expires),
	}
	token, err := jwt.Signed(t.signer).Claims(c).Serialize()
	if err != nil {
		return secret.String{}, time.Time{}, fmt.Errorf("sign the token: %w", err)
	}
	return secret.New(token), expires, nil
}

// Verify returns who a token says the bearer is: an access token, or that of a
// node which calls for somebody.
func (t *Tokens) Verify(token string, now time.Time) (Principal, error) {
	c, err := t.open(token, now)
	if err != nil {
		return Principal{}, err
	}
	p := Principal{Name: c.Subject, Namespace: "system", Method: MethodToken, User: c.User, UserID: c.UserID}
	switch c.TokenUse {
	case useAccess:
		p.Expires = c.Expiry.Time().Add(leeway)
	case useProxy:
		if c.Until != 0 {
			p.Expires = time.Unix(c.Until, 0)
		}
		if p.Proxied = true; c.Method != "" && c.Method != MethodRefresh {
			p.Method = c.Method
		}
	default:
		return Principal{}, fmt.Errorf("token of %q: its use is %q, not %q", c.Subject, c.TokenUse, useAccess)
	}
	p.Grants, err = parseGrants(c.Subject, c.Grant)
	if err != nil {
		return Principal{}, err
	}
	return p, nil
}

// VerifyRefresh returns the caller a refresh token makes: one who may renew the
// session, and nothing else.
func (t *Tokens) VerifyRefresh(token string, now time.Time) (Principal, error) {
	c, err := t.open(token, now)
	if err != nil {
		return Principal{}, err
	}
	if c.TokenUse != useRefresh {
		return Principal{}, fmt.Errorf("token of %q: its use is %q, not %q", c.Subject, c.TokenUse, useRefresh)
	}
	s := &Session{Subject: c.Subject, User: c.User, UserID: c.UserID, Roles: c.Role, Scope: c.Scope, Stamp: c.Stamp}
	if s.Grants, err = parseGrants(c.Subject, c.Grant); err != nil {
		return Principal{}, err
	}
	return Principal{Name: c.Subject, Namespace: "system", Method: MethodRefresh, Session: s}, nil
}

// open returns the claims of a token of this cluster, of whatever use.
func (t *Tokens) open(token string, now time.Time) (claims, error) {
	if len(token) > MaxToken {
		return claims{}, fmt.Errorf("token of %d bytes: at most %d are looked at", len(token), MaxToken)
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{algorithm})
	if err != nil {
		return claims{}, fmt.Errorf("token: %w", err)
	}
	var c claims
	if err := parsed.Claims(t.PublicKey(), &c); err != nil {
		return claims{}, fmt.Errorf("token: %w", err)
	}
	if c.Expiry == nil {
		return claims{}, errors.New("token without an expiry")
	}
	if err := c.ValidateWithLeeway(jwt.Expected{Issuer: t.issuer, Time: now}, leeway); err != nil {
		return claims{}, fmt.Errorf("token of %q: %w", c.Subject, err)
	}
	if c.Subject == "" {
		return claims{}, errors.New("token without a subject")
	}
	return c, nil
}

func parseGrants(subject string, words []string) (rbac.Grants, error) {
	var grants rbac.Grants
	for _, word := range words {
		g, err := rbac.ParseGrant(word)
		if err != nil {
			return nil, fmt.Errorf("token of %q: %w", subject, err)
		}
		grants = append(grants, g)
	}
	return grants, nil
}
