package presented

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// responder answers challenges in plain http, and nothing else.
type responder struct {
	answer func(token string) (string, bool)
	log    *slog.Logger

	addr   string
	port   int // 0: it does not listen
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// The limits of a request: the question is one line, whoever asks.
const (
	requestTimeout = 5 * time.Second
	headerLimit    = 8 << 10
)

// listen answers on another port, or not at all.
func (r *responder) listen(ctx context.Context, addr string, port int) {
	if r.addr == addr && r.port == port {
		return
	}
	r.stop()
	r.addr, r.port = addr, port
	if port == 0 {
		return
	}
	ctx, r.cancel = context.WithCancel(ctx)
	r.done.Go(func() { r.serve(ctx, net.JoinHostPort(addr, strconv.Itoa(port))) })
}

func (r *responder) stop() {
	if r.cancel != nil {
		r.cancel()
		r.cancel = nil
	}
	r.done.Wait()
}

// serve answers until ctx ends. A port that is taken is asked for again.
func (r *responder) serve(ctx context.Context, address string) {
	failed := ""
	var l net.Listener
	err := retry.Until(ctx, retry.Policy{Interval: time.Second, Max: time.Minute}, func(ctx context.Context) (bool, error) {
		var err error
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil && err.Error() != failed && ctx.Err() == nil {
			failed = err.Error()
			r.log.Error("challenges are not answered on listener.acme_port, it is tried again", slog.Any("err", err))
		}
		return err == nil, nil
	})
	if err != nil {
		return // told to stop
	}
	r.log.Info("challenges are answered", slog.String("peer", address))
	server := &http.Server{
		Handler: r, ReadHeaderTimeout: requestTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, MaxHeaderBytes: headerLimit,
		ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
	}
	server.SetKeepAlivesEnabled(false)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		r.log.Error("challenges are answered no more", slog.Any("err", err))
	}
}

// ServeHTTP implements [http.Handler].
func (r *responder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	token, ok := strings.CutPrefix(q.URL.Path, certificate.ChallengePath)
	if !ok || q.Method != http.MethodGet && q.Method != http.MethodHead {
		http.NotFound(w, q)
		return
	}
	answer, ok := r.answer(token)
	if !ok {
		http.NotFound(w, q)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=us-ascii")
	_, _ = io.WriteString(w, answer) // who asked may have left
}
