package auth

import (
	"crypto"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Life of a token.
const (
	DefaultLife = 10 * time.Minute
	MaxLife     = 24 * time.Hour
)

// algorithm is the only one accepted: a token does not choose how it is verified.
const algorithm = jose.ES256

// useAccess is the token_use of the tokens that call operations.
const useAccess = "access"

// leeway is how much the clocks of the nodes of a cluster may differ.
const leeway = 5 * time.Second

// Tokens makes and verifies the bearer tokens of a cluster.
type Tokens struct {
	issuer string
	key    *ecdsa.PrivateKey
	signer jose.Signer
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

// PublicKey is what verifies the tokens.
func (t *Tokens) PublicKey() crypto.PublicKey { return t.key.Public() }

type claims struct {
	jwt.Claims
	TokenUse string   `json:"token_use"`
	Grant    []string `json:"grant"`
}

// Issue makes a token that says the bearer is subject, with these grants, for
// life from now on; zero is [DefaultLife].
func (t *Tokens) Issue(subject string, grants rbac.Grants, life time.Duration, now time.Time) (secret.String, time.Time, error) {
	if life == 0 {
		life = DefaultLife
	}
	if life < time.Second || life > MaxLife {
		return secret.String{}, time.Time{}, fmt.Errorf("token duration %s: must be between 1s and %s", life, MaxLife)
	}
	if subject == "" {
		return secret.String{}, time.Time{}, errors.New("token without a subject")
	}
	expires := now.Add(life).Truncate(time.Second)
	token, err := jwt.Signed(t.signer).Claims(claims{
		Claims: jwt.Claims{
			ID: uuid.NewString(), Issuer: t.issuer, Subject: subject,
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(expires),
		},
		TokenUse: useAccess,
		Grant:    grants.Strings(),
	}).Serialize()
	if err != nil {
		return secret.String{}, time.Time{}, fmt.Errorf("sign the token: %w", err)
	}
	return secret.New(token), expires, nil
}

// Verify returns who a token says the bearer is. The error is for the log: the
// one who presented the token is told nothing.
func (t *Tokens) Verify(token string, now time.Time) (Principal, error) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{algorithm})
	if err != nil {
		return Principal{}, fmt.Errorf("token: %w", err)
	}
	var c claims
	if err := parsed.Claims(t.PublicKey(), &c); err != nil {
		return Principal{}, fmt.Errorf("token: %w", err)
	}
	if c.Expiry == nil {
		return Principal{}, errors.New("token without an expiry")
	}
	if err := c.ValidateWithLeeway(jwt.Expected{Issuer: t.issuer, Time: now}, leeway); err != nil {
		return Principal{}, fmt.Errorf("token of %q: %w", c.Subject, err)
	}
	if c.TokenUse != useAccess {
		return Principal{}, fmt.Errorf("token of %q: its use is %q, not %q", c.Subject, c.TokenUse, useAccess)
	}
	if c.Subject == "" {
		return Principal{}, errors.New("token without a subject")
	}
	p := Principal{Name: c.Subject, Namespace: "system", Method: MethodToken}
	for _, word := range c.Grant {
		g, err := rbac.ParseGrant(word)
		if err != nil {
			return Principal{}, fmt.Errorf("token of %q: %w", c.Subject, err)
		}
		p.Grants = append(p.Grants, g)
	}
	return p, nil
}
