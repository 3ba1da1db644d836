package httpd

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

func TestAQuietStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus.New("node1")
		events := b.Subscribe("test", nil)
		defer events.Close()
		w := httptest.NewRecorder()
		st := &stream{w: w, out: sse.NewWriter(w), match: func(*event.Envelope) bool { return true }}
		ctx, cancel := context.WithTimeout(t.Context(), 3*heartbeatPeriod+time.Second)
		defer cancel()

		st.follow(ctx, events)

		if got := strings.Count(w.Body.String(), ":\n\n"); got != 3 {
			t.Errorf("%d comments in %q, want 3", got, w.Body)
		}
	})
}
