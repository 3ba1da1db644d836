package httpd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// badRequest refuses what the caller wrote.
func badRequest(err error) error { return api.NewProblem(http.StatusBadRequest, err.Error()) }

// problem is the refusal an error of a handler becomes. It is the only place
// that knows which error is which status.
func (s *Server) problem(ctx context.Context, d api.Description, err error) *api.Problem {
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError && ctx.Err() == nil {
		s.o.Log.Error("request", slog.String("action", d.ID), slog.Any("err", err))
	}
	return p
}

func problemOf(err error) *api.Problem {
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return p
	}
	p := api.NewProblem(statusOf(err), err.Error())
	if _, ok := errors.AsType[*instance.NotFoundError](err); ok {
		p.Type = api.TypeNoInstance
	}
	if _, ok := errors.AsType[*instance.UnsupportedError](err); ok {
		p.Type = api.TypeUnsupported
	}
	return p
}

func statusOf(err error) int {
	var (
		notFound    *object.NotFoundError
		noInstance  *instance.NotFoundError
		unsupported *instance.UnsupportedError
		refused     *orchestrate.RefusedError
		forgotten   *executor.ForgottenError
		selector    *object.SyntaxError
		exists      *store.ExistsError
		locked      *store.LockedError
		protected   *store.ProtectedError
		invalid     *store.InvalidError
		syntax      *config.SyntaxError
		unknownNode *object.UnknownNodeError
	)
	switch {
	case errors.As(err, &notFound), errors.As(err, &noInstance):
		return http.StatusNotFound
	case errors.As(err, &refused), errors.As(err, &exists), errors.As(err, &locked), errors.As(err, &protected):
		return http.StatusConflict
	case errors.As(err, &forgotten):
		return http.StatusGone
	case errors.As(err, &unsupported), errors.As(err, &selector), errors.As(err, &unknownNode),
		errors.As(err, &invalid), errors.As(err, &syntax):
		return http.StatusBadRequest
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusRequestTimeout
	}
	return http.StatusInternalServerError
}

// configProblem is the refusal of a configuration write: what was written is
// wrong, unless the system failed.
func configProblem(err error) error {
	var (
		pathError *fs.PathError
		errno     syscall.Errno
	)
	if _, ok := errors.AsType[*api.Problem](err); ok {
		return err
	}
	if err == nil || statusOf(err) != http.StatusInternalServerError || errors.As(err, &pathError) || errors.As(err, &errno) {
		return err
	}
	return badRequest(err)
}

// toProblem turns the refusals of huma into ours, each wrong parameter named. What
// is in a body is not repeated: it may be a secret.
func toProblem(_ huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := api.NewProblem(plainStatusOf(model.Status), model.Detail)
	var reasons []string
	for _, e := range model.Errors {
		reasons = append(reasons, reasonOf(e))
	}
	if len(reasons) > 0 {
		p.Detail = strings.Join(reasons, "; ")
	}
	return p, nil
}

func reasonOf(e *huma.ErrorDetail) string {
	reason := e.Message
	switch first, _, _ := strings.Cut(e.Location, "."); {
	case first == "body" || strings.HasPrefix(first, "body["):
		reason, _, _ = strings.Cut(reason, ": ") // what follows is of the value
		if content, ok := strings.CutPrefix(e.Message, huma.ErrUnknownContentType.Error()+": "); ok {
			reason = fmt.Sprintf("content type %q is not accepted: send application/json", content)
		}
	case e.Value != nil && e.Value != "":
		reason += fmt.Sprintf(" (got %v)", e.Value)
	}
	if e.Location == "" {
		return reason
	}
	return e.Location + ": " + reason
}

// plainStatus answers 400 to what huma calls an unprocessable entity: one status
// for a wrong request, as the API documents. Every answer passes here, so this is
// also where a reader that takes nothing is given a limit.
func plainStatus(c huma.Context, next func(huma.Context)) { next(statusContext{c}) }

// wrapped is a huma.Context under a name that hides none of its methods.
type wrapped huma.Context

type statusContext struct{ wrapped }

// SetStatus implements [huma.Context].
func (c statusContext) SetStatus(status int) {
	r, w := humago.Unwrap(c.wrapped)
	drain(r)
	limitWrites(w)
	c.wrapped.SetStatus(plainStatusOf(status))
}

// limitWrites gives what is written next a limited time to leave. A writer
// without deadlines is one of a test.
func limitWrites(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
}

// Unwrap gives adapters their own context.
func (c statusContext) Unwrap() huma.Context { return c.wrapped }

func plainStatusOf(status int) int {
	if status == http.StatusUnprocessableEntity {
		return http.StatusBadRequest
	}
	return status
}
