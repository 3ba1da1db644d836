package auth_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string, above *authority) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now().Add(-time.Hour), NotAfter: now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signer := a
	if above != nil {
		signer = above
	} else {
		a.cert = template
	}
	a.cert = signer.sign(t, template, a.key)
	return a
}

func (a *authority) sign(t *testing.T, template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// user makes a certificate, good unless change spoils it.
func (a *authority) user(t *testing.T, change func(*x509.Certificate)) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "usr1"}, NotBefore: now().Add(-time.Hour), NotAfter: now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	change(template)
	return a.sign(t, template, newKey(t))
}

// trusted are the authorities a test trusts.
type trusted struct {
	users

	roots []*x509.Certificate
	err   error
}

func (a *trusted) Authorities() (roots, between []*x509.Certificate, err error) {
	return a.roots, nil, a.err
}

func TestACertificateIsOfTheUserItNames(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t, "ca", nil), newAuthority(t, "ca", nil)
	between := newAuthority(t, "between", ca)
	as := func(change func(*x509.Certificate)) []*x509.Certificate {
		return []*x509.Certificate{ca.user(t, change)}
	}
	good := func(*x509.Certificate) {}
	usage := func(u ...x509.ExtKeyUsage) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.ExtKeyUsage = u }
	}
	for _, c := range []struct {
		name  string
		chain []*x509.Certificate
		known bool
	}{
		{"a good one", as(good), true},
		{"one of an intermediate", []*x509.Certificate{between.user(t, good), between.cert}, true},
		{"one of an intermediate that is not shown", []*x509.Certificate{between.user(t, good)}, false},
		{"one of another authority of the same name", []*x509.Certificate{other.user(t, good)}, false},
		{"one that shows the authority it is not of", []*x509.Certificate{other.user(t, good), ca.cert}, false},
		{"that of the authority", []*x509.Certificate{ca.cert}, false},
		{"none", nil, false},
		{"one of a server", as(usage(x509.ExtKeyUsageServerAuth)), false},
		{"one without usage", as(usage()), false},
		{"one of any usage", as(usage(x509.ExtKeyUsageAny)), false},
		{"one without a name", as(func(c *x509.Certificate) { c.Subject.CommonName = "" }), false},
		{"one of a user that is none", as(func(c *x509.Certificate) { c.Subject.CommonName = "usr2" }), false},
		{"one that has ended", as(func(c *x509.Certificate) { c.NotAfter = now().Add(-time.Minute) }), false},
		{"one that has not begun", as(func(c *x509.Certificate) { c.NotBefore = now().Add(time.Minute) }), false},
		{"one that signs certificates", as(func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			certificates := &auth.Certificates{Known: &trusted{roots: []*x509.Certificate{ca.cert}}}
			got, err := certificates.Verify(c.chain, now())
			if (err == nil) != c.known {
				t.Fatalf("%+v, %v", got, err)
			}
			want := auth.Principal{}
			if c.known {
				want = auth.Principal{Name: "usr1", Namespace: "system", Method: auth.MethodCertificate, Grants: rbac.Grants{{Role: rbac.Guest, Namespaces: "ns1"}}}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWithoutAnAuthorityNobodyIsRecognised(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca", nil)
	certificates := &auth.Certificates{Known: &trusted{err: errors.New("unreadable")}}
	if p, err := certificates.Verify([]*x509.Certificate{ca.user(t, func(*x509.Certificate) {})}, now()); err == nil {
		t.Errorf("recognised as %+v", p)
	}
}
