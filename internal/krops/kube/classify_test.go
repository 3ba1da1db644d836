package kube_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// api is a server that answers paths with fixed texts, and all else with 404 in
// the manner of a real one.
type api map[string]http.HandlerFunc

func (a api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := a[r.Method+" "+r.URL.Path]; ok {
		h(w, r)
		return
	}
	http.Error(w, "404 page not found", http.StatusNotFound)
}

func says(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}
}

// refuses answers with a status.
func refuses(code int, reason, details string) http.HandlerFunc {
	return says(code, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"details":%s}`, reason, code, details))
}

const (
	things = "/apis/example.org/v2/namespaces/ns/things"
	thing  = things + "/one"
)

// served is an API that has the kind Thing in the version v2 alone, though it
// prefers v1, and no things.
func served() api {
	return api{
		"GET /apis":                says(200, `{"kind":"APIGroupList","groups":[{"name":"apps"},{"name":"example.org"}]}`),
		"GET /apis/example.org":    says(200, `{"kind":"APIGroup","name":"example.org","versions":[{"version":"v1"},{"version":"v2"}],"preferredVersion":{"version":"v1"}}`),
		"GET /apis/example.org/v1": says(200, `{"kind":"APIResourceList","groupVersion":"example.org/v1","resources":[{"name":"others","kind":"Other","namespaced":true}]}`),
		"GET /apis/example.org/v2": says(200, `{"kind":"APIResourceList","groupVersion":"example.org/v2","resources":[{"name":"things/status","kind":"Thing","namespaced":true},{"name":"things","kind":"Thing","namespaced":true}]}`),
	}
}

func thingKind() schema.GroupKind { return schema.GroupKind{Group: "example.org", Kind: "Thing"} }

func serve(t *testing.T, h http.Handler) *kube.Cluster {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return opened(t, server.URL)
}

func opened(t *testing.T, url string) *kube.Cluster {
	t.Helper()
	c, err := kube.Open([]byte(config(url)), "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func config(url string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"here",
		"clusters":[{"name":"c","cluster":{"server":%q}}],
		"users":[{"name":"u","user":{"token":"sesame"}}],
		"contexts":[{"name":"here","context":{"cluster":"c","user":"u"}}]}`, url)
}

