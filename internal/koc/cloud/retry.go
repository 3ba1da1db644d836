package cloud

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

const (
	tries = 3
	// patience is the longest pause a service may ask for.
	patience = 30 * time.Second
)

// again decides whether to send a call again, and after which pause.
//
//	GET, HEAD     too busy, a broken gateway, a connection that broke
//	PUT, DELETE   too busy: the request was not begun
//	POST, PATCH   never
func (c *Cloud) again(ctx context.Context, k call, a *answer, err error, try int) (time.Duration, bool) {
	if try >= tries || k.once || ctx.Err() != nil {
		return 0, false
	}
	if _, ok := k.body.(io.Reader); ok {
		return 0, false
	}
	reads := k.method == http.MethodGet || k.method == http.MethodHead
	if err != nil {
		return usual(try), reads && broke(err)
	}
	if accepted(k.ok, a.status) {
		return 0, false
	}
	wait, stated := retryAfter(a.header.Get("Retry-After"))
	if !stated {
		wait = usual(try)
	}
	if wait > patience {
		return 0, false
	}
	writes := k.method == http.MethodPut || k.method == http.MethodDelete
	switch a.status {
	case http.StatusTooManyRequests:
		return wait, reads || writes
	case http.StatusRequestEntityTooLarge: // how old novas say that there were too many
		return wait, reads && stated
	case http.StatusServiceUnavailable:
		return wait, reads || writes && stated
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return wait, reads
	}
	return 0, false
}

func usual(try int) time.Duration { return time.Second << (try - 1) / 2 }

// broke reports whether a connection ended before the answer.
func broke(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// retryAfter reads the header: seconds or a date.
func retryAfter(text string) (time.Duration, bool) {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n < 1<<30 {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0), true
	}
	return 0, false
}

// pause lasts d and up to half as long again, so that clients do not return in step.
func pause(ctx context.Context, d time.Duration) error {
	return retry.NewBackoff(retry.Policy{Interval: max(d+d/4, time.Millisecond), Jitter: 0.2}).Wait(ctx)
}
