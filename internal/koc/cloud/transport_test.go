package cloud_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
)

// overTLS is a Keystone behind TLS, with the file of its authority.
func overTLS(t *testing.T) (server *httptest.Server, authority string) {
	t.Helper()
	f := newFake()
	server = httptest.NewUnstartedServer(f)
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	authority = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return server, authority
}

// networked is a session over the network.
func networked(env map[string]string) (*cloud.Cloud, *strings.Builder) {
	var said strings.Builder
	o := cloud.Options{Env: func(name string) string { return env[name] }, Streams: &iostreams.Streams{In: strings.NewReader(""), Out: &said, Err: &said}}
	return cloud.New(o), &said
}

func TestTheServerIsVerified(t *testing.T) {
	t.Parallel()
	server, authority := overTLS(t)
	wrongName := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for _, c := range []struct {
		name string
		url  string
		env  []string
		want []string
		said string
	}{
		{"by the authority that is given", server.URL, []string{"OS_CACERT", authority}, nil, ""},
		{"which may be in the home folder", server.URL, []string{"OS_CACERT", "~/" + filepath.Base(authority), "HOME", filepath.Dir(authority)}, nil, ""},
		{"else by those of the machine", server.URL, nil, []string{"gave no answer", "--os-cacert"}, ""},
		{"by its name", wrongName, []string{"OS_CACERT", authority}, []string{"localhost", "certificate is that of another machine"}, ""},
		{"unless that is not wanted, which is said once", wrongName, []string{"OS_INSECURE", "1"}, nil, "WARNING: TLS certificate verification is disabled for localhost:"},
		{"it must speak TLS", strings.Replace(server.URL, "https", "http", 1), nil, []string{"(400)"}, ""},
		{"and the file must be one", server.URL, []string{"OS_CACERT", authority + "x"}, []string{"the CA certificates of OS_CACERT", "no such file"}, ""},
		{"a certificate needs its key", server.URL, []string{"OS_CERT", authority}, []string{"OS_CERT is set but --os-key is missing"}, ""},
		{"and a key its certificate", server.URL, []string{"OS_KEY", authority}, []string{"OS_KEY is set but --os-cert is missing"}, ""},
		{"and they must fit", server.URL, []string{"OS_CERT", authority, "OS_KEY", authority}, []string{"client certificate of OS_CERT with the key of OS_KEY"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			session, said := networked(openrc(append([]string{"OS_AUTH_URL", c.url + "/identity"}, c.env...)...))

			_, err := session.Token(t.Context())

			if c.want != nil {
				wants(t, err, c.want...)
			} else if err != nil {
				t.Error(err)
			}
			if text := said.String(); !strings.HasPrefix(text, c.said) || (c.said == "") != (text == "") || strings.Count(text, "\n") > 1 {
				t.Errorf("said %q", text)
			}
		})
	}
}

