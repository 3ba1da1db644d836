package certificate_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

func now() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func maker() certificate.Maker { return certificate.Maker{Random: rand.Reader, Now: now()} }

func request(t *testing.T, s schema.CertificateSettings, usage certificate.Usage) certificate.Request {
	t.Helper()
	if s.Validity == 0 {
		s.Validity = year
	}
	r, err := certificate.From(s, usage)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func selfSigned(t *testing.T, s schema.CertificateSettings, usage certificate.Usage) *certificate.Pair {
	t.Helper()
	pair, err := maker().SelfSign(request(t, s, usage))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func signed(t *testing.T, s schema.CertificateSettings, usage certificate.Usage, by *certificate.Pair) *certificate.Pair {
	t.Helper()
	pair, err := maker().Sign(request(t, s, usage), by)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func verifies(pair *certificate.Pair, root *certificate.Pair, name string, usage x509.ExtKeyUsage) error {
	roots, others := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(root.Leaf())
	for _, c := range pair.Chain[1:] {
		others.AddCert(c)
	}
	_, err := pair.Leaf().Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: others, DNSName: name, KeyUsages: []x509.ExtKeyUsage{usage}, CurrentTime: now(),
	})
	return err
}

func TestTheSubjectIsWhatTheKeywordsSay(t *testing.T) {
	t.Parallel()
	pair := selfSigned(t, schema.CertificateSettings{
		CommonName: "www.example.com", AltNames: []string{"Example.com.", "192.0.2.7", "2001:db8::1", "www.example.com"},
		Country: "FR", State: "Oise", Locality: "Gouvieux", Organization: "Example", Unit: "Lab", Email: "a@example.com", Validity: 90 * 24 * time.Hour,
	}, certificate.Mutual)

	leaf := pair.Leaf()
	if got, want := leaf.Subject.String(), "CN=www.example.com,OU=Lab,O=Example,L=Gouvieux,ST=Oise,C=FR"; got != want {
		t.Errorf("subject %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"www.example.com", "example.com", "192.0.2.7", "2001:db8::1"}, certificate.Certified(leaf)); diff != "" {
		t.Errorf("names: %s", diff)
	}
	if diff := cmp.Diff([]string{"a@example.com"}, leaf.EmailAddresses); diff != "" {
		t.Error(diff)
	}
	if got := leaf.NotAfter.Sub(now()); got != 90*24*time.Hour {
		t.Errorf("valid for %s", got)
	}
	if !leaf.NotBefore.Before(now()) {
		t.Error("a clock that is a little late refuses it")
	}
}

func TestWhatACertificateIsGoodFor(t *testing.T) {
	t.Parallel()
	root := selfSigned(t, schema.CertificateSettings{CommonName: "my authority"}, certificate.Authority)
	www := schema.CertificateSettings{CommonName: "www.example.com"}
	const server, client = x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for _, c := range []struct {
		usage          certificate.Usage
		server, client bool
	}{{certificate.Server, true, false}, {certificate.Client, false, true}, {certificate.Mutual, true, true}} {
		t.Run(c.usage.String(), func(t *testing.T) {
			t.Parallel()
			pair := signed(t, www, c.usage, root)
			if err := verifies(pair, root, "", server); (err == nil) != c.server {
				t.Errorf("as a server: %v", err)
			}
			if err := verifies(pair, root, "", client); (err == nil) != c.client {
				t.Errorf("as a client: %v", err)
			}
			if pair.Leaf().IsCA {
				t.Error("it could sign others")
			}
		})
	}
}

func TestASelfSignedCertificateServesAndSigns(t *testing.T) {
	t.Parallel()
	for _, usage := range []certificate.Usage{certificate.Mutual, certificate.Authority} {
		root := selfSigned(t, schema.CertificateSettings{CommonName: "ca.example.com"}, usage)
		if !certificate.SelfSigned(root.Leaf()) {
			t.Errorf("%s: it is not seen as self-signed", usage)
		}
		pair := signed(t, schema.CertificateSettings{CommonName: "www.example.com"}, certificate.Mutual, root)
		for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			if err := verifies(pair, root, "www.example.com", use); err != nil {
				t.Errorf("%s: %v", usage, err)
			}
		}
		if certificate.SelfSigned(pair.Leaf()) {
			t.Errorf("%s: what it signed is seen as self-signed", usage)
		}
	}
}

func TestTheChainHoldsTheIssuers(t *testing.T) {
	t.Parallel()
	root := selfSigned(t, schema.CertificateSettings{CommonName: "root"}, certificate.Mutual)
	pair := signed(t, schema.CertificateSettings{CommonName: "www.example.com"}, certificate.Server, root)

	keys, err := pair.Keys()
	if err != nil {
		t.Fatal(err)
	}
	chain, err := certificate.ParseChain(keys[certificate.KeyChain])
	if err != nil || len(chain) != 2 || !chain[0].Equal(pair.Leaf()) || !chain[1].Equal(root.Leaf()) {
		t.Fatalf("%v %v", chain, err)
	}
	if want := append(bytes.Clone(keys[certificate.KeyPrivate]), keys[certificate.KeyChain]...); !bytes.Equal(keys[certificate.KeyFull], want) {
		t.Error("fullpem is not the private key, then the chain")
	}
	if alone, err := certificate.ParseChain(keys[certificate.KeyCertificate]); err != nil || len(alone) != 1 {
		t.Error(alone, err)
	}
}

func TestWhatCannotSignDoesNot(t *testing.T) {
	t.Parallel()
	root := selfSigned(t, schema.CertificateSettings{CommonName: "root"}, certificate.Mutual)
	leaf := signed(t, schema.CertificateSettings{CommonName: "www.example.com"}, certificate.Server, root)
	r := request(t, schema.CertificateSettings{CommonName: "b.example.com"}, certificate.Server)
	if _, err := maker().Sign(r, leaf); err == nil || !strings.Contains(err.Error(), "not that of an authority") {
		t.Errorf("got %v", err)
	}
	late := certificate.Maker{Random: rand.Reader, Now: now().Add(2 * year)}
	if _, err := late.Sign(r, root); err == nil || !strings.Contains(err.Error(), "expired on 2027") {
		t.Errorf("got %v", err)
	}
}

func TestACertificateDoesNotOutliveItsIssuer(t *testing.T) {
	t.Parallel()
	root := selfSigned(t, schema.CertificateSettings{CommonName: "root", Validity: 10 * 24 * time.Hour}, certificate.Mutual)
	leaf := signed(t, schema.CertificateSettings{CommonName: "www.example.com"}, certificate.Server, root).Leaf()
	if !leaf.NotAfter.Equal(root.Leaf().NotAfter) {
		t.Errorf("until %s, its issuer until %s", leaf.NotAfter, root.Leaf().NotAfter)
	}
}

func TestKeysAreFastUnlessBitsSaysOtherwise(t *testing.T) {
	t.Parallel()
	if _, ok := selfSigned(t, schema.CertificateSettings{CommonName: "a"}, certificate.Mutual).Key.(*ecdsa.PrivateKey); !ok {
		t.Error("no bits, and no ECDSA key")
	}
	pair := selfSigned(t, schema.CertificateSettings{CommonName: "a", Bits: 2048}, certificate.Mutual)
	if key, ok := pair.Key.(*rsa.PrivateKey); !ok || key.N.BitLen() != 2048 {
		t.Errorf("bits = 2048 gives a %T", pair.Key)
	}
	if pair.Leaf().KeyUsage&x509.KeyUsageKeyEncipherment == 0 {
		t.Error("clients of TLS 1.2 cannot use the RSA key")
	}
	for _, bits := range []int64{256, 1024, 2047, 16384, -1} {
		if err := schema.CheckBits(bits); err == nil || !strings.Contains(err.Error(), "2048 to 8192") {
			t.Errorf("bits = %d: %v", bits, err)
		}
	}
}

func TestNamesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "a b", "a..b", "-a", "a-", "é.fr", "a/b", "*", "b.*.c", "fe80::1%eth0", strings.Repeat("a", 64) + ".fr", strings.Repeat("a.", 130), "a\x00b"} {
		if err := certificate.CheckName(name); err == nil {
			t.Errorf("%q is taken", name)
		}
		if _, err := certificate.From(schema.CertificateSettings{CommonName: "a", AltNames: []string{name}}, certificate.Server); err == nil || !strings.Contains(err.Error(), "alt_names") {
			t.Errorf("alt_names = %q: %v", name, err)
		}
	}
	if _, err := certificate.From(schema.CertificateSettings{}, certificate.Server); err == nil || !strings.Contains(err.Error(), "set the cn keyword") {
		t.Errorf("no cn: %v", err)
	}
	if r := request(t, schema.CertificateSettings{CommonName: "My service"}, certificate.Server); len(r.Names) != 0 {
		t.Errorf("a common name that is no host certifies %q", r.Names)
	}
}

