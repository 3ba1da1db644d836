package httpd

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
)

// limit refuses a caller who asks too often, before anything of the request is
// looked at. The root socket has no limit, nor has a node that passes on the
// requests of others: those are counted where they come in.
func (s *Server) limit(r *http.Request) *auth.WaitError {
	if s.o.Limit == nil {
		return nil
	}
	source := r.RemoteAddr
	if p, ok := r.Context().Value(peerKey).(peer); ok {
		if !p.isUser {
			return nil
		}
		source = "uid " + strconv.Itoa(p.user.UID)
	}
	wait, refused := errors.AsType[*auth.WaitError](s.requests.Ask(source, s.o.Limit(), now()))
	if !refused || s.isProxied(r) {
		return nil
	}
	return wait
}

func (s *Server) isProxied(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	p, err := s.o.Tokens.Verify(strings.TrimLeft(token, " "), now())
	return err == nil && p.Proxied
}

// tooMany answers one who must wait.
func tooMany(w http.ResponseWriter, r *http.Request, wait *auth.WaitError) {
	seconds := max(1, int64(math.Ceil(wait.After.Seconds())))
	w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	refuse(w, r, api.NewProblem(http.StatusTooManyRequests, fmt.Sprintf("%s: try again in %ds", wait.Reason, seconds)))
}

func now() time.Time { return time.Now() }
