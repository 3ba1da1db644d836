package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	urlpath "path"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

type contextKey int

const (
	peerKey contextKey = iota
	principalKey
	fieldsKey
)

// peer is what a connection says of the one who opened it.
type peer struct {
	socket.Peer

	isSocket bool
	isUser   bool // came through the user socket
	user     auth.Caller
	err      error
}

// withPeer keeps who opened conn in the context of its requests.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	switch conn := conn.(type) {
	case userConn:
		user, err := userOf(conn)
		return context.WithValue(ctx, peerKey, peer{isSocket: true, isUser: true, user: user, err: err})
	case *net.UnixConn:
		p, err := socket.PeerOf(conn)
		return context.WithValue(ctx, peerKey, peer{isSocket: true, Peer: p, err: err})
	}
	return ctx
}

// principal is who makes the request of ctx; the zero Principal is nobody.
func principal(ctx context.Context) auth.Principal {
	p, _ := ctx.Value(principalKey).(auth.Principal)
	return p
}

// mayRead reports whether the caller may read the objects of a namespace.
func mayRead(ctx context.Context, namespace string) bool {
	return principal(ctx).Caller().Allows(rbac.NeedGuest, namespace)
}

// ServeHTTP finds out who calls, then serves the operation. What is no operation
// is only told to those who are known.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(servedBy, s.o.Node)
	limited := r.WithContext(r.Context())
	limited.Body = limitReads(w, r)
	s.serve(w, limited)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if tooLarge(r) {
		refuse(w, r, api.NewProblem(http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("the headers are larger than %d bytes: send the parameters of a PATCH in a form, select with patterns", headerLimit)))
		return
	}
	if wait := s.limit(r); wait != nil {
		tooMany(w, r, wait)
		return
	}
	p, err := s.authenticate(r)
	if wait, ok := errors.AsType[*auth.WaitError](err); ok {
		tooMany(w, r, wait)
		return
	}
	if !s.hasRoute(r) {
		s.refuseRoute(w, r, p)
		return
	}
	if p.Caller().Known {
		problem := checkQuery(r)
		if problem == nil {
			problem = readForm(r)
		}
		if problem != nil {
			refuse(w, r, problem)
			return
		}
	}
	ctx := context.WithValue(r.Context(), remoteKey{}, r.RemoteAddr)
	s.mux.ServeHTTP(w, r.WithContext(context.WithValue(ctx, principalKey, p)))
}

// authenticate recognises the caller by what the request carries: the socket it
// comes through, the credentials of its header, else the certificate of its
// connection. Why it failed goes to the log, never to the caller; the error is
// that of one who must wait.
func (s *Server) authenticate(r *http.Request) (auth.Principal, error) {
	if peer, ok := r.Context().Value(peerKey).(peer); ok {
		p, err := auth.Principal{}, peer.err
		switch {
		case peer.isUser:
			p, err = s.recogniseUser(r.Context(), peer)
		case err == nil:
			p, err = auth.FromPeer(peer.Peer, s.o.Owner)
		}
		if err != nil {
			s.o.Log.Warn("socket caller refused", slog.Any("err", err))
			return auth.Principal{}, nil
		}
		return p, nil
	}
	p, err := s.recognise(r, time.Now())
	if wait, ok := errors.AsType[*auth.WaitError](err); ok {
		return auth.Principal{}, wait
	}
	if err != nil {
		s.o.Log.Debug("caller refused", slog.String("peer", r.RemoteAddr), slog.Any("err", err))
		return auth.Principal{}, nil
	}
	return p, nil
}

