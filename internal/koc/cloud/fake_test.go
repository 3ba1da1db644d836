package cloud_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
)

// fake is a cloud behind a transport: a Keystone that issues tokens t1, t2, …,
// and whatever the mux serves at http://cloud.test.
type fake struct {
	*http.ServeMux
	region  string
	expires time.Time
	lacks   string // a type the catalogue does not have

	mu     sync.Mutex
	issued int
	asked  []map[string]any // bodies of requests for tokens
	log    []string
	heads  []http.Header
}

func newFake() *fake {
	f := &fake{ServeMux: http.NewServeMux(), region: "one", expires: time.Now().Add(time.Hour)}
	f.HandleFunc("POST /identity/v3/auth/tokens", f.token)
	return f
}

func (f *fake) token(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	f.mu.Lock()
	f.issued++
	n := f.issued
	f.asked = append(f.asked, body)
	f.mu.Unlock()
	var catalog []any
	for _, s := range []struct{ typ, path string }{
		{"compute", "/compute/v2.1"},
		{"network", "/network"},
		{"volumev3", "/volume/v3/p1"},
		{"image", "/image"},
		{"identity", "/identity"},
		{"placement", "/placement"},
		{"baremetal", "/baremetal"},
		{"dns", "/dns"},
		{"load-balancer", "/lb"},
	} {
		if s.typ != f.lacks {
			catalog = append(catalog, object{"type": s.typ, "name": "x", "id": "s-" + s.typ, "endpoints": []any{
				object{"id": "i", "interface": "internal", "region": f.region, "region_id": f.region, "url": "http://inside.test" + s.path},
				object{"id": "p", "interface": "public", "region": f.region, "region_id": f.region, "url": "http://cloud.test" + s.path},
			}})
		}
	}
	w.Header().Set("X-Subject-Token", fmt.Sprintf("t%d", n))
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(object{"token": object{
		"methods": []string{"password"}, "issued_at": time.Now(), "expires_at": f.expires,
		"user": object{"id": "u1", "name": "anna", "domain": object{"id": "default"}}, "project": object{"id": "p1", "name": "demo", "domain": object{"id": "default"}},
		"roles": []any{object{"id": "r1", "name": "member"}}, "catalog": catalog,
	}})
}

type object = map[string]any

// RoundTrip implements [http.RoundTripper].
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.log = append(f.log, r.Method+" "+strings.TrimPrefix(r.URL.String(), "http://cloud.test"))
	f.heads = append(f.heads, r.Header.Clone())
	f.mu.Unlock()
	r = r.Clone(r.Context())
	if r.Host = r.URL.Host; r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

// requests are what was asked but tokens.
func (f *fake) requests() []string {
	var all []string
	for _, r := range f.log {
		if r != "POST /identity/v3/auth/tokens" {
			all = append(all, r)
		}
	}
	return all
}

func (f *fake) answer(pattern string, status int, body string, header ...string) {
	f.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// openrc is the environment of most tests.
func openrc(more ...string) map[string]string {
	env := map[string]string{
		"OS_AUTH_URL": "http://cloud.test/identity", "OS_USERNAME": "anna", "OS_PASSWORD": "pass-word-1", "OS_PROJECT_NAME": "demo",
		"OS_USER_DOMAIN_ID": "default", "OS_PROJECT_DOMAIN_ID": "default",
	}
	for i := 0; i+1 < len(more); i += 2 {
		if env[more[i]] = more[i+1]; more[i+1] == "" {
			delete(env, more[i])
		}
	}
	return env
}

// open is a session with the fake.
func (f *fake) open(env map[string]string, change ...func(*cloud.Options)) *cloud.Cloud {
	o := cloud.Options{Env: func(name string) string { return env[name] }, Transport: f, Version: "1.2"}
	o.Streams, _, _, _ = iostreams.Test()
	for _, c := range change {
		c(&o)
	}
	return cloud.New(o)
}

func typed(pairs ...string) func(*cloud.Options) {
	return func(o *cloud.Options) {
		set := map[string]string{}
		maps.Copy(set, o.Set)
		for i := 0; i+1 < len(pairs); i += 2 {
			set[pairs[i]] = pairs[i+1]
		}
		o.Set = set
	}
}

func service(t *testing.T, c *cloud.Cloud, typ string) cloud.Service {
	t.Helper()
	s, err := c.Service(t.Context(), typ)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wants fails unless the error has all the words.
func wants(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q lacks %q", err, w)
		}
	}
}
