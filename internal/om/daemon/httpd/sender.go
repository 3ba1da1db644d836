package httpd

import (
	"net/http"
	"strconv"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

// sender writes the events of a stream to its reader. One that takes nothing is given
// up: it has a limited time for each event, and holds up nobody else.
type sender struct {
	w    http.ResponseWriter
	out  *sse.Writer
	sent int64
}

func newSender(w http.ResponseWriter) *sender { return &sender{w: w, out: sse.NewWriter(w)} }

// event writes an event, numbered; it may wait for the next flush.
func (s *sender) event(name string, data []byte) error {
	limitWrites(s.w) // a long event leaves before the flush
	err := s.out.Event(sse.Event{ID: strconv.FormatInt(s.sent, 10), Name: name, Data: data})
	s.sent++
	return err
}

// beat shows that the connection is alive.
func (s *sender) beat() error {
	if err := s.out.Comment(""); err != nil {
		return err
	}
	return s.flush()
}

// end says why nothing more comes; the reader hears it or is gone.
func (s *sender) end(reason string) {
	if s.event(api.StreamEnd, endData(reason)) == nil {
		_ = s.flush()
	}
}

// flush sends what was written.
func (s *sender) flush() error {
	limitWrites(s.w)
	return s.out.Flush()
}
