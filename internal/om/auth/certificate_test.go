package auth_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
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
				want = auth.Principal{Name: "usr1", Namespace: "system", Method: auth.MethodCertificate, User: true, Grants: rbac.Grants{{Role: rbac.Guest, Namespaces: "ns1"}}}
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

// list is what the authority takes back, signed by signer.
func (a *authority) list(t *testing.T, signer *ecdsa.PrivateKey, serials ...int64) []byte {
	t.Helper()
	template := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: now(), NextUpdate: now().Add(time.Hour)}
	for _, serial := range serials {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: big.NewInt(serial), RevocationTime: now()})
	}
	issuer := *a.cert
	issuer.KeyUsage, issuer.PublicKey = x509.KeyUsageCRLSign, signer.Public()
	der, err := x509.CreateRevocationList(rand.Reader, template, &issuer, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestARevokedCertificateIsOfNobody(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca", nil)
	between := newAuthority(t, "between", ca)
	good := func(*x509.Certificate) {}
	user := []*x509.Certificate{ca.user(t, good)} // serial 2
	under := []*x509.Certificate{between.user(t, good), between.cert}
	pemList := func(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}) }
	for _, c := range []struct {
		name  string
		list  []byte
		chain []*x509.Certificate
		known bool
	}{
		{"another one is", ca.list(t, ca.key, 7), user, true},
		{"it is", ca.list(t, ca.key, 7, 2), user, false},
		{"it is, in PEM", pemList(ca.list(t, ca.key, 2)), user, false},
		{"the intermediate is", ca.list(t, ca.key, 1), under, false},
		{"one of the same number, of another issuer, is", ca.list(t, ca.key, 2), under, true},
		{"somebody else says so", ca.list(t, newKey(t), 2), user, true},
		{"nobody can read the list", []byte("garbage"), user, false},
		{"there is no list", nil, user, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "crl")
			if c.list != nil {
				if err := os.WriteFile(file, c.list, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) }))
			defer server.Close()
			for _, source := range []string{file, server.URL} {
				certificates := &auth.Certificates{
					Known:   &trusted{roots: []*x509.Certificate{ca.cert}},
					Revoked: auth.NewRevocations(func() ([]string, error) { return []string{source}, nil }),
				}
				if got, err := certificates.Verify(c.chain, now()); (err == nil) != c.known {
					t.Errorf("%s: %+v, %v", source, got, err)
				}
			}
		})
	}
}

func TestAListThatIsGoneCountsOn(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca", nil)
	file := filepath.Join(t.TempDir(), "crl")
	write := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificates := &auth.Certificates{
		Known:   &trusted{roots: []*x509.Certificate{ca.cert}},
		Revoked: auth.NewRevocations(func() ([]string, error) { return []string{file}, nil }),
	}
	user := []*x509.Certificate{ca.user(t, func(*x509.Certificate) {})}
	known := func(after time.Duration) bool {
		_, err := certificates.Verify(user, now().Add(after))
		return err == nil
	}
	write(ca.list(t, ca.key, 7))
	if !known(0) {
		t.Error("refused by a list of others")
	}
	write([]byte("garbage"))
	if !known(11 * time.Minute) {
		t.Error("refused while the list cannot be read")
	}
	write(ca.list(t, ca.key, 2))
	if known(12 * time.Minute) {
		t.Error("known by the former list")
	}
}
