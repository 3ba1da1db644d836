package renewal_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/acme"
	"github.com/holdfast-ops/holdfast/internal/om/acme/acmetest"
	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/renewal"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
	web  = "ns1/sec/web" // whose certificate is renewed
)

// world holds objects in memory, and is a node that answers challenges.
type world struct {
	t       *testing.T
	config  map[string]renewal.Description
	keys    map[string]map[string][]byte
	writes  int
	now     time.Time
	site    renewal.Site
	renewer *renewal.Renewer
	deaf    func() // told of each question when the node answers nothing
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, config: map[string]renewal.Description{}, keys: map[string]map[string][]byte{}, now: time.Now()}
	w.site = renewal.Site{Authorities: []object.Path{path(t, "system/sec/ca")}, Node: "n1", Nodes: []string{"n1"}}
	w.renewer = &renewal.Renewer{Objects: w, Random: rand.Reader, Now: func() time.Time { return w.now }, Nodes: w}
	w.add("system/sec/ca", schema.CertificateSettings{CommonName: "authority", Validity: 10 * year})
	return w
}

func path(t *testing.T, name string) object.Path {
	t.Helper()
	p, err := object.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) add(name string, s schema.CertificateSettings) {
	if s.Validity == 0 {
		s.Validity = 90 * day
	}
	p := path(w.t, name)
	w.config[name] = renewal.Description{Certificate: s, Share: []string{p.Namespace}, ACME: schema.ACMESettings{RenewBefore: 30 * day}}
	w.keys[name] = map[string][]byte{}
}

func (w *world) edit(change func(*renewal.Description)) {
	const name = web
	d := w.config[name]
	change(&d)
	w.config[name] = d
}

// Describe implements [renewal.Objects].
func (w *world) Describe(_ context.Context, p object.Path) (renewal.Description, error) {
	d, ok := w.config[p.String()]
	if !ok {
		return d, &object.NotFoundError{What: p.String()}
	}
	d.Site = w.site
	return d, nil
}

// Read implements [renewal.Objects].
func (w *world) Read(_ context.Context, p object.Path, keys ...string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, k := range keys {
		if v, ok := w.keys[p.String()][k]; ok {
			out[k] = v
		}
	}
	return out, nil
}

// Write implements [renewal.Objects].
func (w *world) Write(_ context.Context, p object.Path, values map[string][]byte) error {
	w.writes++
	for k, v := range values {
		if v == nil {
			delete(w.keys[p.String()], k)
		} else {
			w.keys[p.String()][k] = v
		}
	}
	return nil
}

// Answer implements [renewal.Asker]: what the object tells the listeners to say.
func (w *world) Answer(_ context.Context, _, token string) (string, error) {
	if w.deaf != nil {
		w.deaf()
		return "", errors.New("it answers 404 Not Found")
	}
	for _, keys := range w.keys {
		if answer, ok := renewal.Challenges(keys[renewal.KeyChallenge])[token]; ok {
			return answer, nil
		}
	}
	return "", errors.New("it answers 404 Not Found")
}

func (w *world) create(name string) *certificate.Pair {
	w.t.Helper()
	pair, err := w.renewer.Create(w.t.Context(), path(w.t, name))
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	return pair
}

func (w *world) renew(o renewal.Options) string {
	w.t.Helper()
	done, err := w.renewer.Renew(w.t.Context(), path(w.t, web), o)
	if err != nil {
		return "error: " + err.Error()
	}
	return done.String()
}

func (w *world) pair(name string) *certificate.Pair {
	w.t.Helper()
	pair, err := certificate.Parse(w.keys[name])
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	return pair
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

func TestAUserIsSignedByTheAuthorityOfTheCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	authority := w.create("system/sec/ca").Leaf()
	w.add("system/usr/alice", schema.CertificateSettings{})
	leaf := w.create("system/usr/alice").Leaf()

	if leaf.Subject.CommonName != "alice" || !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) {
		t.Errorf("%s, %v", leaf.Subject, leaf.ExtKeyUsage)
	}
	if err := leaf.CheckSignatureFrom(authority); err != nil {
		t.Error(err)
	}
	if !authority.IsCA || len(authority.ExtKeyUsage) != 0 || authority.KeyUsage&x509.KeyUsageDigitalSignature != 0 {
		t.Errorf("the authority does something else than signing: %v %v", authority.KeyUsage, authority.ExtKeyUsage)
	}
}

