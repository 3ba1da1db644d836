package httpd

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

// defaultLines is how many lines are sent when the caller does not say.
const defaultLines = 50

func (s *Server) getNodeLogs(ctx context.Context, in *api.LogQuery) (body, error) {
	return s.logs(ctx, in.LogSelection, in.Paths)
}

func (s *Server) getInstanceLogs(ctx context.Context, in *api.InstanceLogQuery) (body, error) {
	p, err := path(in.ObjectName)
	if err != nil {
		return nil, err
	}
	return s.logs(ctx, in.LogSelection, []string{p.String()})
}

// logs sends the last lines, then those that come. Lines are read from the files
// as fast as the reader takes them: a slow one makes nobody wait, and a queue of
// none grows.
func (s *Server) logs(ctx context.Context, in api.LogSelection, paths []string) (body, error) {
	filter, err := logbook.Query{Filter: in.Filter, Grep: in.Grep, Level: in.Level, Paths: paths}.Parse()
	if err != nil {
		return nil, badRequest(err)
	}
	lines := in.Lines
	if lines == 0 {
		lines = defaultLines
	}
	var last []logbook.Line
	if !in.Follow {
		if last, err = s.o.Logs.Read(filter, lines); err != nil {
			return nil, err
		}
	}
	return func(c huma.Context, status int) {
		c.SetHeader("Content-Type", sse.ContentType)
		c.SetHeader("Cache-Control", "no-store")
		c.SetStatus(status)
		if c.Method() == http.MethodHead {
			return
		}
		_, w := humago.Unwrap(c)
		st := &logStream{newSender(w)}
		if !in.Follow {
			_ = st.send(last) // the reader is gone
			return
		}
		access := s.follow(ctx)
		defer access.close()
		s.followLogs(ctx, st, filter, lines, access)
	}, nil
}

func (s *Server) followLogs(ctx context.Context, st *logStream, filter logbook.Filter, lines int, access *following) {
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan []logbook.Line)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := s.o.Logs.Follow(ctx, filter, lines, func(found []logbook.Line) error {
			select {
			case batches <- found:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err != nil && ctx.Err() == nil {
			s.o.Log.Error("follow the log", slog.Any("err", err))
		}
	}()
	beat := time.NewTicker(heartbeatPeriod)
	defer beat.Stop()
	defer func() { cancel(); <-ended }()
	live := false
	for {
		var err error
		select {
		case <-ended:
			return
		case <-access.expired:
			st.end(access.why)
			return
		case <-access.changes():
			if reason := access.lost(); reason != "" {
				st.end(reason)
				return
			}
		case <-beat.C:
			err = st.beat()
		case found := <-batches:
			if err = st.send(found); err == nil && !live {
				live, err = true, st.live()
			}
		}
		if err != nil {
			return
		}
	}
}

// logStream writes lines as events.
type logStream struct{ *sender }

func (st *logStream) send(lines []logbook.Line) error {
	for _, l := range lines {
		if err := st.event(api.LogLine, l.Raw); err != nil {
			return err
		}
	}
	return st.flush()
}

// live says that what comes from here on is new.
func (st *logStream) live() error {
	if err := st.event(api.LogLive, []byte("{}")); err != nil {
		return err
	}
	return st.flush()
}
