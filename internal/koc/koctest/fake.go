package koctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// endpoints are the services of the fake cloud, by the type in the catalogue. The
// host of each is its name in scripts.
var endpoints = [...]struct{ typ, name, base string }{
	{"identity", "identity", "/v3"},
	{"compute", "compute", "/v2.1"},
	{"network", "network", "/v2.0"},
	{"image", "image", "/v2"},
	{"volumev3", "volume", "/v3/p1"},
	{"placement", "placement", ""},
	{"baremetal", "baremetal", "/v1"},
	{"dns", "dns", "/v2"},
	{"load-balancer", "load-balancer", "/v2.0"},
	{"baremetal-introspection", "baremetal-introspection", "/v1"},
	{"keyvrm", "keyvrm", "/v1"},
}

// Endpoint is the address of a service, for the links in answers.
func Endpoint(name string) string {
	for _, e := range endpoints {
		if e.name == name {
			return "https://" + e.name + ".test" + e.base
		}
	}
	panic("koctest: no service " + name)
}

// exchange is a request of the script with its answer.
type exchange struct {
	line    string
	method  string
	service string
	path    string
	query   url.Values
	body    string
	header  http.Header
	status  int
	answer  string
	done    bool

	interrupts bool // the run, before the answer
	never      bool // there is no answer
}

// Fake is the fake cloud: the transport of a session.
type Fake struct {
	t      *testing.T
	stock  []Stock
	answer func(path string) string // to each GET, or nil
	// interrupt ends the context of the run.
	interrupt func()

	mu     sync.Mutex // guards what follows
	script []*exchange
}

func newFake(t *testing.T, script string, stock []Stock) *Fake {
	t.Helper()
	return &Fake{t: t, stock: stock, script: parse(t, script)}
}

func parse(t *testing.T, script string) []*exchange {
	t.Helper()
	var all []*exchange
	var last *string
	for line := range strings.SplitSeq(script, "\n") {
		line = strings.TrimSpace(line)
		head, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch head {
		case "":
		case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD":
			service, rest, _ := strings.Cut(rest, " ")
			target, body, _ := strings.Cut(strings.TrimSpace(rest), " ")
			u, err := url.Parse(target)
			if err != nil {
				t.Fatalf("script: %s: %v", line, err)
			}
			e := &exchange{line: line, method: head, service: service, path: u.Path, query: u.Query(), body: body, header: http.Header{}}
			all, last = append(all, e), &e.body
		case "H":
			name, value, _ := strings.Cut(rest, ": ")
			all[len(all)-1].header.Set(name, value)
		case "^C":
			all[len(all)-1].interrupts, all[len(all)-1].never = true, true
		case "=":
			e := all[len(all)-1]
			e.never = false
			e.status = http.StatusOK
			if code, body, _ := strings.Cut(rest, " "); len(code) == 3 && strings.Trim(code, "0123456789") == "" {
				e.status, _ = strconv.Atoi(code)
				rest = body
			}
			e.answer, last = rest, &e.answer
		default:
			if last == nil {
				t.Fatalf("script: %q is no request", line)
			}
			*last += " " + line
		}
	}
	return all
}

// RoundTrip answers a request.
func (f *Fake) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	status, answer, header := f.serve(r, body)
	if status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	header.Set("Content-Type", "application/json")
	header.Set("X-Openstack-Request-Id", "req-test")
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer)), Request: r,
	}, nil
}

func (f *Fake) serve(r *http.Request, body []byte) (int, string, http.Header) {
	service, _ := strings.CutSuffix(r.URL.Host, ".test")
	path := r.URL.Path
	for _, e := range endpoints {
		if e.name == service {
			path = strings.TrimPrefix(path, e.base)
		}
	}
	if e := f.take(r, service, path, body); e != nil {
		if e.interrupts {
			f.interrupt()
		}
		if e.never {
			return 0, "", nil
		}
		return e.status, e.answer, http.Header{}
	}
	switch {
	case service == "identity" && path == "/auth/tokens" && r.Method == http.MethodPost:
		return http.StatusCreated, token(), http.Header{"X-Subject-Token": {"token-1"}}
	case f.answer != nil && r.Method == http.MethodGet:
		return http.StatusOK, f.answer(path), http.Header{}
	case r.Method == http.MethodGet && strings.Trim(path, "/") == "":
		return http.StatusOK, `{"version":{"id":"v2.1","version":"99.0","max_version":"99.0","min_version":"1.0","status":"CURRENT"}}`, http.Header{}
	case r.Method == http.MethodGet:
		if status, answer := f.fromStock(service, path, r.URL.Query()); status != 0 {
			return status, answer, http.Header{}
		}
	}
	f.t.Errorf("unexpected request: %s %s %s %s", r.Method, service, target(path, r.URL.Query()), body)
	return http.StatusTeapot, `{"error":{"message":"unexpected request"}}`, http.Header{}
}