func TestASigningRequestCarriesAllThatIsAsked(t *testing.T) {
	t.Parallel()
	key, err := certificate.NewKey(rand.Reader, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, schema.CertificateSettings{CommonName: "vip.example.com", AltNames: []string{"n1.example.com", "192.0.2.1"}, Country: "FR", Email: "a@b.c"}, certificate.Server)

	text, err := maker().SigningRequest(r, key)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := csr.CheckSignature(); err != nil {
		t.Error(err)
	}
	if csr.Subject.String() != "CN=vip.example.com,C=FR" || !slices.Equal(csr.DNSNames, []string{"vip.example.com", "n1.example.com"}) ||
		len(csr.IPAddresses) != 1 || !slices.Equal(csr.EmailAddresses, []string{"a@b.c"}) {
		t.Errorf("%+v", csr)
	}
}

func TestPeopleLoadWhatTheyWereGiven(t *testing.T) {
	t.Parallel()
	root := selfSigned(t, schema.CertificateSettings{CommonName: "root"}, certificate.Mutual)
	old := signed(t, schema.CertificateSettings{CommonName: "old.example.com"}, certificate.Server, root)
	fresh := signed(t, schema.CertificateSettings{CommonName: "new.example.com"}, certificate.Server, root)
	keys := func(p *certificate.Pair) map[string][]byte {
		k, err := p.Keys()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	loaded := func(chain, alone *certificate.Pair) map[string][]byte {
		return map[string][]byte{
			certificate.KeyPrivate: keys(fresh)[certificate.KeyPrivate], certificate.KeyChain: keys(chain)[certificate.KeyChain],
			certificate.KeyCertificate: keys(alone)[certificate.KeyCertificate],
		}
	}
	for name, k := range map[string]map[string][]byte{
		"both":                    loaded(fresh, fresh),
		"the chain alone":         loaded(fresh, old),
		"the certificate alone":   loaded(old, fresh),
		"the fullpem as a chain":  {certificate.KeyPrivate: keys(fresh)[certificate.KeyPrivate], certificate.KeyChain: keys(fresh)[certificate.KeyFull]},
		"the fullpem as both":     {certificate.KeyPrivate: keys(fresh)[certificate.KeyFull], certificate.KeyChain: keys(fresh)[certificate.KeyFull]},
		"a chain that is missing": {certificate.KeyPrivate: keys(fresh)[certificate.KeyPrivate], certificate.KeyCertificate: keys(fresh)[certificate.KeyCertificate]},
	} {
		pair, err := certificate.Parse(k)
		if err != nil || !pair.Leaf().Equal(fresh.Leaf()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		keys map[string][]byte
		want string
	}{
		"nothing":                {nil, "no certificate"},
		"no private key":         {map[string][]byte{certificate.KeyChain: keys(fresh)[certificate.KeyChain]}, "no key private_key"},
		"that of another":        {map[string][]byte{certificate.KeyPrivate: keys(old)[certificate.KeyPrivate], certificate.KeyChain: keys(fresh)[certificate.KeyChain]}, "private_key is not that of the certificate"},
		"an encrypted key":       {map[string][]byte{certificate.KeyPrivate: []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"), certificate.KeyChain: keys(fresh)[certificate.KeyChain]}, "decrypt it first"},
		"a chain that is no PEM": {map[string][]byte{certificate.KeyPrivate: keys(fresh)[certificate.KeyPrivate], certificate.KeyChain: []byte("hello")}, "no certificate in PEM"},
	} {
		_, err := certificate.Parse(c.keys)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if (name == "nothing") != errors.Is(err, certificate.ErrNone) {
			t.Errorf("%s: %v is ErrNone", name, err)
		}
	}
}

// due is the test of what is renewed: a change of names, an expiry, another directory.
func TestWhenARenewalIsDue(t *testing.T) {
	t.Parallel()
	root := selfSigned(t, schema.CertificateSettings{CommonName: "root", Validity: 9 * year}, certificate.Mutual)
	settings := schema.CertificateSettings{CommonName: "www.example.com", AltNames: []string{"example.com"}, Validity: 90 * 24 * time.Hour}
	issued := signed(t, settings, certificate.Server, root).Leaf()
	own := selfSigned(t, settings, certificate.Mutual).Leaf()
	names := []string{"www.example.com", "example.com"}
	const le, staging = "https://le", "https://staging"
	days := func(n int) time.Time { return now().Add(time.Duration(n) * 24 * time.Hour) }
	want := certificate.Want{CommonName: "www.example.com", Names: names, Before: 30 * 24 * time.Hour}
	acme := want
	acme.Directory = le
	other := acme
	other.Names = []string{"www.example.com", "example.org"}
	user := certificate.Want{CommonName: "alice", Before: want.Before}
	for _, c := range []struct {
		what   string
		want   certificate.Want
		have   certificate.Have
		at     time.Time
		due    bool
		reason string
	}{
		{"none", want, certificate.Have{Wrong: certificate.ErrNone}, days(0), true, "no certificate"},
		{"unreadable", want, certificate.Have{Wrong: errors.New("x")}, days(0), true, "the certificate cannot be used: x"},
		{"valid", want, certificate.Have{Leaf: issued}, days(59), false, "the certificate is valid until 2027-02-28T12:00:00Z"},
		{"expires soon", want, certificate.Have{Leaf: issued}, days(60), true, "the certificate expires on 2027-02-28T12:00:00Z"},
		{"expired", want, certificate.Have{Leaf: issued}, days(90), true, "the certificate expired on 2027-02-28T12:00:00Z"},
		{"self-signed, as it is to be", want, certificate.Have{Leaf: own}, days(0), false, "the certificate is valid until 2027-02-28T12:00:00Z"},
		{"self-signed, with a directory", acme, certificate.Have{Leaf: own}, days(0), true, "the certificate is self-signed"},
		{"of the directory", acme, certificate.Have{Leaf: issued, Directory: le}, days(0), false, "the certificate is valid until 2027-02-28T12:00:00Z"},
		{"of another directory", acme, certificate.Have{Leaf: issued, Directory: staging}, days(0), true, "the certificate was issued by https://staging"},
		{"of another authority", acme, certificate.Have{Leaf: issued}, days(0), true, "the certificate was not issued by https://le"},
		{"of other names", other, certificate.Have{Leaf: issued, Directory: le}, days(0), true, "the certificate names www.example.com example.com, not www.example.com example.org"},
		{"of the same names in another order", certificate.Want{Names: []string{"example.com", "www.example.com"}}, certificate.Have{Leaf: issued}, days(0), false, "the certificate is valid until 2027-02-28T12:00:00Z"},
		{"of somebody else", user, certificate.Have{Leaf: issued}, days(0), true, "the certificate is that of www.example.com, not of alice"},
		{"shorter than the time before", certificate.Want{Names: names, Before: year}, certificate.Have{Leaf: issued}, days(59), false, "the certificate is valid until 2027-02-28T12:00:00Z"},
		{"shorter, near its end", certificate.Want{Names: names, Before: year}, certificate.Have{Leaf: issued}, days(61), true, "the certificate expires on 2027-02-28T12:00:00Z"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			got := certificate.Decide(c.want, c.have, c.at)
			if diff := cmp.Diff(certificate.Verdict{Due: c.due, Reason: c.reason}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// decider is what the laws of renewals are about.
type decider func(certificate.Want, certificate.Have, time.Time) certificate.Verdict

// laws returns what a decision breaks: a new certificate is never due, one that
// expired is, and one that is due stays so.
func laws(decide decider, leaf *x509.Certificate, before, a, b time.Duration) error {
	due := func(after time.Duration) bool {
		return decide(certificate.Want{Names: []string{"a.example.com"}, Before: before}, certificate.Have{Leaf: leaf}, now().Add(after)).Due
	}
	switch life := leaf.NotAfter.Sub(now()); {
	case due(0):
		return fmt.Errorf("a certificate of %s, renewed %s before, is due at once", life, before)
	case due(min(a, b)) && !due(max(a, b)):
		return fmt.Errorf("due after %s, not after %s", min(a, b), max(a, b))
	case max(a, b) >= life && !due(max(a, b)):
		return fmt.Errorf("expired after %s, and not due", max(a, b))
	}
	return nil
}

func lives(t *testing.T) []*x509.Certificate {
	t.Helper()
	root := selfSigned(t, schema.CertificateSettings{CommonName: "root", Validity: 20 * year}, certificate.Mutual)
	var leaves []*x509.Certificate
	for _, life := range []time.Duration{time.Hour, 6 * 24 * time.Hour, 90 * 24 * time.Hour, 10 * year} {
		leaves = append(leaves, signed(t, schema.CertificateSettings{CommonName: "a.example.com", Validity: life}, certificate.Server, root).Leaf())
	}
	return leaves
}

func TestTimeOnlyMakesARenewalMoreDue(t *testing.T) {
	t.Parallel()
	leaves := lives(t)
	rapid.Check(t, func(t *rapid.T) {
		leaf := leaves[rapid.IntRange(0, len(leaves)-1).Draw(t, "leaf")]
		some := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(20*year)).Draw(t, name))
		}
		if err := laws(certificate.Decide, leaf, some("before"), some("a"), some("b")); err != nil {
			t.Error(err)
		}
	})
}

func TestTheLawsOfRenewalsBreak(t *testing.T) {
	t.Parallel()
	for name, mutant := range map[string]decider{
		"the time before is longer than the certificate lives": func(w certificate.Want, h certificate.Have, at time.Time) certificate.Verdict {
			return certificate.Verdict{Due: h.Leaf.NotAfter.Sub(at) <= w.Before}
		},
		"one that expired is not renewed": func(w certificate.Want, h certificate.Have, at time.Time) certificate.Verdict {
			return certificate.Verdict{Due: at.Before(h.Leaf.NotAfter) && certificate.Decide(w, h, at).Due}
		},
		"nothing is ever due": func(certificate.Want, certificate.Have, time.Time) certificate.Verdict { return certificate.Verdict{} },
	} {
		broken := false
		for _, leaf := range lives(t) {
			for _, before := range []time.Duration{0, day, 30 * day, year} {
				for _, a := range []time.Duration{0, 5 * day, 80 * day, 11 * year} {
					broken = broken || laws(mutant, leaf, before, a, a+5*day) != nil
				}
			}
		}
		if !broken {
			t.Errorf("the laws hold for the mutant: %s", name)
		}
	}
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"letsencrypt":                "https://acme-v02.api.letsencrypt.org/directory",
		"letsencrypt-staging":        "https://acme-staging-v02.api.letsencrypt.org/directory",
		"https://ca.example.com/dir": "https://ca.example.com/dir",
	} {
		if got, err := certificate.Directory(name); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "letsencript", "http://ca.example.com/dir", "https://", "https://me:pw@ca.example.com", "::"} {
		if _, err := certificate.Directory(name); err == nil || !strings.Contains(err.Error(), "acme.directory") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestWhatAChallengeCannotProveIsNotOrdered(t *testing.T) {
	t.Parallel()
	if err := certificate.CheckOrder([]string{"a.example.com", "192.0.2.1"}); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"*.example.com": "dns-01", "localhost": "domain"} {
		if err := certificate.CheckOrder([]string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := certificate.CheckOrder(nil); err == nil || !strings.Contains(err.Error(), "set cn") {
		t.Errorf("nothing: %v", err)
	}
	for _, token := range []string{"", "../x", "a/b", "a.b", "a b", strings.Repeat("a", 300)} {
		if certificate.CheckToken(token) == nil {
			t.Errorf("%q is taken for a token", token)
		}
	}
	if err := certificate.CheckToken("LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0-_"); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	pair, err := maker().SelfSign(certificate.Request{Validity: year})
	if err != nil {
		f.Fatal(err)
	}
	keys, err := pair.Keys()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(keys[certificate.KeyPrivate], keys[certificate.KeyChain])
	f.Add([]byte("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"), []byte{})
	f.Fuzz(func(t *testing.T, private, chain []byte) {
		pair, err := certificate.Parse(map[string][]byte{certificate.KeyPrivate: private, certificate.KeyChain: chain})
		if err == nil && (pair.Key == nil || len(pair.Chain) == 0 || !certificate.Fits(pair.Key, pair.Leaf())) {
			t.Error("a pair that is none")
		}
	})
}
