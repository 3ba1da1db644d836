package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// following is the access of the reader of a stream, for as long as the stream
// lasts: a request is checked once, a stream goes on after what was checked.
type following struct {
	expired <-chan time.Time // nil: never
	timer   *time.Timer
	why     string            // what is said then
	feed    *bus.Subscription // of what may take the access away; nil: nothing does
	lost    func() (reason string)
}

// follow returns the access of who makes the request of ctx.
func (s *Server) follow(ctx context.Context) *following {
	f := &following{why: api.TokenExpired}
	reader := principal(ctx)
	if !reader.Expires.IsZero() {
		f.timer = time.NewTimer(time.Until(reader.Expires))
		f.expired = f.timer.C
	}
	if again := s.again(ctx, reader); again != nil {
		f.lost = func() string { return s.lost(reader, again) }
		f.feed = s.o.Bus.Subscribe("access of "+reader.Name, changesAccess)
		if reason := f.lost(); reason != "" { // what changed before that is not told
			ended := make(chan time.Time)
			close(ended)
			f.expired, f.why = ended, reason
		}
	}
	return f
}

// changes tells that the access may have changed.
func (f *following) changes() <-chan *event.Envelope {
	if f.feed == nil {
		return nil
	}
	return f.feed.C()
}

func (f *following) close() {
	if f.timer != nil {
		f.timer.Stop()
	}
	if f.feed != nil {
		f.feed.Close()
	}
}

// changesAccess selects the events after which somebody may have other grants:
// users, unix groups and containers are all in configurations.
func changesAccess(e *event.Envelope) bool {
	return slices.Contains([]string{
		event.ConfigFileUpdated{}.Kind(), event.ConfigFileRemoved{}.Kind(), event.ClusterConfigUpdated{}.Kind(), event.Gap{}.Kind(),
	}, e.Kind)
}

// again returns what finds out which grants a reader has by now, nil for those
// who have theirs whatever is configured.
func (s *Server) again(ctx context.Context, reader auth.Principal) func() (auth.Principal, error) {
	p, _ := ctx.Value(peerKey).(peer)
	switch {
	case reader.User && s.o.Credentials.Users != nil:
		return func() (auth.Principal, error) { return s.o.Credentials.Users.Limit(reader) }
	case p.isUser:
		return func() (auth.Principal, error) { return s.recogniseUser(ctx, p) }
	}
	return nil
}

// lost says why a reader has not the grants any more that the stream began with,
// empty when it has.
func (s *Server) lost(reader auth.Principal, again func() (auth.Principal, error)) string {
	now, err := again()
	if _, gone := errors.AsType[*object.NotFoundError](err); gone {
		return "the user " + reader.Name + " is gone"
	}
	if err != nil {
		s.o.Log.Info("stream ended: its reader is not known any more", slog.String("peer", reader.Name), slog.Any("err", err))
		return reader.Name + " is not known any more"
	}
	for _, g := range reader.Grants {
		if !slices.Contains(now.Grants, g) {
			return "the grants of " + reader.Name + " are others now"
		}
	}
	return ""
}

func endData(reason string) []byte {
	data, err := json.Marshal(api.StreamEnding{Reason: reason})
	if err != nil {
		return []byte("{}") // a string is always encoded
	}
	return data
}
