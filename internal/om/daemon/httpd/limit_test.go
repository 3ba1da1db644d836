package httpd_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

func TestWhoAsksTooMuchIsToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	f := changedFixture(t, func(o *httpd.Options) {
		o.Limit = func() auth.Limit { return auth.Limit{Rate: 1, Burst: 5} }
	})
	var last answer
	for range 7 { // one is given back each second, and this takes less
		last = f.plain(t, "GET", "/api/health", "", nil)
		if last.Status == http.StatusTooManyRequests {
			break
		}
	}
	if after, err := strconv.Atoi(last.Header.Get("Retry-After")); last.Status != http.StatusTooManyRequests || err != nil || after < 1 {
		t.Fatalf("%d %s, Retry-After %q", last.Status, last.Body, last.Header.Get("Retry-After"))
	}

	proxied, err := f.tokens.IssueProxy(auth.Principal{Name: "usr1", Method: auth.MethodBasic, Grants: rbac.Grants{{Role: rbac.Guest}}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if got := f.plain(t, "GET", "/api/auth/whoami", "Bearer "+proxied.Reveal(), nil); got.Status != http.StatusOK {
			t.Fatalf("a node that passes a request on: %d %s", got.Status, got.Body)
		}
		do(t, f.local(t), api.GetAuthWhoAmI, api.None{}) // the root socket has no limit
	}
}

// changedFixture returns a fixture with other options.
func changedFixture(t *testing.T, change func(*httpd.Options)) *fixture {
	t.Helper()
	return newFixtureWith(t, t.TempDir(), func(f *fixture) { f.change = change })
}
