package auth

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Authorities are those that sign the certificates of users; *[Directory] knows them.
type Authorities interface {
	Authorities() (roots, between []*x509.Certificate, err error)
	Grants(user string) (rbac.Grants, error)
}

// Certificates recognises users by their client certificate.
type Certificates struct {
	Known   Authorities
	Revoked *Revocations // nil: none
}

// Verify returns the user a chain of certificates is of, the certificate of the
// user first. The other end has proven, in the handshake, to hold its key.
func (c *Certificates) Verify(chain []*x509.Certificate, now time.Time) (Principal, error) {
	if len(chain) == 0 {
		return Principal{}, errors.New("no certificate")
	}
	roots, between, knownErr := c.Known.Authorities()
	if len(roots) == 0 {
		return Principal{}, fmt.Errorf("authorities of the users: %w", knownErr)
	}
	o := x509.VerifyOptions{
		Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, root := range roots {
		o.Roots.AddCert(root)
	}
	for _, cert := range slices.Concat(between, chain[1:]) {
		o.Intermediates.AddCert(cert)
	}
	leaf := chain[0]
	chains, err := leaf.Verify(o)
	if err != nil {
		return Principal{}, errors.Join(fmt.Errorf("certificate of %q: %w", leaf.Subject.CommonName, err), knownErr)
	}
	// One without any usage passes the check above.
	if !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageClientAuth) || leaf.IsCA {
		return Principal{}, fmt.Errorf("certificate of %q: it is not one for client authentication", leaf.Subject.CommonName)
	}
	if err := c.Revoked.Check(chains, now); err != nil {
		return Principal{}, err
	}
	name := leaf.Subject.CommonName
	if name == "" {
		return Principal{}, errors.New("certificate without a common name")
	}
	grants, err := c.Known.Grants(name)
	if err != nil {
		return Principal{}, fmt.Errorf("certificate of %q: %w", name, err)
	}
	return Principal{Name: name, Namespace: "system", Method: MethodCertificate, User: true, Grants: grants}, nil
}
