package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/logs"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

// The listeners of a daemon, and the parts of it that log of their requests.
const (
	ListenerInet = "inet" // of the network
	ListenerUX   = "ux"   // the root socket
)

// ListenerPart names the part of the daemon that logs of a listener.
func ListenerPart(name string) string { return "listener." + name }

// Listeners are where the API is served.
type Listeners interface {
	Start(name string) error
	Stop(name string) error
	Restart(name string) error
}

// listenerAction serves an operation on a listener.
func (s *Server) listenerAction(op api.Operation[api.ListenerName, api.Problem], done string, act func(Listeners, string) error) {
	handle(s, op, func(_ context.Context, in *api.ListenerName) (api.Problem, error) {
		if err := knownListener(in.Name); err != nil {
			return api.Problem{}, err
		}
		if in.Name == ListenerUX {
			return api.Problem{}, api.NewProblem(http.StatusConflict, "listener ux: the root socket lives as long as the daemon: stop or restart that")
		}
		if err := act(s.o.Listeners, in.Name); err != nil {
			return api.Problem{}, err
		}
		return said("listener " + in.Name + " of " + s.o.Node + " " + done), nil
	})
}

func knownListener(name string) error {
	if known := []string{ListenerInet, ListenerUX}; !slices.Contains(known, name) {
		return api.NewProblem(http.StatusNotFound, fmt.Sprintf("listener %s does not exist: use %s", name, strings.Join(known, " or ")))
	}
	return nil
}

func (s *Server) postDaemonListenerLogControl(_ context.Context, in *api.ListenerLogControl) (api.Problem, error) {
	if err := knownListener(in.Name); err != nil {
		return api.Problem{}, err
	}
	level, err := logs.ParseLevel(in.Body.Level)
	if err == nil {
		err = s.o.Control.SetPartLevel(ListenerPart(in.Name), level)
	}
	if err != nil {
		return api.Problem{}, badRequest(err)
	}
	return said("listener " + in.Name + " of " + s.o.Node + " logs at level " + in.Body.Level), nil
}

func (s *Server) postDaemonLogControl(_ context.Context, in *api.LogControl) (api.Problem, error) {
	level, err := logs.ParseLevel(in.Body.Level)
	if err != nil {
		return api.Problem{}, badRequest(err)
	}
	s.o.Control.SetLevel(level)
	return said("the daemon of " + s.o.Node + " logs at level " + in.Body.Level), nil
}

// postDaemonAudit streams the log.
func (s *Server) postDaemonAudit(ctx context.Context, in *api.AuditQuery) (body, error) {
	level := logs.Trace
	if in.Level != "" {
		var err error
		if level, err = logs.ParseLevel(in.Level); err != nil {
			return nil, badRequest(err)
		}
	}
	audit, err := s.o.Control.Audit(level, in.Sub, in.Preempt)
	switch {
	case errors.Is(err, logs.ErrAudited):
		return nil, api.NewProblem(http.StatusConflict, err.Error())
	case err != nil:
		return nil, badRequest(fmt.Errorf("query.sub: %w", err))
	}
	return func(c huma.Context, status int) {
		defer audit.Close()
		c.SetHeader("Content-Type", sse.ContentType)
		c.SetHeader("Cache-Control", "no-store")
		c.SetStatus(status)
		_, w := humago.Unwrap(c)
		listen(ctx, newSender(w), audit)
	}, nil
}

// listen writes lines until the reader leaves, or another audit takes over.
func listen(ctx context.Context, st *sender, audit *logs.Audit) {
	beat := time.NewTicker(heartbeatPeriod)
	defer beat.Stop()
	write := func(kind string, data []byte) bool { return st.event(kind, data) == nil }
	for st.flush() == nil {
		var ok bool
		select {
		case <-ctx.Done():
			return
		case <-audit.Ended():
			_ = write("end", []byte(`{"reason":"another audit took over"}`)) // the last word, heard or not
			_ = st.flush()
			return
		case <-beat.C:
			ok = st.out.Comment("") == nil
		case line := <-audit.Lines():
			ok = write("log", trimmed(line))
			for ok && len(audit.Lines()) > 0 {
				ok = write("log", trimmed(<-audit.Lines()))
			}
		}
		if lost := audit.Lost(); ok && lost > 0 {
			data, err := json.Marshal(map[string]uint64{"lost": lost})
			ok = err == nil && write(api.Resync, data)
		}
		if !ok {
			return
		}
	}
}

func trimmed(line []byte) []byte { return []byte(strings.TrimRight(string(line), "\n")) }

// log is what is logged of a request: at the level of the listener it came by.
func (s *Server) log(ctx context.Context) *slog.Logger {
	name := ListenerInet
	if p, ok := ctx.Value(peerKey).(peer); ok && p.isSocket {
		name = ListenerUX
	}
	if l := s.listenerLogs[name]; l != nil {
		return l
	}
	return s.o.Log
}