// A sec that the authority of the cluster signs must not let its holder in as a user.
func TestASecOfTheAuthorityOfTheClusterIsNoUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("system/sec/ca")
	w.add("system/sec/cert", schema.CertificateSettings{CommonName: "root", CA: "system/sec/ca"})
	if leaf := w.create("system/sec/cert").Leaf(); !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("it is good for %v", leaf.ExtKeyUsage)
	}
	w.add("ns1/sec/evil", schema.CertificateSettings{CommonName: "root", CA: "system/sec/ca"})
	w.add("ns1/usr/evil", schema.CertificateSettings{})
	for _, name := range []string{"ns1/sec/evil", "ns1/usr/evil"} {
		if _, err := w.renewer.Create(t.Context(), path(t, name)); err == nil || !strings.Contains(err.Error(), "does not share its keys with namespace ns1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.add("ns1/sec/ca", schema.CertificateSettings{CommonName: "ca"})
	w.create("ns1/sec/ca")
	w.add("ns1/sec/app", schema.CertificateSettings{CommonName: "app", CA: "./sec/ca"})
	if leaf := w.create("ns1/sec/app").Leaf(); len(leaf.ExtKeyUsage) != 2 {
		t.Errorf("a service of a namespace cannot ask another: %v", leaf.ExtKeyUsage)
	}
}

func TestTheAuthorityMustBeThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("ns1/sec/empty", schema.CertificateSettings{CommonName: "ca"})
	for ca, want := range map[string]string{
		"nosuch": "ns1/sec/nosuch", "empty": "holds no certificate: om ns1/sec/empty certificate create", "./svc/x": "is no sec", "A": "upper case",
	} {
		w.add("ns1/sec/app", schema.CertificateSettings{CommonName: "app", CA: ca})
		if _, err := w.renewer.Create(t.Context(), path(t, "ns1/sec/app")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ca = %s: %v", ca, err)
		}
	}
}

func TestARenewalKeepsNeitherTheKeyNorTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(web, schema.CertificateSettings{CommonName: "www.example.com"})
	expect(t, w.renew(renewal.Options{}), "certificate issued for www.example.com: no certificate")
	before := w.pair(web)
	if _, err := w.renewer.SigningRequest(t.Context(), path(t, web)); err != nil {
		t.Fatal(err)
	}
	if !certificate.Fits(before.Key, w.pair(web).Leaf()) || len(w.keys[web][certificate.KeyRequest]) == 0 {
		t.Error("the signing request changed the key, or was not kept")
	}
	writes := w.writes
	expect(t, w.renew(renewal.Options{}), "no certificate issued: the certificate is valid until")
	if w.writes != writes {
		t.Error("a renewal that is not due writes")
	}
	w.now = w.now.Add(61 * day)
	expect(t, w.renew(renewal.Options{}), "the certificate expires on")
	after := w.pair(web)
	if certificate.Fits(before.Key, after.Leaf()) {
		t.Error("the private key is the former one")
	}
	if len(w.keys[web][certificate.KeyRequest]) != 0 {
		t.Error("the request of the former key is still there")
	}
}

// acmeWorld has a directory, and a web server whose root is w.root.
func acmeWorld(t *testing.T) (w *world, d *acmetest.Directory, root string) {
	t.Helper()
	w, d, root = newWorld(t), acmetest.New(t), t.TempDir()
	w.renewer.Issuer = &acme.Client{HTTP: d.Client(), Now: w.renewer.Now}
	d.Verify = func(_, token string) string {
		text, _ := os.ReadFile(filepath.Join(root, "sub", ".well-known", "acme-challenge", filepath.Base(token)))
		return string(text)
	}
	w.add(web, schema.CertificateSettings{CommonName: "www.example.com", AltNames: []string{"example.com"}})
	w.edit(func(c *renewal.Description) { c.ACME.Directory = d.Address() })
	return w, d, root
}

