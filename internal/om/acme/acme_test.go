package acme_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	xacme "golang.org/x/crypto/acme"

	"github.com/holdfast-ops/holdfast/internal/om/acme"
	"github.com/holdfast-ops/holdfast/internal/om/acme/acmetest"
	"github.com/holdfast-ops/holdfast/internal/om/certificate"
)

func now() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// site is who orders: what it publishes, the directory reads.
type site struct {
	t         *testing.T
	directory *acmetest.Directory
	client    *acme.Client
	account   crypto.Signer
	published map[string]string
	withdrawn int
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, directory: acmetest.New(t), published: map[string]string{}}
	s.directory.Verify = func(_, token string) string { return s.published[token] }
	s.client = &acme.Client{HTTP: s.directory.Client(), Now: now}
	s.account = s.key()
	return s
}

func (s *site) key() crypto.Signer {
	s.t.Helper()
	key, err := certificate.NewKey(rand.Reader, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

func (s *site) order(names ...string) ([]string, error) {
	s.t.Helper()
	csr, err := certificate.Maker{Random: rand.Reader}.SigningRequest(certificate.Request{Names: names}, s.key())
	if err != nil {
		s.t.Fatal(err)
	}
	block, _ := pem.Decode(csr)
	chain, err := s.client.Issue(s.t.Context(), certificate.Order{
		Directory: s.directory.Address(), Account: s.account, Contact: "a@example.com", Names: names, Request: block.Bytes,
		Publish: func(_ context.Context, answers map[string]string) (func(context.Context) error, error) {
			maps.Copy(s.published, answers)
			return func(context.Context) error {
				clear(s.published)
				s.withdrawn++
				return nil
			}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return certificate.Certified(chain[0]), nil
}

func (s *site) fails(err error, words ...string) {
	s.t.Helper()
	if err == nil {
		s.t.Fatalf("no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			s.t.Errorf("%q is not in: %v", w, err)
		}
	}
}

func TestACertificateIsOrderedProvenAndIssued(t *testing.T) {
	t.Parallel()
	s := newSite(t)

	names, err := s.order("www.example.com", "192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(names, []string{"www.example.com", "192.0.2.7"}) {
		t.Errorf("it names %q", names)
	}
	if s.withdrawn != 1 {
		t.Errorf("answers were withdrawn %d times", s.withdrawn)
	}
	if _, err := s.order("www.example.com"); err != nil {
		t.Fatal(err)
	}
	if n, contacts := s.directory.Accounts(); n != 1 || !slices.Equal(contacts, []string{"mailto:a@example.com"}) {
		t.Errorf("%d accounts, contacts %q", n, contacts)
	}
}

func TestANameThatIsNotProvenIsToldAndWithdrawn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.directory.Verify = func(name, token string) string {
		if name == "good.example.com" {
			return s.published[token]
		}
		return "hello"
	}

	_, err := s.order("good.example.com", "bad.example.com")

	s.fails(err, "prove bad.example.com: the answer of bad.example.com is another one", "port 80")
	if strings.Contains(err.Error(), "good.example.com") {
		t.Errorf("it blames a name that was proven: %v", err)
	}
	if s.withdrawn != 1 {
		t.Error("the answers are left behind")
	}
}

func TestARateLimitIsExplainedAndNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.directory.Refuse = func(operation string) *acmetest.Problem {
		if operation != "order" {
			return nil
		}
		return &acmetest.Problem{
			Status: http.StatusTooManyRequests, Type: "urn:ietf:params:acme:error:rateLimited", Detail: "too many certificates already issued.",
			Header: map[string]string{"Retry-After": "7200"},
		}
	}

	_, err := s.order("www.example.com")

	s.fails(err, "order the certificate: too many certificates already issued; it takes another request after 2026-11-30T14:00:00Z: ", "letsencrypt-staging")
	refusal, ok := errors.AsType[*acme.RefusedError](err)
	if !ok || refusal.Kind != "rateLimited" || !refusal.After.Equal(now().Add(2*time.Hour)) {
		t.Errorf("%+v", refusal)
	}
	asked := 0
	for _, operation := range s.directory.Asked() {
		if operation == "order" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("it asked %d times", asked)
	}
}

func TestANonceThatIsRefusedIsNoFailure(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var refused atomic.Bool
	s.directory.Refuse = func(operation string) *acmetest.Problem {
		if operation != "finalize" || refused.Swap(true) {
			return nil
		}
		return &acmetest.Problem{Status: http.StatusBadRequest, Type: "urn:ietf:params:acme:error:badNonce", Detail: "used"}
	}
	if _, err := s.order("www.example.com"); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.directory.Refuse = func(string) *acmetest.Problem { return &acmetest.Problem{Status: http.StatusNotFound} }
	_, err := s.order("www.example.com")
	s.fails(err, "read the directory: ", "404")
}

func TestATokenIsNoPath(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.directory.Token = "../../etc/passwd"
	_, err := s.order("www.example.com")
	s.fails(err, "which is no token")
	if len(s.published) > 0 {
		t.Error("it was published")
	}
}

func TestAnOrderEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.client.Attempt = time.Nanosecond
	_, err := s.order("www.example.com")
	s.fails(err, "did not issue the certificate within 1ns")
}

func TestARequestWithoutAnswerIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	flaky := &flaky{next: s.directory.Client().Transport}
	s.client.HTTP = &http.Client{Transport: acme.Patient(flaky)}
	if _, err := s.order("www.example.com"); err != nil {
		t.Fatal(err)
	}
	if flaky.failed.Load() != 1 {
		t.Errorf("%d requests failed", flaky.failed.Load())
	}
}

// flaky loses the second request.
type flaky struct {
	next         http.RoundTripper
	seen, failed atomic.Int32
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.seen.Add(1) == 2 {
		f.failed.Add(1)
		return nil, errors.New("connection reset")
	}
	return f.next.RoundTrip(r)
}

func TestWhatADirectorySaysIsToldWithWhatToDo(t *testing.T) {
	t.Parallel()
	problem := func(kind, detail string) *xacme.Error {
		return &xacme.Error{StatusCode: http.StatusForbidden, ProblemType: "urn:ietf:params:acme:error:" + kind, Detail: detail}
	}
	for kind, want := range map[string]string{
		"connection": "port 80", "dns": "must resolve", "caa": "CAA records", "rejectedIdentifier": "change cn or alt_names", "externalAccountRequired": "not supported",
		"invalidContact": "email keyword", "accountDoesNotExist": "acme_account", "userActionRequired": "terms",
	} {
		err := acme.Explain(errors.Join(problem(kind, "It says so.")), "https://x", now())
		if err == nil || !strings.Contains(err.Error(), "It says so: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	staging := acme.Explain(problem("rateLimited", "Slow down."), "https://acme-staging-v02.api.letsencrypt.org/directory", now())
	if strings.Contains(staging.Error(), "letsencrypt-staging") {
		t.Errorf("who tries it out is told to try it out: %v", staging)
	}
	other := errors.New("no route to host")
	if got := acme.Explain(other, "https://x", now()); !errors.Is(got, other) {
		t.Errorf("got %v", got)
	}
	sub := problem("malformed", "Errors.")
	sub.Subproblems = []xacme.Subproblem{{Detail: "no", Identifier: &xacme.AuthzID{Value: "a.example.com"}}}
	if got := acme.Explain(sub, "https://x", now()); !strings.Contains(got.Error(), "Errors; a.example.com: no") {
		t.Errorf("got %v", got)
	}
}
