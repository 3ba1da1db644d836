package httpd_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// hostile makes requests of the declaration of an operation, by who knows it well and
// means no good.
type hostile struct{ *rand.Rand }

// words are texts that were trouble to somebody.
func words() []string {
	return []string{
		"", " ", "a", "web1", "ns1", "svc", "sec", "root", "*", "**", "?", "[", "[a", "a,b", "!", "+", "a+b", "{", "}", "{name}", "{fs#1.", "%", "%00", "\x00", "\n", "a\r\nX: y",
		"../../etc/passwd", "/", "//", ".", "..", "~", "a/b/c/d", "ns1/svc/web1", "*/svc/*", "-1", "0", "1", "99999999999999999999", "1e400", "NaN", "0x10", "true", "maybe", "null",
		"1h", "-1h", "1000000h", "9223372036854775807ns", "5", "1y", "localhost", "node1", "node9", "app#1", "#", "app#", "env.a", "env.a=1", "env.a+=1", "DEFAULT.x=1", "fs#1.type=flag", "=", "a=b=c", "\xff\xfe", "\u202e", "é",
		"068b4fb0-ba3f-4d62-81e7-92ed88039239", "7b9772c8-9a5e-4f7e-8c3d-3f1d3c1b8f10", "0d1c8f9b-6a53-4e0a-8a57-5a1f7f1b2c3d", `"`, `"a"`, "W/\"a\"", "Mon, 02 Jan 2006 15:04:05 GMT", "InstanceStatusUpdated", "ObjectDeleted,path=x,.a.b=c", ".a", ",.a=", "(", "(a|", "started", "running", "info", "debug", "meta.object", "data.*.x", "a..b", "data", "meta",
		strings.Repeat("a", 300), strings.Repeat("../", 50), strings.Repeat("*", 100),
	}
}

func (h hostile) text(examples ...string) string {
	known := append(words(), examples...)
	word := known[h.IntN(len(known))]
	switch h.IntN(12) {
	case 0:
		return word + known[h.IntN(len(known))]
	case 1:
		b := []byte(word + "x")
		b[h.IntN(len(b))] = byte(h.IntN(256))
		return string(b)
	}
	return word
}

// of are the good values of a field.
func of(f reflect.StructField) []string {
	good := strings.Split(f.Tag.Get("enum"), ",")
	for range 3 {
		good = append(good, f.Tag.Get("example"))
	}
	return good
}

// parameter makes the value of a parameter, most often a good one.
func (h hostile) parameter(f reflect.StructField) string {
	switch good := of(f); {
	case h.IntN(3) == 0:
		return h.text(good...)
	case f.Type.Kind() == reflect.Bool:
		return "true"
	case f.Type.Kind() == reflect.Int || f.Type.Kind() == reflect.Int64:
		return "1"
	default:
		return good[h.IntN(len(good))]
	}
}

// value makes the JSON of a type, or nearly.
func (h hostile) value(t reflect.Type, depth int, good ...string) any {
	if h.IntN(12) == 0 || depth > 6 {
		return []any{nil, 1, -1.5, "x", []any{}, map[string]any{}, true, json.Number("1e400"), json.Number("99999999999999999999"), []any{nil}, map[string]any{"": nil}}[h.IntN(11)]
	}
	switch t.Kind() { //nolint:exhaustive // the other kinds are numbers
	case reflect.Pointer:
		return h.value(t.Elem(), depth, good...)
	case reflect.Bool:
		return h.IntN(2) == 0
	case reflect.String:
		return strings.ToValidUTF8(h.text(good...), "?")
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return strings.ToValidUTF8(h.text("aGk=", "aGk", "===="), "?")
		}
		list := []any{}
		for range h.IntN(3) {
			list = append(list, h.value(t.Elem(), depth+1))
		}
		return list
	case reflect.Map:
		m := map[string]any{}
		for range h.IntN(3) {
			m[strings.ToValidUTF8(h.text(), "?")] = h.value(t.Elem(), depth+1)
		}
		return m
	case reflect.Struct:
		m := map[string]any{}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" || h.IntN(8) == 0 {
				continue
			}
			m[name] = h.value(f.Type, depth+1, of(f)...)
		}
		return m
	}
	return []any{h.IntN(100) - 50, json.Number("9223372036854775807"), 0}[h.IntN(3)]
}

// body makes a body.
func (h hostile) body(d api.Description) (content, body string) {
	content = []string{"application/json", "application/octet-stream", "application/x-www-form-urlencoded", "text/plain", "", "a/b/c;;", "application/json; charset=x"}[h.IntN(7)]
	field, isJSON := d.In.FieldByName("Body")
	if !isJSON {
		return content, []string{"", "[DEFAULT]\n", "[app#1]\ntype = simple\n", "[env]\na = {b}\nb = {a}\n", "[", "x", "[a]\nb", "\x00", "{}", "[DEFAULT]\nnodes = *\n[fs#1]\ntype = nosuch\n", "set=env.a%3D1", h.text()}[h.IntN(12)]
	}
	if h.IntN(4) > 0 {
		content = "application/json"
	}
	data, err := json.Marshal(h.value(field.Type, 0))
	if err != nil {
		data = []byte("null")
	}
	if h.IntN(6) == 0 {
		data = data[:h.IntN(len(data)+1)]
	}
	return content, string(data)
}