// failures are the ways a query goes wrong, with what each proves of an object
// that was asked for by its name, and of a listing.
func failures() []struct {
	name    string
	broken  func(a api, path string)
	failure plan.Failure
	named   string // how the presence of the named object reads
	listed  string // how the listing reads
} {
	hangUp := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, not an end
		}
		_ = conn.Close()
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	status := func(code int, reason, details string) func(api, string) {
		return func(a api, path string) { a["GET "+path] = refuses(code, reason, details) }
	}
	text := func(code int, text string) func(api, string) {
		return func(a api, path string) { a["GET "+path] = says(code, text) }
	}
	return []struct {
		name    string
		broken  func(a api, path string)
		failure plan.Failure
		named   string
		listed  string
	}{
		{"401", status(401, "Unauthorized", "{}"), plan.Unauthorized, "unknown: unauthorized", "unknown: unauthorized"},
		{"401 of a proxy", text(401, "<html>sign in"), plan.Unauthorized, "unknown: unauthorized", "unknown: unauthorized"},
		{"403", status(403, "Forbidden", `{"name":"one"}`), plan.Forbidden, "unknown: forbidden", "unknown: forbidden"},
		{"404 of another name", status(404, "NotFound", `{"name":"other","kind":"things"}`), plan.Undecodable, "unknown: unreadable answer", "unknown: not found"},
		{"404 of a proxy", text(404, "<html>no such site"), plan.Undecodable, "unknown: unreadable answer", "unknown: unreadable answer"},
		{"404 without a name", status(404, "NotFound", "{}"), plan.Undecodable, "unknown: unreadable answer", "unknown: unreadable answer"},
		{"410", status(410, "Expired", "{}"), plan.Unavailable, "unknown: server unavailable", "unknown: server unavailable"},
		{"429", status(429, "TooManyRequests", "{}"), plan.Unavailable, "unknown: server unavailable", "unknown: server unavailable"},
		{"500", status(500, "InternalError", "{}"), plan.Unavailable, "unknown: server unavailable", "unknown: server unavailable"},
		{"503", status(503, "ServiceUnavailable", "{}"), plan.Unavailable, "unknown: server unavailable", "unknown: server unavailable"},
		{"504", status(504, "Timeout", "{}"), plan.TimedOut, "unknown: timed out", "unknown: timed out"},
		{"a timeout", func(a api, path string) { a["GET "+path] = hang }, plan.TimedOut, "unknown: timed out", "unknown: timed out"},
		{"a reset", func(a api, path string) { a["GET "+path] = hangUp }, plan.Reset, "unknown: no connection", "unknown: no connection"},
		{"no JSON", text(200, "<html>welcome"), plan.Undecodable, "unknown: unreadable answer", "unknown: unreadable answer"},
		{"an empty answer", text(200, ""), plan.Undecodable, "unknown: unreadable answer", "unknown: unreadable answer"},
		{"JSON that is null", text(200, "null"), plan.Undecodable, "unknown: unreadable answer", "unknown: unreadable answer"},
		{"JSON of another kind", text(200, `{"kind":"Login","apiVersion":"v1","metadata":{"name":"one"}}`), plan.Undecodable, "unknown: unreadable answer", "unknown: unreadable answer"},
		{"a list without items", text(200, `{"kind":"ThingList","apiVersion":"example.org/v2","metadata":{"name":"one"}}`), plan.Undecodable, "unknown: unreadable answer", "unknown: unreadable answer"},
		{"a kind the server does not have", func(a api, _ string) {
			a["GET /apis/example.org/v2"] = a["GET /apis/example.org/v1"]
		}, plan.NoSuchKind, "confirmed absent", "[]"},
		{"a group the server does not have", func(a api, _ string) {
			delete(a, "GET /apis/example.org")
			a["GET /apis"] = says(200, `{"kind":"APIGroupList","groups":[{"name":"apps"}]}`)
		}, plan.NoSuchKind, "confirmed absent", "[]"},
		{"a group that is listed and not served", func(a api, _ string) {
			delete(a, "GET /apis/example.org")
		}, plan.NoSuchKind, "unknown: the server could not list its resource types", "unknown: the server could not list its resource types"},
		{"a group that only a proxy says is missing", func(a api, _ string) {
			clear(a)
		}, plan.Undecodable, "unknown: unreadable answer", "unknown: unreadable answer"},
		{"a version that cannot be listed", func(a api, _ string) {
			a["GET /apis/example.org/v2"] = refuses(503, "ServiceUnavailable", "{}")
		}, plan.Unavailable, "unknown: server unavailable", "unknown: server unavailable"},
		{"a group that must not be asked for", func(a api, _ string) {
			a["GET /apis/example.org"] = refuses(403, "Forbidden", "{}")
		}, plan.Forbidden, "unknown: forbidden", "unknown: forbidden"},
	}
}

func TestD1EveryFailureOfAQueryHasItsVerdict(t *testing.T) {
	t.Parallel()
	for _, f := range failures() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			forOne, forAll := served(), served()
			f.broken(forOne, thing)
			f.broken(forAll, things)
			one, all := serve(t, forOne), serve(t, forAll)
			ctx := t.Context()
			if f.failure == plan.TimedOut {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}

			_, err := one.Get(ctx, thingKind(), "ns", "one")
			named := one.Lookup(ctx, thingKind(), "ns", "one")
			listed := all.Listing(ctx, thingKind(), "ns", nil)

			got := []string{kube.Classify(err, false).Failure.String(), named.String(), listed.String()}
			if diff := cmp.Diff([]string{f.failure.String(), f.named, f.listed}, got); diff != "" {
				t.Errorf("%s\n%v", diff, err)
			}
			if gone := f.named == "confirmed absent"; gone != kube.Gone(err) {
				t.Errorf("gone is %v: %v", !gone, err)
			}
		})
	}
}

