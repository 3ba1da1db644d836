package cloud_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
)

func TestARequestCarriesTokenVersionAndName(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.HandleFunc("POST /network/v2.0/networks", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(object{"body": string(b), "type": r.Header.Get("Content-Type"), "length": r.ContentLength})
	})
	var into object
	c := f.open(openrc())

	err := service(t, c, "network").Do(t.Context(), cloud.Request{Method: "POST", Path: "/networks", Query: url.Values{"a": {"b c"}}, Body: object{"name": "<&>"}, Into: &into})

	want := object{"body": `{"name":"<&>"}`, "type": "application/json", "length": json.Number("14")}
	if diff := cmp.Diff(want, into); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if f.log[1] != "POST /network/v2.0/networks?a=b+c" {
		t.Error(f.log)
	}
	h := f.heads[1]
	if got := h.Get("X-Auth-Token") + " " + h.Get("User-Agent") + " " + h.Get("Accept"); got != "t1 koc/1.2 application/json" {
		t.Error(got)
	}
}

func TestServicesAreFoundInTheCatalogue(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.lacks = "dns"
	t.Run("with the version they are known to have", func(t *testing.T) {
		t.Parallel()
		c := f.open(openrc())
		got := map[string]string{}
		for _, typ := range []string{"compute", "network", "volume", "block-storage", "image", "identity", "placement", "baremetal", "load-balancer"} {
			got[typ] = strings.TrimPrefix(service(t, c, typ).Endpoint, "http://cloud.test")
		}
		want := map[string]string{
			"compute": "/compute/v2.1", "network": "/network/v2.0", "volume": "/volume/v3/p1", "block-storage": "/volume/v3/p1", "image": "/image/v2",
			"identity": "/identity/v3", "placement": "/placement", "baremetal": "/baremetal/v1", "load-balancer": "/lb/v2.0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("by interface", func(t *testing.T) {
		t.Parallel()
		if s := service(t, f.open(openrc("OS_ENDPOINT_TYPE", "internalURL")), "compute"); s.Endpoint != "http://inside.test/compute/v2.1" {
			t.Error(s.Endpoint)
		}
	})
	t.Run("or not, and then it says what there is", func(t *testing.T) {
		t.Parallel()
		_, err := f.open(openrc()).Service(t.Context(), "dns")
		wants(t, err, "this cloud has no dns service", "baremetal, compute,")
		_, err = f.open(openrc("OS_REGION_NAME", "two")).Service(t.Context(), "compute")
		wants(t, err, `no public endpoint of the compute service in region "two"`, "internal in one, public in one", "--os-region-name")
	})
	t.Run("unless the user says where", func(t *testing.T) {
		t.Parallel()
		s := service(t, f.open(openrc("OS_DNS_ENDPOINT_OVERRIDE", "http://dns.test/")), "dns")
		v := service(t, f.open(openrc("OS_VOLUME_ENDPOINT_OVERRIDE", "http://v.test/v3/%(project_id)s")), "volume")
		if s.Endpoint != "http://dns.test/v2" || v.Endpoint != "http://v.test/v3/p1" {
			t.Error(s.Endpoint, v.Endpoint)
		}
	})
}

func TestAnUnversionedEndpointThatIsElsewhereIsDiscoveredOnce(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("GET /network/{$}", 200, `{"versions":[{"id":"v2.0","status":"CURRENT","links":[{"rel":"self","href":"http://backend:9696/network/api/v2.0/"}]}]}`)
	f.answer("GET /network/api/v2.0/networks", 200, `{"networks":[]}`)
	f.answer("GET /network/api/v2.0/ports/x", 404, `{"NeutronError":{"type":"PortNotFound","message":"Port x could not be found.","detail":""}}`)
	c := f.open(openrc())

	for range 2 {
		if err := service(t, c, "network").Do(t.Context(), cloud.Request{Path: "/networks"}); err != nil {
			t.Error(err)
		}
	}
	wants(t, service(t, c, "network").Do(t.Context(), cloud.Request{Path: "/ports/x"}), "Port x could not be found (404)")

	want := []string{"GET /network/v2.0/networks", "GET /network/", "GET /network/api/v2.0/networks", "GET /network/api/v2.0/networks", "GET /network/api/v2.0/ports/x"}
	if diff := cmp.Diff(want, f.requests()); diff != "" {
		t.Error(diff)
	}
}

func TestATokenThatExpiresIsReplacedOnce(t *testing.T) {
	t.Parallel()
	f := newFake()
	var page atomic.Int32
	f.HandleFunc("/compute/v2.1/servers/detail", func(w http.ResponseWriter, r *http.Request) {
		if page.Add(1) > 1 && r.Header.Get("X-Auth-Token") == "t1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		b, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, `{"got":%q}`, b)
	})
	s := service(t, f.open(openrc()), "compute")

	for i := range 3 { // in the middle of a list
		var into struct{ Got string }
		body := bytes.NewReader([]byte("again"))
		if err := s.Do(t.Context(), cloud.Request{Method: "PUT", Path: "/servers/detail", Body: body, Into: &into}); err != nil || into.Got != "again" {
			t.Error(i, err, into)
		}
	}

	if f.issued != 2 {
		t.Errorf("%d tokens", f.issued)
	}
}

func TestATokenThatIsRefusedAgainIsAnError(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("/compute/v2.1/servers", 401, `{"error":{"message":"The request you have made requires authentication.","code":401}}`)
	c := f.open(openrc())

	err := service(t, c, "compute").Do(t.Context(), cloud.Request{Path: "/servers"})

	wants(t, err, "requires authentication (401)", "a new token is refused too")
	if f.issued != 2 {
		t.Errorf("%d tokens", f.issued)
	}
	t.Run("nor is one that was given replaced", func(t *testing.T) {
		t.Parallel()
		err := service(t, f.open(openrc("OS_AUTH_TYPE", "token", "OS_TOKEN", "x")), "compute").Do(t.Context(), cloud.Request{Path: "/servers"})
		wants(t, err, "the token (OS_TOKEN) has expired")
	})
	t.Run("nor is a body sent twice that cannot be", func(t *testing.T) {
		t.Parallel()
		err := service(t, f.open(openrc()), "compute").Do(t.Context(), cloud.Request{Method: "PUT", Path: "/servers", Body: io.MultiReader(strings.NewReader("once"))})
		wants(t, err, "(401)")
	})
}

// outcome is an answer, or the lack of one.
type outcome struct {
	code   int
	header http.Header
	body   func() io.ReadCloser
	err    error
}

// failing has outcomes of its own before it gives way.
type failing struct {
	http.RoundTripper
	path string
	with []outcome
	n    int
}

// RoundTrip implements [http.RoundTripper].
func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, f.path) {
		return f.RoundTripper.RoundTrip(r)
	}
	if f.n++; f.n > len(f.with) {
		return f.RoundTripper.RoundTrip(r)
	}
	o := f.with[f.n-1]
	if o.err != nil {
		return nil, o.err
	}
	response := &http.Response{StatusCode: o.code, Header: o.header, Body: http.NoBody, Request: r}
	if o.body != nil {
		response.Body = o.body()
	}
	return response, nil
}