func TestOnlyIPv4IsUsedWhenThatIsWanted(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp6", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6")
	}
	server := httptest.NewUnstartedServer(newFake())
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	four, _ := overTLS(t)
	address := server.URL + "/identity"

	any6, _ := networked(openrc("OS_AUTH_URL", address))
	only4, _ := networked(openrc("OS_AUTH_URL", address, "OS_FORCE_IPV4", "yes"))
	there, _ := networked(openrc("OS_AUTH_URL", four.URL+"/identity", "OS_FORCE_IPV4", "yes", "OS_INSECURE", "1"))
	unclear, _ := networked(openrc("OS_AUTH_URL", address, "OS_FORCE_IPV4", "perhaps"))

	if _, err := any6.Token(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := there.Token(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = only4.Token(t.Context())
	wants(t, err, "gave no answer", "no suitable address", "force_ipv4")
	_, err = unclear.Token(t.Context())
	wants(t, err, `OS_FORCE_IPV4="perhaps": expected a boolean`)
}

func TestAClientCertificateIsShown(t *testing.T) {
	t.Parallel()
	server, authority := overTLS(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	server.TLS.ClientAuth = tls.RequireAnyClientCert
	certificate, keyFile := selfSigned(t, key)

	session, _ := networked(openrc("OS_AUTH_URL", server.URL+"/identity", "OS_CACERT", authority, "OS_CERT", certificate, "OS_KEY", keyFile))
	if _, err := session.Token(t.Context()); err != nil {
		t.Error(err)
	}
	without, _ := networked(openrc("OS_AUTH_URL", server.URL+"/identity", "OS_CACERT", authority))
	if _, err := without.Token(t.Context()); err == nil {
		t.Error("no certificate was needed")
	}
}

func selfSigned(t *testing.T, key *ecdsa.PrivateKey) (certificate, keyFile string) {
	t.Helper()
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, keyFile = filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	for name, block := range map[string]pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(&block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, keyFile
}

func TestPlainHTTPIsNamedOnce(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("/", 200, `{}`)
	for _, c := range []struct {
		url    string
		compat bool
		quiet  bool
		want   string
	}{
		{url: "http://cloud.test/identity", want: "WARNING: cloud.test is plain HTTP (http://cloud.test); credentials and tokens are sent unencrypted\n"},
		{url: "http://cloud.test/identity", compat: true},
		{url: "http://cloud.test/identity", quiet: true},
		{url: "http://127.0.0.1:5000/identity"},
		{url: "http://[::1]:5000/identity"},
		{url: "http://localhost/identity"},
	} {
		var said strings.Builder
		session := f.open(openrc("OS_AUTH_URL", c.url), func(o *cloud.Options) { o.Streams.Err, o.Compat, o.Quiet = &said, c.compat, c.quiet })
		for range 2 {
			if _, err := session.Token(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if said.String() != c.want {
			t.Errorf("%s: %q", c.url, said.String())
		}
	}
}

func TestRedirectsLeaveSecretsBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ to, token string }{
		{"http://cloud.test/network/v2.0/there", "t1"},
		{"http://cloud.test:80/network/v2.0/there", "t1"},
		{"http://other.test/there", ""},
		{"https://cloud.test/there", ""},
	} {
		f := newFake()
		f.answer("/network/v2.0/here", 302, ``, "Location", c.to)
		f.answer("/there", 200, `{}`)
		f.answer("/network/v2.0/there", 200, `{}`)

		err := service(t, f.open(openrc()), "network").Do(t.Context(), cloud.Request{Path: "/here"})

		if got := f.heads[len(f.heads)-1].Get("X-Auth-Token"); err != nil || got != c.token {
			t.Errorf("%s: %q %v", c.to, got, err)
		}
	}
	f := newFake()
	f.answer("/network/v2.0/here", 302, ``, "Location", "/network/v2.0/here")
	wants(t, service(t, f.open(openrc()), "network").Do(t.Context(), cloud.Request{Path: "/here"}), "stopped after 5 redirects")
}

func TestRedirectsLeaveBodiesBehind(t *testing.T) {
	t.Parallel()
	for to, again := range map[string]bool{
		"http://cloud.test/network/v2.0/there":       true,
		"https://cloud.test:8443/network/v2.0/there": true,
		"http://other.test/there":                    false,
		"https://other.test/there":                   false,
	} {
		f := newFake()
		f.answer("/network/v2.0/here", 307, ``, "Location", to)
		f.answer("/there", 200, `{}`)
		f.answer("/network/v2.0/there", 200, `{}`)

		err := service(t, f.open(openrc()), "network").Do(t.Context(), cloud.Request{Method: "POST", Path: "/here", Body: map[string]string{"password": "s3cr3t"}})

		if again && err != nil {
			t.Errorf("%s: %v", to, err)
		}
		if !again {
			wants(t, err, "it redirects to "+strings.TrimSuffix(to, "/there")+", where what was sent is not sent again")
		}
	}
	f := newFake()
	f.ServeMux = http.NewServeMux()
	f.answer("/", 307, ``, "Location", "http://other.test/steal")
	_, err := f.open(openrc()).Token(t.Context())
	wants(t, err, "it redirects to http://other.test, where what was sent is not sent again")
	if len(f.heads) != 1 {
		t.Errorf("%d requests: the password went elsewhere", len(f.heads))
	}
}

// slow does not answer.
type slow struct {
	http.RoundTripper
	path string
}

// RoundTrip implements [http.RoundTripper].
func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, s.path) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return s.RoundTripper.RoundTrip(r)
}

func TestAnExchangeEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		net := &slow{f, "/networks"}
		s := service(t, f.open(openrc("OS_TIMEOUT", "1.5"), func(o *cloud.Options) { o.Transport = net }), "network")
		began := time.Now()

		err := s.Do(t.Context(), cloud.Request{Path: "/networks", Once: true})

		if time.Since(began) != 1500*time.Millisecond {
			t.Error(time.Since(began))
		}
		wants(t, err, "the network service at http://cloud.test gave no answer", "the limit is 1.5s (OS_TIMEOUT)")
	})
}

// stalled begins an answer that never ends.
type stalled struct{}

// RoundTrip implements [http.RoundTripper].
func (stalled) RoundTrip(r *http.Request) (*http.Response, error) {
	silence, feed := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = feed.CloseWithError(r.Context().Err()) })
	body := io.NopCloser(io.MultiReader(strings.NewReader(`{"networks":[`), silence))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body, Request: r}, nil
}

func TestAnAnswerIsCutAtTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := service(t, f.open(openrc("OS_AUTH_TYPE", "none", "OS_ENDPOINT", "http://cloud.test/network", "OS_TIMEOUT", "1.5"), func(o *cloud.Options) { o.Transport = stalled{} }), "network")

		err := s.Do(t.Context(), cloud.Request{Path: "/networks", Into: new(any)})

		wants(t, err, "the answer was not whole in the time for it (--timeout), what was shown is not all")
	})
}

func TestAnInterruptedRequestIsAnInterruption(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := service(t, f.open(openrc()), "network")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if err := s.Do(ctx, cloud.Request{Path: "/networks"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	const nobody = "http://127.0.0.1:1"
	session, _ := networked(openrc("OS_AUTH_URL", nobody))

	_, err := session.Token(t.Context())

	wants(t, err, "the identity service at "+nobody+" gave no answer", "nothing listens there")
}

func TestAReadChangesNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	t.Cleanup(server.Close)
	session, _ := networked(openrc("OS_AUTH_TYPE", "none", "OS_ENDPOINT", server.URL))
	service, err := session.Service(t.Context(), "network")
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Do(t.Context(), cloud.Request{Path: "/x"}); err != nil || session.Wrote() {
		t.Errorf("after a read: %v, wrote is %v", err, session.Wrote())
	}
	if err := service.Do(t.Context(), cloud.Request{Method: "DELETE", Path: "/x"}); err != nil || !session.Wrote() {
		t.Errorf("after a write: %v, wrote is %v", err, session.Wrote())
	}
}

func TestAnInterruptionInTheMiddleOfAnAnswerIsOne(t *testing.T) {
	t.Parallel()
	f := newFake()
	ctx, cancel := context.WithCancel(t.Context())
	f.HandleFunc("GET /half", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"networks":[`)
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
	})
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	session, _ := networked(openrc("OS_AUTH_URL", server.URL+"/identity", "OS_NETWORK_ENDPOINT_OVERRIDE", server.URL))
	network := service(t, session, "network")
	network.Endpoint = server.URL

	var into object
	err := network.Do(ctx, cloud.Request{Path: "/half", Into: &into})

	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
