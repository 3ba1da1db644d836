package httpd_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// pipes is a listener in memory, so that time may be virtual.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// listenPipes serves on a listener in memory until the test ends.
func (f *fixture) listenPipes(t *testing.T) *pipes {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	serve(t, f.server, l)
	return l
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.close()
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (l *pipes) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// begin sends a request whose body never comes to its end, waits for the answer, and
// returns how long it took.
func (l *pipes) begin(t *testing.T, method, target, token, content string, more func(io.Writer)) (answer, time.Duration) {
	t.Helper()
	conn := l.dial()
	defer func() { _ = conn.Close() }()
	began := time.Now()
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: 1000\r\n\r\n{", method, target, token, content); err != nil {
		t.Fatal(err)
	}
	if more != nil {
		go more(conn)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Error(err)
	}
	return answer{Status: response.StatusCode, Header: response.Header, Body: string(body)}, time.Since(began)
}

func TestABodyThatDoesNotComeIsGivenUpAfter30Seconds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := api.Named(f.create(t, "svc1", app))
	object := "/api/object/path/" + p.Namespace + "/" + p.Kind + "/" + p.Name
	for _, c := range []struct {
		method, target, content string
		status                  int
	}{
		{"PUT", object + "/config/file", "application/octet-stream", http.StatusRequestTimeout},
		{"POST", object + "/action/restart", "application/json", http.StatusRequestTimeout},
		{"PATCH", object + "/config?set=env.a%3D1", "application/x-www-form-urlencoded", http.StatusRequestTimeout},
		{"POST", object + "/action/start", "application/json", http.StatusRequestTimeout}, // which takes none
		{"GET", "/api/nope", "application/json", http.StatusNotFound},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := f.listenPipes(t)
			token := f.token(t, "root")

			got, took := l.begin(t, c.method, c.target, token, c.content, nil)

			if got.Status != c.status || took != 30*time.Second {
				t.Errorf("%s %s: status %d after %s: %s", c.method, c.target, got.Status, took, got.Body)
			}
			if c.status == http.StatusRequestTimeout && !strings.Contains(got.Body, `"detail":"body: nothing came for 30s`) {
				t.Errorf("%s %s: %s", c.method, c.target, got.Body)
			}
		})
	}
	if file := string(do(t, f.local(t), api.GetObjectConfigFile, p).RawBody); strings.Contains(file, "env") {
		t.Errorf("a part was written: %s", file)
	}
	if done := f.deeds.all(); len(done) > 0 {
		t.Errorf("done all the same: %v", done)
	}
}

func TestABodyThatComesInDribletsIsGivenUpAfter10Minutes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := api.Named(f.create(t, "svc1", app))
	synctest.Test(t, func(t *testing.T) {
		l := f.listenPipes(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		droplets := func(w io.Writer) {
			tick := time.NewTicker(20 * time.Second)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					_, _ = w.Write([]byte(" ")) // until it is given up
				}
			}
		}

		got, took := l.begin(t, "POST", "/api/object/path/"+p.Namespace+"/"+p.Kind+"/"+p.Name+"/action/restart", f.token(t, "root"), "application/json", droplets)

		if got.Status != http.StatusRequestTimeout || took != 10*time.Minute {
			t.Errorf("status %d after %s: %s", got.Status, took, got.Body)
		}
	})
}

func TestABodyThatDoesNotComeOverHTTP2IsGivenUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := api.Named(f.create(t, "svc1", app))
	synctest.Test(t, func(t *testing.T) {
		l := f.listenPipes(t)
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		transport := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial(), nil }}
		defer transport.CloseIdleConnections()
		body, feed := io.Pipe()
		defer func() { _ = feed.Close() }()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://node1/api/object/path/"+p.Namespace+"/"+p.Kind+"/"+p.Name+"/action/restart", body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Authorization": {"Bearer " + f.token(t, "root")}, "Content-Type": {"application/json"}}
		began := time.Now()

		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if took := time.Since(began); response.StatusCode != http.StatusRequestTimeout || response.ProtoMajor != 2 || took != 30*time.Second {
			t.Errorf("status %d over %s after %s", response.StatusCode, response.Proto, took)
		}
	})
}

// Waiting for an answer is no lack of progress.
func TestARequestMayWaitLongerThanItsBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	target := "/api/node/name/localhost/daemon/exec/id/" + runningID + "?wait=2m"
	synctest.Test(t, func(t *testing.T) {
		conn := f.listenPipes(t).dial()
		defer func() { _ = conn.Close() }()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 2\r\n\r\n{}", target, f.token(t, "root")); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusRequestTimeout || response.Close {
			t.Errorf("status %d, closed: %t", response.StatusCode, response.Close)
		}
	})
}

// What is sent does not follow the protocol: that is the sender's, not ours.
func TestABodyThatBreaksIsAWrongRequest(t *testing.T) {
	t.Parallel()
	f, _ := newPair(t)
	p := api.Named(f.create(t, "svc1", app))
	object := "/api/object/path/" + p.Namespace + "/" + p.Kind + "/" + p.Name
	for _, c := range []struct{ method, target, content string }{
		{"PUT", object + "/config/file", "application/octet-stream"},
		{"POST", object + "/action/restart", "application/json"},
		{"PATCH", object + "/config", "application/x-www-form-urlencoded"},
		{"PUT", "/api/node/name/" + node2 + "/config/file", "application/octet-stream"}, // passed on
	} {
		conn, err := (&tls.Dialer{Config: f.transport().TLSClientConfig}).DialContext(t.Context(), "tcp", f.address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nhunter2\r\n", c.method, c.target, f.token(t, "root"), c.content); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s %s: %v", c.method, c.target, err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close(), conn.Close()); err != nil {
			t.Error(err)
		}
		var problem api.Problem
		decode(t, string(body), &problem)
		if problem.Status != http.StatusBadRequest || response.StatusCode != http.StatusBadRequest || !strings.HasPrefix(problem.Detail, "body: ") || strings.Contains(problem.Detail, "hunter2") {
			t.Errorf("%s %s: status %d: %s", c.method, c.target, response.StatusCode, body)
		}
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

func TestABodyThatWaitsToBeAskedForIsRefusedBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := api.Named(f.create(t, "svc1", app))
	object := "/api/object/path/" + p.Namespace + "/" + p.Kind + "/" + p.Name
	for _, c := range []struct {
		method, target, content, grant string
		status                         int
	}{
		{"PUT", "/api/auth/whoami", "application/json", "root", http.StatusMethodNotAllowed},
		{"PUT", "/api/nope", "application/json", "root", http.StatusNotFound},
		{"POST", object + "/action/restart", "application/json", "", http.StatusUnauthorized},
		{"POST", object + "/action/restart", "application/json", "guest", http.StatusForbidden},
		{"POST", object + "/action/restart", "application/json", "root", http.StatusRequestEntityTooLarge},
		{"PATCH", object + "/config", "application/x-www-form-urlencoded", "root", http.StatusRequestEntityTooLarge},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := f.listenPipes(t).dial()
			token := "of nobody"
			if c.grant != "" {
				token = f.token(t, c.grant)
			}
			defer func() { _ = conn.Close() }()
			began := time.Now()
			if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nExpect: 100-continue\r\nContent-Length: 4194304\r\n\r\n", c.method, c.target, token, c.content); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s %s: %v", c.method, c.target, err)
			}
			defer func() { _ = response.Body.Close() }()
			if took := time.Since(began); response.StatusCode != c.status || took != 0 {
				t.Errorf("%s %s: status %d after %s", c.method, c.target, response.StatusCode, took)
			}
		})
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