func status(code int, header ...string) outcome {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return outcome{code: code, header: h}
}

func reset() outcome { return outcome{err: fmt.Errorf("read: %w", syscall.ECONNRESET)} }

func TestWhatIsSafeIsTriedAgain(t *testing.T) {
	t.Parallel()
	type answers = []outcome
	for _, c := range []struct {
		name   string
		method string
		body   any
		once   bool
		with   answers
		tries  int
		least  time.Duration
		fails  string
	}{
		{name: "a read of a busy service", with: answers{status(503), status(429)}, tries: 3},
		{name: "a read through a broken gateway", with: answers{status(502), status(504)}, tries: 3},
		{name: "a read whose connection broke", with: answers{reset()}, tries: 2},
		{name: "after the pause that is asked for", with: answers{status(429, "Retry-After", "7")}, tries: 2, least: 7 * time.Second},
		{name: "an old sign of too much", with: answers{status(413, "Retry-After", "1")}, tries: 2, least: time.Second},
		{name: "but not for ever", with: answers{status(503), status(503), status(503)}, tries: 3, fails: "service unavailable (503)"},
		{name: "nor after a long pause", with: answers{status(429, "Retry-After", "3600")}, tries: 1, fails: "try again in 1h0m0s"},
		{name: "nor an error of the service", with: answers{status(500)}, tries: 1, fails: "(500)"},
		{name: "nor a body that is too large", with: answers{status(413)}, tries: 1, fails: "(413)"},
		{name: "nor a post", method: "POST", with: answers{status(503)}, tries: 1, fails: "(503)"},
		{name: "nor a post whose connection broke", method: "POST", with: answers{reset()}, tries: 1, fails: "connection reset"},
		{name: "a deletion that was not begun", method: "DELETE", with: answers{status(429)}, tries: 2},
		{name: "but not one that may have been", method: "DELETE", with: answers{status(504)}, tries: 1, fails: "(504)"},
		{name: "nor a stream", method: "PUT", body: strings.NewReader("x"), with: answers{status(429)}, tries: 1, fails: "(429)"},
		{name: "nor what must be sent once", once: true, with: answers{status(503)}, tries: 1, fails: "(503)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.answer("/network/v2.0/networks", 200, `{}`)
				net := &failing{RoundTripper: f, path: "/networks", with: c.with}
				s := service(t, f.open(openrc(), func(o *cloud.Options) { o.Transport = net }), "network")
				began := time.Now()

				err := s.Do(t.Context(), cloud.Request{Method: c.method, Path: "/networks", Body: c.body, Once: c.once})

				if c.fails != "" {
					wants(t, err, c.fails)
				} else if err != nil {
					t.Error(err)
				}
				if took := time.Since(began); net.n != c.tries || took < c.least || took > 30*time.Second {
					t.Errorf("%d tries in %v", net.n, took)
				}
			})
		})
	}
}

