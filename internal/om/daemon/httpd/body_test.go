package httpd_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// slow sends a request whose body never comes to its end, and waits for the answer.
func (f *fixture) slow(t *testing.T, method, target, contentType string) {
	t.Helper()
	conn, err := socket.Dial(t.Context(), f.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(25 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 100\r\n\r\n{", method, target, contentType); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
}

func TestABodyThatDoesNotComeIsGivenUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := api.Named(f.create(t, "svc1", app))
	object := "/api/object/path/" + p.Namespace + "/" + p.Kind + "/" + p.Name
	for _, c := range []struct{ method, target, content string }{
		{"PUT", object + "/config/file", "application/octet-stream"},
		{"POST", object + "/action/restart", "application/json"},
		{"POST", object + "/action/start", "application/json"}, // which reads none
		{"PATCH", object + "/config?set=env.a%3D1", "application/x-www-form-urlencoded"},
		{"GET", "/api/nope", "application/json"},
	} {
		began := time.Now()
		f.slow(t, c.method, c.target, c.content)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s %s: answered after %s", c.method, c.target, took)
		}
	}
}

// Waiting for an answer is no lack of progress.
func TestARequestMayWaitLongerThanItsBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	target := "/api/node/name/localhost/daemon/exec/id/" + runningID + "?wait=" + (3 * stall).String()
	if got := f.plain(t, "GET", target, "Bearer "+f.token(t, "root"), strings.NewReader("{}")); got.Status != http.StatusRequestTimeout {
		t.Errorf("status %d: %s", got.Status, got.Body)
	}
}

func TestABodyTooLongIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := api.Named(f.create(t, "svc1", app))
	object := "/api/object/path/" + p.Namespace + "/" + p.Kind + "/" + p.Name
	long := `{"force": ` + strings.Repeat(" ", 8<<20) + "true}"
	for _, c := range []struct{ method, target, content string }{
		{"POST", object + "/action/restart", "application/json"},
		{"PATCH", object + "/config", "application/x-www-form-urlencoded"},
	} {
		header := http.Header{"Authorization": {"Bearer " + f.token(t, "root")}, "Content-Type": {c.content}}
		got := f.request(t, c.method, c.target, header, strings.NewReader(long))
		if got.Status != http.StatusRequestEntityTooLarge || !strings.Contains(got.Header.Get("Content-Type"), "problem") {
			t.Errorf("%s %s: status %d: %.200s", c.method, c.target, got.Status, got.Body)
		}
	}
}

func TestChangesMayComeInAForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := api.Named(f.create(t, "svc1", app))
	target := "/api/object/path/" + p.Namespace + "/" + p.Kind + "/" + p.Name + "/config"
	header := http.Header{"Authorization": {"Bearer " + f.token(t, "root")}, "Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
	long := strings.Repeat("x", 100<<10)
	form := url.Values{"set": {"env.a=1", "env.long=" + long}}

	got := f.request(t, "PATCH", target+"?set=env.b%3D2", header, strings.NewReader(form.Encode()))
	if got.Status != http.StatusOK {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}

	file := string(do(t, f.local(t), api.GetObjectConfigFile, p).RawBody)
	for _, line := range []string{"a = 1\n", "b = 2\n", "long = " + long + "\n"} {
		if !strings.Contains(file, line) {
			t.Errorf("%.40s is not in the file", line)
		}
	}
	if got := f.request(t, "PATCH", target, header, strings.NewReader("sat=env.a%3D1")); got.Status != http.StatusBadRequest || !strings.Contains(got.Body, "sat") {
		t.Errorf("status %d: %s", got.Status, got.Body)
	}
	if got := f.request(t, "PATCH", target, header, strings.NewReader("set=%zz")); got.Status != http.StatusBadRequest {
		t.Errorf("status %d: %s", got.Status, got.Body)
	}
}

// The rest of a query that cannot be read asks for something else.
func TestAQueryThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := api.Named(f.create(t, "svc1", app))
	config := "/api/object/path/" + p.Namespace + "/" + p.Kind + "/" + p.Name + "/config"
	stop := "/api/node/name/localhost/instance/path/" + p.Namespace + "/" + p.Kind + "/" + p.Name + "/action/stop"
	token := "Bearer " + f.token(t, "root")
	for target, method := range map[string]string{config + "?set=env.a=1;2&set=env.b=2": "PATCH", stop + "?rid=fs%1": "POST"} {
		got := f.plain(t, method, target, token, nil)
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, "query: ") {
			t.Errorf("%s: %d %s", target, got.Status, got.Body)
		}
	}
	if file := string(do(t, f.local(t), api.GetObjectConfigFile, p).RawBody); strings.Contains(file, "env") {
		t.Errorf("a part was written: %s", file)
	}
}

func TestAHeadOfAStreamEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := f.plain(t, "HEAD", "/api/node/name/localhost/daemon/event", "Bearer "+f.token(t, "root"), nil)
	if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("status %d, headers %v", got.Status, got.Header)
	}
}