// take finds the exchange of the script that a request is, with its answer made.
func (f *Fake) take(r *http.Request, service, path string, body []byte) *exchange {
	f.mu.Lock()
	defer f.mu.Unlock()
	query := r.URL.Query()
	for _, e := range f.script {
		same := e.method == r.Method && e.service == service && e.path == path && (len(e.query) == 0 && len(query) == 0 || reflect.DeepEqual(e.query, query))
		if e.done || !same {
			if !e.done && e.method != http.MethodGet && r.Method != http.MethodGet {
				return nil // writes come in their order
			}
			continue
		}
		e.done = true
		if e.body != "*" && !sameJSON(e.body, string(body)) {
			f.t.Errorf("%s %s: body\n  got  %s\n  want %s", r.Method, path, body, e.body)
		}
		for name := range e.header {
			if got, want := r.Header.Get(name), e.header.Get(name); got != want {
				f.t.Errorf("%s %s: header %s is %q, want %q", r.Method, path, name, got, want)
			}
		}
		if e.status == 0 {
			e.status, e.answer = f.usual(r.Method, body)
		}
		return e
	}
	return nil
}

// usual is the answer to a request for which the script has none.
func (f *Fake) usual(method string, body []byte) (int, string) {
	switch method {
	case http.MethodDelete:
		return http.StatusNoContent, ""
	case http.MethodPost:
		var sent map[string]any
		if json.Unmarshal(body, &sent) != nil {
			return http.StatusAccepted, ""
		}
		for _, inner := range sent {
			if o, ok := inner.(map[string]any); ok && len(sent) == 1 {
				o["id"] = "new"
			}
		}
		text, _ := json.Marshal(sent)
		return http.StatusCreated, string(text)
	default:
		if len(body) == 0 {
			return http.StatusOK, "{}"
		}
		return http.StatusOK, string(body)
	}
}

// fromStock answers a GET of a list or of one thing.
func (f *Fake) fromStock(service, path string, query url.Values) (int, string) {
	for _, s := range f.stock {
		if s.Service != service {
			continue
		}
		var items []map[string]any
		d := json.NewDecoder(strings.NewReader(s.Items))
		d.UseNumber()
		if err := d.Decode(&items); err != nil {
			f.t.Errorf("stock of %s: %v", s.Path, err)
		}
		if path == s.Path || path == s.Path+"/detail" {
			return http.StatusOK, wrapped(s.Keys, slices.DeleteFunc(items, func(o map[string]any) bool { return !selected(o, query) }))
		}
		if id, below := strings.CutPrefix(path, s.Path+"/"); below && !strings.Contains(id, "/") {
			for _, o := range items {
				if fmt.Sprint(o["id"]) == id {
					return http.StatusOK, wrapped(s.Key, o)
				}
			}
			return http.StatusNotFound, `{"error":{"message":"no such thing"}}`
		}
	}
	return 0, ""
}

func selected(o map[string]any, query url.Values) bool {
	for name, values := range query {
		if v, has := o[name]; has && !slices.Contains(values, fmt.Sprint(v)) && !slices.Contains(values, exactly(fmt.Sprint(v))) {
			return false
		}
	}
	return true
}

// exactly is the expression that Nova is asked for a name with.
func exactly(name string) string { return "^" + regexp.QuoteMeta(name) + "$" }

func wrapped(key string, v any) string {
	if key != "" {
		v = map[string]any{key: v}
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// finish reports what did not come.
func (f *Fake) finish() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.script {
		if !e.done {
			f.t.Errorf("request did not come: %s", e.line)
		}
	}
}

func sameJSON(want, got string) bool {
	if strings.TrimSpace(want) == "" || strings.TrimSpace(got) == "" {
		return strings.TrimSpace(want) == strings.TrimSpace(got)
	}
	return bytes.Equal(canonical(want), canonical(got))
}

// canonical is JSON with its names sorted and no blanks; what is no JSON stays as it is.
func canonical(text string) []byte {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return []byte(text)
	}
	out, _ := json.Marshal(v)
	return out
}

func target(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

func token() string {
	var entries []string
	for _, e := range endpoints {
		entries = append(entries, fmt.Sprintf(`{"id":%q,"type":%q,"name":%q,"endpoints":[{"id":"e","interface":"public","region":"RegionOne","region_id":"RegionOne","url":%q}]}`,
			e.name, e.typ, e.name, Endpoint(e.name)))
	}
	return `{"token":{"issued_at":"2000-01-01T00:00:00.000000Z","expires_at":"2100-01-01T00:00:00.000000Z","methods":["password"],
"user":{"id":"u1","name":"admin","domain":{"id":"default","name":"Default"}},
"project":{"id":"p1","name":"admin","domain":{"id":"default","name":"Default"}},
"roles":[{"id":"r1","name":"admin"}],"catalog":[` + strings.Join(entries, ",") + `]}}`
}