func TestAnInterruptionEndsThePause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.answer("/network/v2.0/networks", 503, ``, "Retry-After", "20")
		s := service(t, f.open(openrc()), "network")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		err := s.Do(ctx, cloud.Request{Path: "/networks"})

		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// stream is a decoder that takes what comes.
type stream struct{ got strings.Builder }

// DecodeFrom reads a JSON document.
func (s *stream) DecodeFrom(r io.Reader) error {
	d := json.NewDecoder(io.TeeReader(r, &s.got))
	var v any
	return d.Decode(&v)
}

// broken is a body that ends with an error.
func broken(text string, err error) io.ReadCloser {
	return io.NopCloser(io.MultiReader(strings.NewReader(text), &bad{err}))
}

type bad struct{ err error }

// Read implements [io.Reader].
func (b *bad) Read([]byte) (int, error) { return 0, b.err }

// zeros is a body without an end.
type zeros struct{}

// Read implements [io.Reader].
func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestAnAnswerThatIsNotWholeIsNeverTakenForOneThatIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		body func() io.ReadCloser
		kind string
		want []string
	}{
		{"half a page, then a reset", func() io.ReadCloser { return broken(`{"servers":[{"id":"1"},`, syscall.ECONNRESET) }, "application/json", []string{"compute service, GET /compute/v2.1/servers", "interrupted", "not all", "connection reset"}},
		{"half a page, then the end", func() io.ReadCloser { return broken(`{"servers":[{"id":"1"},`, io.EOF) }, "application/json", []string{"ends in the middle, after 23 bytes"}},
		{"half of what was announced", func() io.ReadCloser { return broken(`{"servers":[`, io.ErrUnexpectedEOF) }, "application/json", []string{"interrupted"}},
		{"nothing", func() io.ReadCloser { return broken(``, io.EOF) }, "application/json", []string{"empty where a JSON document was expected"}},
		{"not JSON", func() io.ReadCloser { return broken(`{"servers": nope}`, io.EOF) }, "application/json", []string{"compute service, GET /compute/v2.1/servers", "no JSON", "at byte"}},
		{"a page for people", func() io.ReadCloser { return broken(`<html>Sign in</html>`, io.EOF) }, "text/html", []string{"no JSON", `"text/html"`, "is the endpoint that of the service?"}},
		{"two documents", func() io.ReadCloser { return broken(`{}{}`, io.EOF) }, "application/json", []string{"more follows"}},
		{"of five gigabytes", func() io.ReadCloser { return io.NopCloser(io.MultiReader(strings.NewReader(`{"a":"`), zeros{})) }, "application/json", []string{"longer than 1 MiB", "--limit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answer := status(200, "Content-Type", c.kind)
			answer.body = c.body
			f := newFake()
			net := &failing{RoundTripper: f, path: "/servers", with: []outcome{answer, answer}}
			s := service(t, f.open(openrc(), func(o *cloud.Options) { o.Transport = net; cloud.SetLimit(o, 1<<20) }), "compute")
			var into any

			wants(t, s.Do(t.Context(), cloud.Request{Path: "/servers", Into: &into}), c.want...)

			if c.name == "of five gigabytes" {
				wants(t, s.Do(t.Context(), cloud.Request{Path: "/servers", Into: new(stream)}), "longer than 16 MiB", "--limit")
			} else if c.name != "two documents" {
				wants(t, s.Do(t.Context(), cloud.Request{Path: "/servers", Into: new(stream)}), c.want[0])
			}
		})
	}
}