func files(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.Walk(root, func(name string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestADirectoryIssuesAndRenews(t *testing.T) {
	t.Parallel()
	w, d, root := acmeWorld(t)
	where := renewal.Options{Where: renewal.Webroot{Root: root, Dir: "/sub"}}

	expect(t, w.renew(where), "certificate issued for www.example.com example.com: no certificate")
	if left := files(t, root); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	expect(t, w.renew(where), "no certificate issued: the certificate is valid until")
	account := string(w.keys[web][renewal.KeyAccount])

	w.edit(func(c *renewal.Description) { c.Certificate.AltNames = []string{"b.example.com"} })
	expect(t, w.renew(where), "certificate issued for www.example.com b.example.com: the certificate names www.example.com example.com, not www.example.com b.example.com")
	w.now = w.now.Add(61 * day)
	expect(t, w.renew(where), "the certificate expires on")
	w.now = w.now.Add(-61 * day)
	w.create(web)
	expect(t, w.renew(where), "the certificate is self-signed")
	if n, _ := d.Accounts(); n != 1 || string(w.keys[web][renewal.KeyAccount]) != account {
		t.Errorf("%d accounts were registered", n)
	}

	other := acmetest.New(t)
	other.Verify = d.Verify
	w.renewer.Issuer = &acme.Client{HTTP: other.Client(), Now: w.renewer.Now}
	w.edit(func(c *renewal.Description) { c.ACME.Directory = other.Address() })
	expect(t, w.renew(where), "the certificate was issued by "+d.Address())
}

func TestAFailedRenewalChangesNothingButTheAccount(t *testing.T) {
	t.Parallel()
	w, d, root := acmeWorld(t)
	w.create(web)
	before := string(w.keys[web][certificate.KeyFull])
	d.Verify = nil

	got := w.renew(renewal.Options{Where: renewal.Webroot{Root: root}})

	expect(t, got, "error: prove www.example.com")
	if string(w.keys[web][certificate.KeyFull]) != before {
		t.Error("the certificate is another one")
	}
	if len(w.keys[web][renewal.KeyAccount]) == 0 {
		t.Error("the account is lost")
	}
	if left := files(t, root); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestTheListenersAnswer(t *testing.T) {
	t.Parallel()
	w, d, _ := acmeWorld(t)
	d.Verify = func(_, token string) string {
		answer, _ := w.Answer(t.Context(), "", token)
		return answer
	}
	expect(t, w.renew(renewal.Options{}), "error: nothing answers the challenges")
	w.site.Presented = []object.Path{path(t, web)}
	expect(t, w.renew(renewal.Options{}), "error: listener.tls_secs names the object, but no listener answers challenges")
	w.site.ACMEPort = 80
	expect(t, w.renew(renewal.Options{}), "certificate issued for www.example.com example.com")
	if _, ok := w.keys[web][renewal.KeyChallenge]; ok {
		t.Error("the answers are left behind")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	w.deaf = func() {
		if asked++; asked == 3 {
			cancel()
		}
	}
	_, err := w.renewer.Renew(ctx, path(t, web), renewal.Options{Force: true})
	if err == nil || !strings.Contains(err.Error(), "node n1 does not answer the challenge on port 80") || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
	if _, ok := w.keys[web][renewal.KeyChallenge]; ok {
		t.Error("the answers are left behind")
	}
}

func TestOnBehalfOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	w, _, root := acmeWorld(t)
	o := renewal.Options{For: "ns2", Where: renewal.Webroot{Root: root, Dir: "sub"}}
	expect(t, w.renew(o), "error: ns1/sec/web does not share its keys with namespace ns2")
	w.edit(func(c *renewal.Description) { c.Share = []string{"*"} })
	expect(t, w.renew(o), "certificate issued")
}

func TestNothingIsWrittenOutsideTheWebroot(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, spoil := range map[string]func(root string) error{
		"a link in place of .well-known": func(root string) error { return os.Symlink(outside, filepath.Join(root, ".well-known")) },
		"a link in place of the folder of the answers": func(root string) error {
			return errors.Join(os.Mkdir(filepath.Join(root, ".well-known"), 0o755), os.Symlink(outside, filepath.Join(root, ".well-known", "acme-challenge")))
		},
	} {
		root := t.TempDir()
		if err := spoil(root); err != nil {
			t.Fatal(err)
		}
		if _, err := (renewal.Webroot{Root: root}).Publish(t.Context(), map[string]string{"token": "answer"}); err == nil {
			t.Errorf("%s is followed", name)
		}
	}
	root := t.TempDir()
	target := filepath.Join(outside, "precious")
	if err := os.WriteFile(target, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, ".well-known", "acme-challenge")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Symlink(target, filepath.Join(dir, "token"))); err != nil {
		t.Fatal(err)
	}
	withdraw, err := renewal.Webroot{Root: root, Dir: "../../.."}.Publish(t.Context(), map[string]string{"token": "answer"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "token")); err != nil || string(text) != "answer" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "token")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v: a web server cannot read it", info, err)
	}
	if err := withdraw(t.Context()); err != nil {
		t.Error(err)
	}
	if got := files(t, outside); !slices.Equal(got, []string{target}) {
		t.Errorf("outside: %q", got)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "x" {
		t.Errorf("the target of a link became %q, %v", text, err)
	}
}