// recognise identifies a caller of the listener. The header decides when there
// is one: a wrong token is not made up for by a certificate.
func (s *Server) recognise(r *http.Request, now time.Time) (auth.Principal, error) {
	known := s.o.Credentials
	scheme, credentials, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		token := strings.TrimLeft(credentials, " ")
		if r.Method == api.PostAuthRefresh.Method && r.URL.Path == api.PostAuthRefresh.Path {
			return s.o.Tokens.VerifyRefresh(token, now)
		}
		p, err := s.o.Tokens.Verify(token, now)
		if err != nil && known.OpenID != nil && known.OpenID.Settings().Issuer != "" {
			other, otherErr := known.OpenID.Verify(r.Context(), token, now)
			return other, errors.Join(otherErr, failed(err, otherErr))
		}
		if err == nil && p.User {
			if known.Users == nil {
				return auth.Principal{}, errors.New("token of a user: no user is known")
			}
			return known.Users.Limit(p)
		}
		return p, err
	case strings.EqualFold(scheme, "Basic") && known.Passwords != nil:
		name, password, ok := r.BasicAuth()
		if !ok {
			return auth.Principal{}, errors.New("basic authentication that cannot be read")
		}
		return known.Passwords.Verify(r.Context(), name, password, r.RemoteAddr, now)
	case scheme != "":
		return auth.Principal{}, errors.New("unknown authentication scheme")
	case r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && known.Certificates != nil:
		return known.Certificates.Verify(r.TLS.PeerCertificates, now)
	}
	return auth.Principal{}, nil
}

// failed is err when another way failed too.
func failed(err, other error) error {
	if other == nil {
		return nil
	}
	return err
}

// authorize refuses the operations the caller may not call.
func (s *Server) authorize(c huma.Context, next func(huma.Context)) {
	d, _ := c.Operation().Metadata[descriptionKey].(api.Description)
	caller, namespace := principal(c.Context()).Caller(), c.Param("namespace")
	need := d.Need.On(c.Param("kind"), namespace)
	if !caller.Allows(need, namespace) {
		if !caller.Known {
			c.SetHeader("WWW-Authenticate", "Bearer")
			writeProblem(c, unauthorized())
			return
		}
		writeProblem(c, api.NewProblem(http.StatusForbidden, asked(c)+": "+need.Refusal(namespace)))
		return
	}
	if node := c.Param("nodename"); node != "" && node != api.Localhost && node != s.o.Node {
		s.proxy.pass(c, node)
		return
	}
	if node := s.elsewhere(c, d); node != "" {
		s.proxy.pass(c, node)
		return
	}
	next(c)
}

// asked names what the caller asks for, as the caller wrote it.
func asked(c huma.Context) string {
	target := c.URL()
	return c.Method() + " " + target.Path
}

// unauthorized says nothing of what was tried.
func unauthorized() *api.Problem {
	return api.NewProblem(http.StatusUnauthorized, "authentication required")
}

func (s *Server) refuseRoute(w http.ResponseWriter, r *http.Request, p auth.Principal) {
	problem := unauthorized()
	if p.Caller().Known {
		problem = api.NewProblem(http.StatusNotFound, r.Method+" "+r.URL.Path+": no such operation: GET "+api.GetOpenAPI.Path+" lists them")
		if allowed := s.methods(r); len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			problem = api.NewProblem(http.StatusMethodNotAllowed, r.Method+" "+r.URL.Path+": use "+strings.Join(allowed, " or "))
		}
	} else {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	refuse(w, r, problem)
}

// refuse answers a problem before any operation is known.
func refuse(w http.ResponseWriter, r *http.Request, problem *api.Problem) {
	drain(r)
	answer(w, problem)
}

func answer(w http.ResponseWriter, problem *api.Problem) {
	data, err := json.Marshal(problem)
	if err != nil {
		data = nil // the status says it
	}
	limitWrites(w)
	w.Header().Set("Content-Type", problem.ContentType(""))
	w.WriteHeader(problem.Status)
	_, _ = w.Write(data) // the caller is gone
}

// hasRoute reports whether r is an operation. A path that is not as short as it
// can be is none: mux would redirect it, which tells whether it exists.
func (s *Server) hasRoute(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return pattern != "" && r.URL.Path == urlpath.Clean(r.URL.Path)
}

// methods lists the methods the path of r has operations for.
func (s *Server) methods(r *http.Request) []string {
	var allowed []string
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut} {
		if s.hasRoute(&http.Request{Method: method, URL: r.URL, Host: r.Host}) {
			allowed = append(allowed, method)
		}
	}
	return allowed
}