func TestADecoderReadsWhileTheAnswerArrives(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("/compute/v2.1/servers", 200, `{"servers":[1,2]}`)
	var into stream

	err := service(t, f.open(openrc()), "compute").Do(t.Context(), cloud.Request{Path: "/servers", Into: &into})

	if err != nil || into.got.String() != `{"servers":[1,2]}` {
		t.Error(err, into.got.String())
	}
}

func TestAnOpenAnswerIsReadByTheCaller(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("/image/v2/images/1/file", 206, `data`, "X-Thing", "y")
	s := service(t, f.open(openrc()), "image")

	r, err := s.Open(t.Context(), cloud.Request{Path: "/images/1/file", OK: []int{200, 206}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)

	if err != nil || string(b) != "data" || r.Status != 206 || r.Header.Get("X-Thing") != "y" {
		t.Errorf("%q %v %+v", b, err, r)
	}
	_, err = s.Open(t.Context(), cloud.Request{Path: "/images/1/file"})
	if err != nil {
		t.Error(err)
	}
	_, err = s.Open(t.Context(), cloud.Request{Path: "/images/1/file", OK: []int{204}})
	var fault *cloud.Fault
	if !errors.As(err, &fault) || fault.Status != 206 {
		t.Errorf("an unexpected status: %v", err)
	}
}

func TestLinksLeadToTheEndpointOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ link, endpoint, want string }{
		{"http://backend:9696/v2.0/networks?marker=1", "https://api.test/network/v2.0", "https://api.test/network/v2.0/networks?marker=1"},
		{"http://api.test/network/v2.0/networks", "https://api.test/network/v2.0", "https://api.test/network/v2.0/networks"},
		{"http://evil:x@backend/v2/images?a=%2F", "https://api.test/v2", "https://api.test/v2/images?a=%2F"},
		{"http://backend/placement/resource_providers", "https://api.test/placement", "https://api.test/placement/resource_providers"},
	} {
		if got, err := cloud.Rebase(c.link, c.endpoint); got != c.want || err != nil {
			t.Errorf("%s below %s: %s %v", c.link, c.endpoint, got, err)
		}
	}
	f := newFake()
	f.answer("/network/v2.0/networks", 200, `{}`)
	s := service(t, f.open(openrc()), "network")

	for _, link := range []string{"http://cloud.test/network/v2.0/networks?marker=1", "http://evil.test/v2.0/networks?marker=1", "https://cloud.test:443/network/v2.0/networks?marker=1"} {
		if err := s.Do(t.Context(), cloud.Request{Path: link}); err != nil {
			t.Error(err)
		}
	}
	for _, r := range f.requests() {
		if r != "GET /network/v2.0/networks?marker=1" {
			t.Error(r)
		}
	}
}

