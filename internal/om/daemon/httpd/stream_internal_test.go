package httpd

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
)

func TestAQuietStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus.New("node1")
		events := b.Subscribe("test", nil)
		defer events.Close()
		w := httptest.NewRecorder()
		st := &stream{sender: newSender(w), match: func(*event.Envelope) bool { return true }}
		ctx, cancel := context.WithTimeout(t.Context(), 3*heartbeatPeriod+time.Second)
		defer cancel()

		st.follow(ctx, events, &following{})

		if got := strings.Count(w.Body.String(), ":\n\n"); got != 3 {
			t.Errorf("%d comments in %q, want 3", got, w.Body)
		}
	})
}

func TestAStreamEndsWhenTheTokenOfItsReaderExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus.New("node1")
		s := &Server{o: Options{Bus: b}}
		ctx := context.WithValue(t.Context(), principalKey, auth.Principal{Name: "usr1", Method: auth.MethodToken, Expires: time.Now().Add(time.Hour)})
		events := b.Subscribe("test", nil)
		defer events.Close()
		w := httptest.NewRecorder()
		st := &stream{sender: newSender(w), match: func(*event.Envelope) bool { return true }}
		access := s.follow(ctx)
		defer access.close()
		began := time.Now()

		st.follow(ctx, events, access)

		if took := time.Since(began); took != time.Hour {
			t.Errorf("it ended after %s", took)
		}
		if want := "event: end\nid: 0\ndata: {\"reason\":\"the token has expired\"}\n\n"; !strings.HasSuffix(w.Body.String(), want) {
			t.Errorf("the last word of %q is not %q", w.Body, want)
		}
	})
}
