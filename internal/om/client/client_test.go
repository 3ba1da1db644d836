package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

func TestServersAreWrittenInSeveralForms(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"node1", "node1:1215", "https://node1:1215", "https://node1", "[::1]:1215", "192.0.2.1"} {
		if _, err := client.New(client.Options{Server: good}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "http://node1", "https://", ":1215"} {
		if _, err := client.New(client.Options{Server: bad}); err == nil {
			t.Errorf("%q is taken for a server", bad)
		}
	}
	if _, err := client.New(client.Options{Server: "node1", CA: []byte("hello")}); err == nil {
		t.Error("any text is taken for an authority")
	}
}

// renewed gives the tokens of a session that is renewed.
type renewed struct {
	tokens []string
	err    error
}

func (r *renewed) Token(_ context.Context, refused secret.String) (secret.String, error) {
	if !refused.IsZero() {
		if r.err != nil {
			return secret.String{}, r.err
		}
		r.tokens = r.tokens[1:]
	}
	return secret.New(r.tokens[0]), nil
}

func TestATokenThatIsRefusedIsRenewedOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "Bearer good" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`["web"]`))
	}))
	defer server.Close()
	call := func(r *renewed) ([]string, error) {
		c, err := client.New(client.Options{Server: server.URL, Insecure: true, Credential: r})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return client.Do(t.Context(), c, api.GetObjectPaths, api.ObjectPathQuery{Path: "**"})
	}
	if paths, err := call(&renewed{tokens: []string{"old", "good"}}); err != nil || len(paths) != 1 || asked != 2 {
		t.Errorf("%v, %v, asked %d times", paths, err, asked)
	}
	asked = 0
	if _, err := call(&renewed{tokens: []string{"old", "older", "oldest"}}); err == nil || asked != 2 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	errLogin := errors.New("log in again")
	if _, err := call(&renewed{tokens: []string{"old"}, err: errLogin}); !errors.Is(err, errLogin) {
		t.Errorf("got %v", err)
	}
}

// What is in the way of the agent may be anything.
func TestAnAnswerOfSomethingElseIsARefusal(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer abc" {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html>bad gateway</html>"))
	}))
	defer server.Close()
	c, err := client.New(client.Options{Server: server.URL, Insecure: true, Token: secret.New("abc")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	_, err = client.Do(t.Context(), c, api.GetObjects, api.ObjectQuery{})
	p, ok := err.(*api.Problem) //nolint:errorlint // exactly what the caller gets
	if !ok || p.Status != http.StatusBadGateway || !strings.Contains(p.Detail, "/api/object") {
		t.Errorf("got %#v", err)
	}
	for _, err := range client.Events(t.Context(), c, api.EventQuery{}) {
		if err == nil {
			t.Error("an event of a gateway")
		}
	}
}

func TestASocketThatRefusesThisUserIsNotADaemonThatIsDown(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root opens every socket")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "closed", "http.sock")
	if err := os.Mkdir(filepath.Dir(path), 0); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = client.Do(t.Context(), c, api.GetHealth, api.None{})
	if _, denied := errors.AsType[*client.DeniedError](err); !denied || client.IsDown(err) {
		t.Error(err)
	}
}

func TestARefusalSaysWhatToDo(t *testing.T) {
	t.Parallel()
	err := &client.DeniedError{Target: "/run/http.sock", Err: fmt.Errorf("connect: %w", syscall.EACCES)}
	if client.IsDown(err) || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "/run/http.sock: permission denied: ") {
		t.Error(err)
	}
}

func TestAStreamEndedByItsReaderSaysSo(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("id: 1\nevent: ObjectCreated\ndata: {}\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	c, err := client.New(client.Options{Server: server.URL, Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var last error
	for _, err := range client.Events(ctx, c, api.EventQuery{}) {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Error(last)
	}
}

// expiring talks to a server that sends streams; the token ends in all but the last.
func expiring(t *testing.T, who client.Credential, streams ...string) *client.Client {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(streams[0]))
		if streams = streams[1:]; len(streams) > 0 {
			_, _ = w.Write([]byte("id: 99\nevent: end\ndata: {\"reason\":\"the token has expired\"}\n\n"))
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{Server: server.URL, Insecure: true, Credential: who})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestEventsOutliveATokenThatIsRenewed(t *testing.T) {
	t.Parallel()
	c := expiring(t, &renewed{tokens: []string{"good"}},
		"id: 0\nevent: ObjectCreated\ndata: {}\n\nid: 1\nevent: ObjectDeleted\ndata: {}\n\n", "id: 0\nevent: ObjectCreated\ndata: {}\n\n")
	var got []string
	opened := 0
	for e, err := range client.EventsFrom(t.Context(), c, api.EventQuery{}, func() { opened++ }) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.ID, " ", e.Kind))
	}
	if want := []string{"0 ObjectCreated", "1 ObjectDeleted", "2 resync", "3 ObjectCreated"}; !slices.Equal(got, want) || opened != 1 {
		t.Errorf("opened %d times, got %v", opened, got)
	}
}

func TestAStreamEndsWithATokenThatIsNotRenewed(t *testing.T) {
	t.Parallel()
	c := expiring(t, nil, "id: 0\nevent: ObjectCreated\ndata: {}\n\n", "")
	var last error
	for _, err := range client.Events(t.Context(), c, api.EventQuery{}) {
		last = err
	}
	if last == nil || !strings.HasSuffix(last.Error(), "ended: the token has expired") {
		t.Error(last)
	}
}

func TestLinesOutliveATokenThatIsRenewed(t *testing.T) {
	t.Parallel()
	line := func(n int) string { return fmt.Sprintf("event: log\ndata: {\"n\":%d}\n\n", n) }
	const live = "event: live\ndata: {}\n\n"
	for name, c := range map[string]struct {
		streams []string
		want    string
	}{
		"some again, some missed":   {[]string{line(1) + line(2) + live + line(3), line(2) + line(3) + line(4) + live + line(5)}, "12.34.5"},
		"nothing came meanwhile":    {[]string{line(1) + live, line(1) + live + line(2)}, "1..2"},
		"none were there":           {[]string{live, line(1) + live}, ".1."},
		"the last one is forgotten": {[]string{line(1) + live, line(7) + line(8) + live}, "1.78."},
		"before it was live":        {[]string{line(1), line(1) + line(2) + live}, "12."},
		"twice":                     {[]string{line(1) + live, line(1) + line(2), line(1) + line(2) + live}, "1.2."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			for e, err := range client.NodeLogs(t.Context(), expiring(t, &renewed{tokens: []string{"good"}}, c.streams...), api.LogQuery{}) {
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString(strings.Trim(strings.TrimPrefix(string(e.Data), `{"n":`), "{}"))
				if e.Name == api.LogLive {
					got.WriteString(".")
				}
			}
			if got.String() != c.want {
				t.Errorf("got %s", got.String())
			}
		})
	}
}