func TestMicroversions(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("/compute/v2.1/{$}", 200, `{"version":{"id":"v2.1","status":"CURRENT","version":"2.93","min_version":"2.1","links":[]}}`)
	f.answer("/baremetal/v1/{$}", 200, `{"id":"v1","version":{"id":"v1","status":"CURRENT","version":"1.82","min_version":"1.1"}}`)
	f.answer("/placement/{$}", 200, `{"versions":[{"id":"v1.0","max_version":"1.39","min_version":"1.0","status":"CURRENT"}]}`)
	f.answer("/volume/v3/{$}", 200, `{"versions":[{"id":"v3.0","version":"3.70","min_version":"3.0","status":"CURRENT"}]}`)
	f.answer("/network/v2.0/{$}", 200, `{"resources":[]}`)
	compat := func(o *cloud.Options) { o.Compat = true }
	for _, c := range []struct {
		name    string
		session *cloud.Cloud
		typ     string
		want    string
	}{
		{"the latest by default", f.open(openrc()), "compute", "latest"},
		{"for volumes too", f.open(openrc()), "volume", "latest"},
		{"the first for the openstack client", f.open(openrc(), compat), "compute", "2.1"},
		{"for volumes too there", f.open(openrc(), compat), "volume", "3.0"},
		{"none where there are none", f.open(openrc()), "network", ""},
		{"what is pinned", f.open(openrc("OS_COMPUTE_API_VERSION", "2.53")), "compute", "2.53"},
		{"what is pinned for the openstack client", f.open(openrc("OS_COMPUTE_API_VERSION", "2.53"), compat), "compute", "2.53"},
		{"no version of an API", f.open(openrc("OS_VOLUME_API_VERSION", "3")), "volume", "latest"},
		{"the latest of an API", f.open(openrc("OS_COMPUTE_API_VERSION", "2.latest"), compat), "compute", "latest"},
	} {
		if s := service(t, c.session, c.typ); s.Microversion != c.want {
			t.Errorf("%s: %q, want %q", c.name, s.Microversion, c.want)
		}
	}

	free, pinned := service(t, f.open(openrc()), "compute"), service(t, f.open(openrc("OS_COMPUTE_API_VERSION", "2.53")), "compute")
	if got := free.Default("2.1").Microversion + " " + pinned.Default("2.1").Microversion + " " + pinned.At("2.43").Microversion; got != "2.1 2.53 2.43" {
		t.Error(got)
	}
	if err := errors.Join(free.Needs("2.90", "--hostname"), pinned.Needs("2.53", "--x")); err != nil {
		t.Error(err)
	}
	wants(t, pinned.Needs("2.90", "--hostname"), "--hostname requires compute API microversion 2.90 or later", "2.53", "--os-compute-api-version")
	for _, c := range []struct{ typ, highest, want string }{
		{"compute", "2.61", "2.61"}, {"compute", "2.99", "2.93"}, {"baremetal", "1.90", "1.82"}, {"placement", "1.50", "1.39"}, {"volume", "3.70", "3.70"}, {"network", "2.5", ""},
	} {
		s, err := service(t, f.open(openrc()), c.typ).Negotiate(t.Context(), c.highest)
		if s.Microversion != c.want || err != nil {
			t.Errorf("%s up to %s: %q %v", c.typ, c.highest, s.Microversion, err)
		}
	}
}

