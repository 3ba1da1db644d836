package httpd_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/logs"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// canary is a secret that a body holds.
const canary = "hunter2"

// direct asks the handler, without a connection.
func (f *fixture) direct(t *testing.T, method, target, content, token, body string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	if content != "" {
		r.Header.Set("Content-Type", content)
	}
	w := httptest.NewRecorder()
	f.server.ServeHTTP(w, r)
	return answer{Status: w.Code, Header: w.Header(), Body: w.Body.String()}
}

// malformed lists bodies that are not of a type, each with the canary in it.
func malformed(in reflect.Type) []string {
	bodies := []string{
		canary, `"` + canary + `"`, `["` + canary + `"]`, `{"` + canary, `{"a": ` + canary + `}`, `[{"a":"` + canary + `"`, "{}" + canary,
		`{"a":"` + canary + `\q"}`, `[[["` + canary + `"]]]`, `{"a":"` + canary + "\x00\"}",
	}
	body, _ := in.FieldByName("Body")
	t := body.Type
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	head, tail := "{", "}"
	if t.Kind() == reflect.Slice {
		t, head, tail = t.Elem(), `[{"action":"add","name":"x",`, "}]"
	}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		for _, value := range []string{`{"a":"` + canary + `"}`, `["` + canary + `"]`, `"` + canary + `!"`} {
			if field.Type.Kind() == reflect.String && field.Tag.Get("enum") == "" && value[0] == '"' {
				continue // that one is well formed
			}
			if field.Type == reflect.TypeFor[[]string]() && value[0] == '[' {
				continue // so is this
			}
			if name == "string" && value[0] == '"' {
				continue
			}
			bodies = append(bodies, head+`"`+name+`":`+value+tail)
		}
	}
	return bodies
}

// A body may hold a secret: neither its sender, whose screen others see, nor the log
// is told what is in it.
func TestWhatIsWrongWithABodyIsSaidWithoutIt(t *testing.T) {
	t.Parallel()
	var told syncBuffer
	handler := slog.NewTextHandler(&told, &slog.HandlerOptions{Level: slog.LevelDebug})
	f := newFixtureWith(t, t.TempDir(), func(f *fixture) {
		f.change = func(o *httpd.Options) { o.Log, o.Control = slog.New(handler), logs.New(handler) }
	})
	f.create(t, "ns1/sec/web1", empty)
	f.create(t, "ns1/svc/web1", app)
	token := f.token(t, "root")
	told.Reset()
	tried := 0
	check := func(d api.Description, content, body string, want int) {
		t.Helper()
		kind := "svc"
		if d.ID == api.PatchObjectData.ID {
			kind = "sec"
		}
		got := f.direct(t, d.Method, target(d, kind, "web1"), content, token, body)
		var problem api.Problem
		if err := json.Unmarshal([]byte(got.Body), &problem); err != nil || got.Status != want || problem.Status != want {
			t.Errorf("%s of %s: status %d, want %d: %s", d.ID, body, got.Status, want, got.Body)
		}
		if !strings.Contains(problem.Detail, "body") || strings.Contains(got.Body, canary) {
			t.Errorf("%s of %s: %s", d.ID, body, problem.Detail)
		}
		tried++
	}
	for _, endpoint := range api.All() {
		d := endpoint.Describe()
		if d.Need == rbac.ThroughSocket {
			continue
		}
		if _, isJSON := d.In.FieldByName("Body"); isJSON {
			check(d, "text/plain", `{"a":"`+canary+`"}`, http.StatusUnsupportedMediaType)
			check(d, "application/json; charset", `{"a":"`+canary, http.StatusBadRequest)
			for _, body := range malformed(d.In) {
				check(d, "application/json", body, http.StatusBadRequest)
			}
		}
	}
	for _, form := range []string{canary, "set=a%" + canary, "set=" + canary + ";x", "set=a&" + canary} {
		check(api.PatchObjectConfig.Describe(), "application/x-www-form-urlencoded", form, http.StatusBadRequest)
	}
	if tried < 50 {
		t.Errorf("%d bodies tried", tried)
	}
	if text := told.String(); strings.Contains(text, canary) {
		t.Errorf("logged: %s", text)
	}
}

func TestARefusedBodyIsToldItsPlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, "ns1/sec/web1", empty)
	token := f.token(t, "root")
	d := api.PatchObjectData.Describe()
	for body, want := range map[string]string{
		"[\n  {\"action\":\"add\",\"name\":\"a\",\"string\":x}]": "body: no JSON at line 2, column 39, invalid character looking for beginning of value",
		`[{"action":"add"`:         "body: no JSON at line 1, column 16, unexpected end of JSON input",
		`{}`:                       "body: expected array",
		`[{"action":"add","x":1}]`: "body[0]: expected required property name to be present",
		`[{"action":"add","name":"a","string":1}]`:                                               "body[0].string: expected string",
		`[{"action":"add","name":"a","string":"1"},{"action":"add","name":"b","bytes":"aGk=!"}]`: "body: no base64 at [1].bytes, byte 4",
	} {
		got := f.direct(t, d.Method, target(d, "sec", "web1"), "application/json", token, body)
		var problem api.Problem
		decode(t, got.Body, &problem)
		if got.Status != http.StatusBadRequest || problem.Detail != want {
			t.Errorf("%s: status %d: %s\nwant %s", body, got.Status, problem.Detail, want)
		}
	}
	got := f.request(t, d.Method, target(d, "sec", "web1"), http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, strings.NewReader("[]"))
	if got.Status != http.StatusUnsupportedMediaType || !strings.Contains(got.Body, `content encoding \"gzip\" is not accepted`) {
		t.Errorf("status %d: %s", got.Status, got.Body)
	}
}

// A limit below that of clients is heard by them, whatever protocol they speak.
func TestHeadersTooLargeAreRefusedOverBothProtocols(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := "Bearer " + f.token(t, "root")
	for _, isHTTP2 := range []bool{false, true} {
		transport := f.transport()
		defer transport.CloseIdleConnections()
		transport.ForceAttemptHTTP2 = isHTTP2
		for size, want := range map[int]int{28 << 10: http.StatusOK, 33 << 10: http.StatusRequestHeaderFieldsTooLarge, 100 << 10: http.StatusRequestHeaderFieldsTooLarge, 700 << 10: http.StatusRequestHeaderFieldsTooLarge} {
			header := http.Header{"Authorization": {token}, "X-Long": {strings.Repeat("x", size)}}

			got := f.through(t, transport, http.MethodGet, "/api/node/info", header, nil)

			if got.Status != want || (got.Proto == "HTTP/2.0") != isHTTP2 {
				t.Errorf("%d bytes over %s: status %d: %.200s", size, got.Proto, got.Status, got.Body)
			}
			if want != http.StatusOK && !strings.Contains(got.Body, `"detail":"the headers are larger than 32768 bytes`) {
				t.Errorf("%d bytes over %s: %.200s", size, got.Proto, got.Body)
			}
		}
	}
}

// The caller knows what it asked for, not how it is called inside.
func TestRefusalsNameWhatTheCallerAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, "ns1/svc/web1", app)
	f.create(t, "ns1/sec/web1", empty)
	callers := map[string]string{"guest": f.token(t, "guest:ns1"), "root": f.token(t, "root"), "blacklistadmin": f.token(t, "blacklistadmin")}
	for _, endpoint := range api.All() {
		d := endpoint.Describe()
		for caller, token := range callers {
			for _, body := range []string{"", "{", "[]"} {
				request := target(d, "svc", "web1")
				separator := "?"
				if strings.Contains(request, "?") {
					separator = "&"
				}
				got := f.direct(t, d.Method, request+separator+"nosuch=1", "application/json", token, body)
				if got.Status < http.StatusBadRequest {
					t.Errorf("%s: status %d", d.ID, got.Status)
				}
				if strings.Contains(got.Body, d.ID) {
					t.Errorf("%s of %s: %s", d.ID, caller, got.Body)
				}
				var problem api.Problem
				decode(t, got.Body, &problem)
				if path, _, _ := strings.Cut(request, "?"); got.Status == http.StatusForbidden && !strings.HasPrefix(problem.Detail, d.Method+" "+path+": ") {
					t.Errorf("%s of %s: %s", d.ID, caller, problem.Detail)
				}
			}
		}
	}
}

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *syncBuffer) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}
