package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// hasty is a client of a socket that is served by h, or listened on by nobody
// who answers when h is nil. It suspects soon.
func hasty(t *testing.T, h http.Handler) *Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "hf") //nolint:usetesting // an address is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if h != nil {
		server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
	}
	c, err := New(Options{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.patience, c.pulse = 20*time.Millisecond, 200*time.Millisecond
	return c
}

func TestADaemonThatAnswersNothingIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	calls := map[string]func(ctx context.Context, c *Client) error{
		"a call": func(ctx context.Context, c *Client) error {
			_, err := Do(ctx, c, api.GetObjects, api.ObjectQuery{})
			return err
		},
		"is it there":     func(ctx context.Context, c *Client) error { return c.Alive(ctx) },
		"a stream begins": firstError,
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := call(t.Context(), hasty(t, nil))
			if !IsHung(err) || IsDown(err) {
				t.Errorf("got %v, want that the daemon does not answer", err)
			}
		})
	}

	t.Run("the limit of the caller is the one told", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := Do(ctx, hasty(t, nil), api.GetObjects, api.ObjectQuery{})
		if !errors.Is(err, context.DeadlineExceeded) || IsHung(err) {
			t.Errorf("got %v", err)
		}
	})
}

func firstError(ctx context.Context, c *Client) error {
	for _, err := range Events(ctx, c, api.EventQuery{}) {
		return err
	}
	return nil
}

// Some calls wait for long, on purpose.
func TestACallMayTakeLongWhileTheDaemonAnswersOthers(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	c := hasty(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == api.GetHealth.Path {
			asked <- struct{}{}
			_, _ = w.Write([]byte("{}"))
			return
		}
		for range 3 { // as many times as it is asked whether it is there
			<-asked
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items":[]}`))
	}))
	c.pulse = 20 * time.Second

	if _, err := Do(t.Context(), c, api.GetObjects, api.ObjectQuery{}); err != nil {
		t.Error(err)
	}
}