func TestTheHeadersOfMicroversions(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("/", 200, `{}`)
	for _, c := range []struct{ typ, generic, own string }{
		{"compute", "compute 2.5", "X-Openstack-Nova-Api-Version"}, {"volume", "volume 2.5", ""}, {"placement", "placement 2.5", ""}, {"baremetal", "baremetal 2.5", "X-Openstack-Ironic-Api-Version"},
	} {
		if err := service(t, f.open(openrc()), c.typ).At("2.5").Do(t.Context(), cloud.Request{Path: "/x"}); err != nil {
			t.Error(err)
		}
		h := f.heads[len(f.heads)-1]
		if h.Get("Openstack-Api-Version") != c.generic || c.own != "" && h.Get(c.own) != "2.5" {
			t.Errorf("%s: %v", c.typ, h)
		}
	}
}

func TestAMicroversionThatIsNotThereNamesThoseThatAre(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("/baremetal/v1/nodes", 406, `{"error_message":"{\"faultstring\":\"Version 9.9 was requested but unsupported.\"}"}`, "X-OpenStack-Ironic-API-Minimum-Version", "1.1", "X-OpenStack-Ironic-API-Maximum-Version", "1.82")

	err := service(t, f.open(openrc("OS_BAREMETAL_API_VERSION", "9.9")), "baremetal").Do(t.Context(), cloud.Request{Path: "/nodes"})

	wants(t, err, "was requested but unsupported (406)", "microversion 9.9 was asked for, and this cloud has 1.1 to 1.82 (--os-baremetal-api-version)")
}

func TestARefusalSaysWhoAsked(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("/compute/v2.1/os-hypervisors", 403, `{"forbidden":{"code":403,"message":"Policy doesn't allow it to be performed."}}`)

	err := service(t, f.open(openrc()), "compute").Do(t.Context(), cloud.Request{Path: "/os-hypervisors"})

	wants(t, err, "Policy doesn't allow it to be performed (403)", "user anna has the roles member in project demo")
}

func TestAnAddressThatIsNoneIsSaid(t *testing.T) {
	t.Parallel()
	for endpoints, want := range map[string]string{
		`[]`: "the catalogue has no address of the compute service: set compute_endpoint_override",
		`[{"interface":"public"},{"interface":"public","url":""}]`:      "has no address of the compute service",
		`[{"interface":"public","url":"::nowhere"}]`:                    `the address "::nowhere" of the compute service`,
		`[{"interface":"public","url":"ftp://me:hushhush@cloud.test"}]`: `the address "ftp://me:redacted@cloud.test" of the compute service`,
		`[{"interface":"internal","region":"R","url":"http://a"}]`:      "no public endpoint of the compute service; the catalogue has: internal in R",
	} {
		f := newFake()
		f.ServeMux = http.NewServeMux()
		f.answer("POST /identity/v3/auth/tokens", 201, `{"token":{"catalog":[{"type":"compute","endpoints":`+endpoints+`}]}}`, "X-Subject-Token", "t")

		_, err := f.open(openrc()).Service(t.Context(), "compute")

		wants(t, err, want)
	}
}

func TestAnAbsurdPauseIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]string{
		"3600": "slow (429); try again in 1h0m0s", "999999999": "slow (429); it asks to wait for more than a day", "-5": "slow (429)",
		"99999999999999999999": "slow (429)", "soon": "slow (429)", "Fri, 31 Dec 9999 23:59:59 GMT": "it asks to wait for more than a day",
	} {
		t.Run(after, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.answer("/compute/", 429, `{"overLimit":{"message":"slow"}}`, "Retry-After", after)

				err := service(t, f.open(openrc()), "compute").Do(t.Context(), cloud.Request{Path: "/servers"})

				wants(t, err, want)
			})
		})
	}
}