// request makes a request.
func (h hostile) request(ctx context.Context, d api.Description) *http.Request {
	path := d.Path
	query := url.Values{}
	header := http.Header{}
	for _, f := range reflect.VisibleFields(d.In) {
		if name := f.Tag.Get("path"); name != "" {
			good := map[string][]string{"namespace": {"ns1", "ns1", "root"}, "kind": {"svc", "svc", "sec", "cfg"}, "name": {"web1"}, "nodename": {"localhost"}}[name]
			word := h.text(of(f)...)
			if len(good) > 0 && h.IntN(8) > 0 {
				word = good[h.IntN(len(good))]
			}
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(word))
		}
		if name, _, _ := strings.Cut(f.Tag.Get("query"), ","); name != "" {
			for range max(0, h.IntN(5)-2) {
				query.Add(name, h.parameter(f))
			}
		}
		if name := f.Tag.Get("header"); name != "" && h.IntN(2) == 0 {
			header.Set(name, h.text(of(f)...))
		}
	}
	if h.IntN(4) == 0 {
		query.Set("fields", h.text("meta.object", "data.*.status"))
	}
	content, body := h.body(d)
	r := httptest.NewRequestWithContext(ctx, d.Method, "/", strings.NewReader(body))
	r.Header = header
	r.URL = &url.URL{RawPath: path, RawQuery: query.Encode()}
	r.URL.Path, _ = url.PathUnescape(path) // it was escaped here
	r.RequestURI = path
	if h.IntN(20) == 0 {
		r.URL.RawQuery = h.text() + "=" + h.text()
	}
	for _, name := range []string{"If-None-Match", "If-Match", "Accept", "Accept-Encoding", "Content-Encoding", "Last-Event-ID"} {
		if h.IntN(10) == 0 {
			r.Header.Set(name, h.text("identity", "application/json", "gzip;q=0", "*"))
		}
	}
	if content != "" {
		r.Header.Set("Content-Type", content)
	}
	return r
}

// gone is a caller that hangs up at the first byte of an answer: no stream is endless.
type gone struct {
	*httptest.ResponseRecorder

	leave func()
}

func (g *gone) WriteHeader(status int) {
	g.ResponseRecorder.WriteHeader(status)
	g.leave()
}

func (g *gone) Unwrap() http.ResponseWriter { return g.ResponseRecorder }

// tried asks an operation with requests that a seed decides, and returns how it failed.
func (f *fixture) tried(t *testing.T, d api.Description, seed uint64, requests int) (served int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		token := f.token(t, "root")
		h := hostile{rand.New(rand.NewPCG(seed, 1))}
		for range requests {
			ctx, leave := context.WithCancel(t.Context())
			r := h.request(ctx, d)
			shown := r.Method + " " + r.URL.Path + " ? " + r.URL.RawQuery
			r.Header.Set("Authorization", "Bearer "+token)
			w := &gone{httptest.NewRecorder(), leave}

			f.server.ServeHTTP(w, r)

			leave()
			switch {
			case w.Code < http.StatusBadRequest:
				served++
			case w.Code >= http.StatusInternalServerError && !slices.Contains(d.Errors, w.Code):
				t.Errorf("%s, seed %d: status %d of %q %v: %s", d.ID, seed, w.Code, shown, r.Header, w.Body)
			default:
				var problem api.Problem
				if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || problem.Status != w.Code || problem.Detail == "" {
					t.Errorf("%s, seed %d: %q is refused by %s", d.ID, seed, shown, w.Body)
				}
			}
		}
	})
	return served
}

// prepare gives the requests something to find.
func (f *fixture) prepare(t *testing.T) {
	t.Helper()
	f.create(t, "ns1/svc/web1", app)
	f.create(t, "ns1/cfg/web1", empty)
	f.create(t, "ns1/sec/web1", empty)
	f.create(t, "svc1", app)
}

// Whatever is wrong with a request is the caller's: no request that follows the
// declaration of an operation, more or less, is a failure of ours.
func TestNoRequestIsAFailureOfOurs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prepare(t)
	served := 0
	for i, endpoint := range api.All() {
		served += f.tried(t, endpoint.Describe(), uint64(i), 10)
	}
	if served < len(api.All()) {
		t.Errorf("%d requests were served: they are not of the declarations", served)
	}
}

func FuzzNoRequestIsAFailureOfOurs(f *testing.F) {
	all := api.All()
	for i := range all {
		f.Add(uint64(i), uint64(i))
	}
	served := newFixture(f)
	prepared := false
	f.Fuzz(func(t *testing.T, operation, seed uint64) {
		if !prepared {
			served.prepare(t)
			prepared = true
		}
		served.tried(t, all[operation%uint64(len(all))].Describe(), seed, 10)
	})
}
