package presented_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/presented"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/renewal"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// objects are secs in memory.
type objects struct {
	mu   sync.Mutex
	site renewal.Site
	keys map[object.Path]map[string][]byte
}

func (o *objects) Site() (renewal.Site, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.site, nil
}

func (o *objects) Read(_ context.Context, p object.Path, _ ...string) (map[string][]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.keys[p] == nil {
		return nil, &object.NotFoundError{What: p.String()}
	}
	return o.keys[p], nil
}

func (o *objects) set(p object.Path, keys map[string][]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keys[p] = keys
}

func sec(name string) object.Path {
	return object.Path{Namespace: object.SystemNamespace, Kind: object.KindSec, Name: name}
}

func pair(t *testing.T, names ...string) *certificate.Pair {
	t.Helper()
	r, err := certificate.From(schema.CertificateSettings{CommonName: names[0], AltNames: names[1:], Validity: time.Hour}, certificate.Server)
	if err != nil {
		t.Fatal(err)
	}
	p, err := certificate.Maker{Random: rand.Reader, Now: time.Now()}.SelfSign(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func keys(t *testing.T, p *certificate.Pair) map[string][]byte {
	t.Helper()
	k, err := p.Keys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

type listener struct {
	*presented.Certificates

	objects *objects
	bus     *bus.Bus
	log     strings.Builder
}

func newListener(t *testing.T) *listener {
	t.Helper()
	own := pair(t, "n1")
	l := &listener{objects: &objects{keys: map[object.Path]map[string][]byte{sec("cert"): keys(t, own)}}, bus: bus.New("n1")}
	l.Certificates = presented.New(presented.Options{
		Objects: l.objects, Bus: l.bus, Log: slog.New(slog.NewTextHandler(&l.log, nil)), Own: sec("cert"), First: own.TLS(),
	})
	return l
}

// asks returns the name of the certificate a client gets.
func (l *listener) asks(t *testing.T, name string) string {
	t.Helper()
	c, err := l.For(&tls.ClientHelloInfo{
		ServerName: name, SupportedVersions: []uint16{tls.VersionTLS13}, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
		SupportedCurves: []tls.CurveID{tls.CurveP256}, CipherSuites: []uint16{tls.TLS_AES_128_GCM_SHA256},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf.Subject.CommonName
}

// A certificate that all nodes share need not name each of them: who asks for a node
// by its name gets one that does.
func TestANodeThatTheSharedCertificateDoesNotNameHasItsOwn(t *testing.T) {
	t.Parallel()
	alone := pair(t, "n1", "127.0.0.1")
	shared := pair(t, "vip.example.com", "n2")
	objects := &objects{keys: map[object.Path]map[string][]byte{sec("cert"): keys(t, shared)}}
	l := &listener{objects: objects, bus: bus.New("n1")}
	made := errors.New("no authority")
	l.Certificates = presented.New(presented.Options{
		Objects: objects, Bus: l.bus, Log: slog.New(slog.NewTextHandler(&l.log, nil)), Own: sec("cert"), First: shared.TLS(),
		Sign: func() (tls.Certificate, error) { return alone.TLS(), made },
	})
	l.Load(t.Context())
	if got := l.asks(t, "n1"); got != "vip.example.com" || !strings.Contains(l.log.String(), "no authority") {
		t.Errorf("without an authority, n1 is answered %s:\n%s", got, l.log.String())
	}
	made = nil
	l.Load(t.Context())
	for name, want := range map[string]string{"n1": "n1", "vip.example.com": "vip.example.com", "n2": "vip.example.com", "other": "vip.example.com", "": "vip.example.com"} {
		if got := l.asks(t, name); got != want {
			t.Errorf("%q gets that of %s", name, got)
		}
	}
}

func TestAClientGetsTheCertificateOfTheNameItAsks(t *testing.T) {
	t.Parallel()
	l := newListener(t)
	l.objects.site.Presented = []object.Path{sec("a"), sec("b"), sec("empty"), sec("missing")}
	l.objects.set(sec("a"), keys(t, pair(t, "a.example.com", "*.w.example.com")))
	l.objects.set(sec("b"), keys(t, pair(t, "b.example.com")))
	l.objects.set(sec("empty"), map[string][]byte{})
	l.Load(t.Context())

	for name, want := range map[string]string{
		"a.example.com": "a.example.com", "B.example.com": "b.example.com", "x.w.example.com": "a.example.com", "c.example.com": "n1", "": "n1", "n1": "n1",
	} {
		if got := l.asks(t, name); got != want {
			t.Errorf("%q gets that of %s", name, got)
		}
	}
	for _, want := range []string{"waits for a certificate to present", "object=system/sec/empty", "cannot present a certificate", "object=system/sec/missing"} {
		if !strings.Contains(l.log.String(), want) {
			t.Errorf("%q is not logged:\n%s", want, l.log.String())
		}
	}
	logged := l.log.Len()
	l.Load(t.Context())
	if l.log.Len() != logged {
		t.Errorf("the same is told twice:\n%s", l.log.String())
	}
}

func TestACertificateThatCannotBeUsedLeavesTheFormerOne(t *testing.T) {
	t.Parallel()
	l := newListener(t)
	l.objects.set(sec("cert"), keys(t, pair(t, "n2")))
	l.Load(t.Context())
	if got := l.asks(t, ""); got != "n2" {
		t.Errorf("the new one is not presented, but that of %s", got)
	}
	broken := keys(t, pair(t, "n3"))
	broken[certificate.KeyPrivate] = keys(t, pair(t, "n4"))[certificate.KeyPrivate]
	l.objects.set(sec("cert"), broken)
	l.Load(t.Context())
	if got := l.asks(t, ""); got != "n2" {
		t.Errorf("got that of %s", got)
	}
	if !strings.Contains(l.log.String(), "goes on with its former certificate") {
		t.Errorf("it is not told:\n%s", l.log.String())
	}
}

// followed runs the certificates until the test ends, and then looks no more.
func (l *listener) followed(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = l.Run(ctx) })
	t.Cleanup(func() { cancel(); group.Wait() })
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := retry.Until(ctx, retry.Policy{Interval: 5 * time.Millisecond}, func(context.Context) (bool, error) { return ok(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestChallengesAreAnsweredWhereTheConfigurationSays(t *testing.T) {
	t.Parallel()
	l := newListener(t)
	l.followed(t)
	changed := func(p object.Path, change func()) {
		l.objects.mu.Lock()
		change()
		l.objects.mu.Unlock()
		l.bus.Publish(event.InstanceConfigUpdated{Path: p, Node: "n1"})
	}
	const address = "127.83.17.5" // where nobody else takes the port meanwhile
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(free.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err = errors.Join(err, free.Close()); err != nil {
		t.Fatal(err)
	}
	changed(object.Cluster(), func() {
		l.objects.site = renewal.Site{Presented: []object.Path{sec("public")}, Addr: address, ACMEPort: number}
	})
	changed(sec("public"), func() {
		l.objects.keys[sec("public")] = map[string][]byte{renewal.KeyChallenge: []byte(`{"token":"token.answer"}`)}
	})
	ask := func(method, path string) (string, int) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+":"+port+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", 0
		}
		text, err := io.ReadAll(got.Body)
		if err = errors.Join(err, got.Body.Close()); err != nil {
			t.Error(err)
		}
		return string(text), got.StatusCode
	}

	until(t, "the answer", func() bool {
		text, status := ask(http.MethodGet, "/.well-known/acme-challenge/token")
		return text == "token.answer" && status == http.StatusOK
	})
	for _, path := range []string{"/", "/.well-known/acme-challenge/", "/.well-known/acme-challenge/other", "/api/node", "/.well-known/acme-challenge/../../token"} {
		if _, status := ask(http.MethodGet, path); status != http.StatusNotFound {
			t.Errorf("%s answers %d", path, status)
		}
	}
	if _, status := ask(http.MethodPost, "/.well-known/acme-challenge/token"); status != http.StatusNotFound {
		t.Errorf("POST answers %d", status)
	}
	changed(sec("public"), func() { l.objects.keys[sec("public")] = map[string][]byte{} })
	until(t, "the end of the renewal", func() bool {
		_, status := ask(http.MethodGet, "/.well-known/acme-challenge/token")
		return status == http.StatusNotFound
	})
	changed(object.Cluster(), func() { l.objects.site.ACMEPort = 0 })
	until(t, "the end of the listener", func() bool {
		_, status := ask(http.MethodGet, "/")
		return status == 0
	})
}