func TestD1AnswersThatAreNoFailures(t *testing.T) {
	t.Parallel()
	a := served()
	a["GET "+thing] = says(200, `{"kind":"Thing","apiVersion":"example.org/v2","metadata":{"name":"one","namespace":"ns"}}`)
	a["GET "+things+"/two"] = refuses(404, "NotFound", `{"name":"two","group":"example.org","kind":"things"}`)
	a["GET "+things] = says(200, `{"kind":"ThingList","apiVersion":"example.org/v2","metadata":{},"items":[{"metadata":{"name":"one","namespace":"ns"}}]}`)
	a["GET /apis/example.org/v2/things"] = says(200, `{"kind":"ThingList","apiVersion":"example.org/v2","metadata":{},"items":[]}`)
	c := serve(t, a)

	got := []string{
		c.Lookup(t.Context(), thingKind(), "ns", "one").String(),
		c.Lookup(t.Context(), thingKind(), "ns", "two").String(),
		c.Listing(t.Context(), thingKind(), "ns", nil).String(),
		c.Listing(t.Context(), thingKind(), "", nil).String(),
	}

	if diff := cmp.Diff([]string{"present", "confirmed absent", "[ns/one]", "[]"}, got); diff != "" {
		t.Error(diff)
	}
}

// late is a context whose time is over and whose timer is late, as on a busy machine.
type late struct{ context.Context } //nolint:containedctx // it is one

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Hour), true }

func TestARequestWhoseTurnComesTooLateHasTimedOut(t *testing.T) {
	t.Parallel()
	_, err := serve(t, served()).Get(late{t.Context()}, thingKind(), "ns", "one")

	if got := kube.Classify(err, false).Failure; got != plan.TimedOut {
		t.Errorf("%v: %v", got, err)
	}
}

func TestClassifyBelievesTheCallerThatDiscoveryWasIncomplete(t *testing.T) {
	t.Parallel()
	absent := plan.Lookup(kube.Classify(&kube.KindError{Kind: thingKind()}, false))
	unknown := plan.Lookup(kube.Classify(&kube.KindError{Kind: thingKind()}, true))

	if !absent.Gone() || !unknown.Unknown() {
		t.Errorf("%v, %v", absent, unknown)
	}
}

func TestD3EveryQueryCarriesATimeout(t *testing.T) {
	t.Parallel()
	var without []string
	a := served()
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("timeout") != "30s" {
			without = append(without, r.URL.String())
		}
		a.ServeHTTP(w, r)
	}))

	_ = c.Lookup(t.Context(), thingKind(), "ns", "one")
	_ = c.Listing(t.Context(), thingKind(), "ns", nil)
	_ = c.Patch(t.Context(), thingKind(), "ns", "one", []byte("{}"))
	_ = c.Delete(t.Context(), thingKind(), "ns", "one")

	if len(without) > 0 {
		t.Errorf("without a timeout: %s", strings.Join(without, ", "))
	}
}

func TestAServerThatIsNotThereIsNoConnection(t *testing.T) {
	t.Parallel()
	c := opened(t, "http://127.0.0.1:1")

	_, err := c.List(t.Context(), kube.Node, "")

	if got := kube.Classify(err, false).Failure; got != plan.Reset {
		t.Errorf("%v: %v", got, err)
	}
	if err := c.Answers(t.Context()); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("answers: %v", err)
	}
}

func TestAServerThatRefusesIsNotSilent(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		err := opened(t, server.URL).Answers(t.Context())
		server.Close()
		if err == nil || !strings.Contains(err.Error(), " refuses ") || strings.Contains(err.Error(), "does not answer") {
			t.Errorf("%d: %v", code, err)
		}
	}
}
