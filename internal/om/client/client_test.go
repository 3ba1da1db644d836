package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
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
