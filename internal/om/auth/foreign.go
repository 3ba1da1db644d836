package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Foreign is what a token of another cluster says of itself. Nothing of it is
// verified here: who made the token does, when it is presented.
type Foreign struct {
	Cluster   string // id of the cluster that made it
	Subject   string
	Grants    rbac.Grants
	Expires   time.Time
	Authority []byte // PEM: of the certificates of that cluster; nil when it names none
}

// ReadForeign reads a token of another cluster.
func ReadForeign(token string) (Foreign, error) {
	if len(token) > MaxToken {
		return Foreign{}, fmt.Errorf("token of %d bytes: at most %d are looked at", len(token), MaxToken)
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{algorithm})
	if err != nil {
		return Foreign{}, errors.New("it is no token of an agent") // the error of the parser may quote it
	}
	var c claims
	if err := parsed.UnsafeClaimsWithoutVerification(&c); err != nil {
		return Foreign{}, errors.New("it is no token of an agent: its claims cannot be read")
	}
	if c.Expiry == nil || c.TokenUse != useAccess {
		return Foreign{}, errors.New("it is no access token of an agent")
	}
	f := Foreign{Cluster: c.Issuer, Subject: c.Subject, Expires: c.Expiry.Time()}
	if c.CA != "" {
		f.Authority = []byte(c.CA)
	}
	if f.Grants, err = parseGrants(c.Subject, c.Grant); err != nil {
		return Foreign{}, err
	}
	return f, nil
}
