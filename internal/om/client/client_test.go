package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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
