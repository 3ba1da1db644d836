package acme

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
)

// RefusedError is the answer of a directory that will not issue a certificate, told
// for people.
type RefusedError struct {
	Kind   string // the last word of the type of the problem: "rateLimited"
	Detail string // as the directory said it
	Advice string
	After  time.Time // not to be asked before; zero: not said

	err error
}

// Error says what the directory said and what to do.
func (r *RefusedError) Error() string {
	text := r.Detail
	if text == "" {
		text = r.Kind
	}
	if !r.After.IsZero() {
		text += "; it takes another request after " + r.After.Format(time.RFC3339)
	}
	if r.Advice != "" {
		text += ": " + r.Advice
	}
	return text
}

// Unwrap gives the error of the protocol.
func (r *RefusedError) Unwrap() error { return r.err }

// Explain turns the errors of the protocol into refusals that say what to do. It
// keeps what was attempted, and leaves the other errors as they are.
func Explain(err error, directory string, now time.Time) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all error
		for _, e := range joined.Unwrap() {
			all = errors.Join(all, Explain(e, directory, now))
		}
		return all
	}
	var refused []*RefusedError
	for _, p := range problems(err) {
		refused = append(refused, refusal(p, directory, now))
	}
	if len(refused) == 0 {
		return err
	}
	what, _, _ := strings.Cut(err.Error(), ": ")
	var all error
	for _, r := range refused {
		all = errors.Join(all, fmt.Errorf("%s: %w", what, r))
	}
	return all
}

// problems lists the problem documents an error holds.
func problems(err error) []*acme.Error {
	if failed, ok := errors.AsType[*acme.AuthorizationError](err); ok {
		var found []*acme.Error
		for _, e := range failed.Errors {
			if p, ok := errors.AsType[*acme.Error](e); ok {
				found = append(found, p)
			}
		}
		return found
	}
	if order, ok := errors.AsType[*acme.OrderError](err); ok && order.Problem != nil {
		return []*acme.Error{order.Problem}
	}
	if p, ok := errors.AsType[*acme.Error](err); ok {
		return []*acme.Error{p}
	}
	return nil
}

func refusal(p *acme.Error, directory string, now time.Time) *RefusedError {
	kind := p.ProblemType[strings.LastIndexByte(p.ProblemType, ':')+1:]
	r := &RefusedError{Kind: kind, Detail: detail(p), Advice: advice(kind, directory), err: p}
	if wait := retryAfter(p.Header, now); wait > 0 && kind == "rateLimited" {
		r.After = now.Add(wait).Truncate(time.Second)
	}
	return r
}

func detail(p *acme.Error) string {
	parts := []string{strings.TrimRight(strings.TrimSpace(p.Detail), ".")}
	if parts[0] == "" {
		parts[0] = strings.TrimSpace(fmt.Sprintf("the directory answered %d %s", p.StatusCode, http.StatusText(p.StatusCode)))
	}
	for _, sub := range p.Subproblems {
		text := strings.TrimRight(strings.TrimSpace(sub.Detail), ".")
		if sub.Identifier != nil {
			text = sub.Identifier.Value + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// advice says what to do about a kind of problem; RFC 8555 6.7 lists them.
func advice(kind, directory string) string {
	switch kind {
	case "rateLimited":
		if strings.Contains(directory, "staging") {
			return "this is a limit of the directory, and asking again sooner does not help"
		}
		return "this is a limit of the directory, and asking again sooner does not help; setups are tried out with acme.directory = letsencrypt-staging, whose limits are higher"
	case "connection", "unauthorized":
		return "the directory must read the answer on port 80 of the name: check that it resolves to the server of the webroot, and that nothing answers for " + challengePath + " before it"
	case "dns":
		return "the name must resolve, from the internet, to the server that answers the challenges"
	case "caa":
		return "the CAA records of the domain let other authorities issue its certificates: add this one"
	case "rejectedIdentifier", "unsupportedIdentifier":
		return "the directory does not certify this name: change cn or alt_names"
	case "externalAccountRequired":
		return "the directory wants an account made elsewhere, which is not supported"
	case "invalidContact", "unsupportedContact":
		return "change the email keyword, or unset it"
	case "accountDoesNotExist":
		return "remove the key acme_account of the object to register another account"
	case "userActionRequired":
		return "the directory wants its new terms to be agreed to: see its site"
	}
	return ""
}

const challengePath = "/.well-known/acme-challenge/"

// The retries of one request: what fails longer is left to the next renewal.
const (
	maxTries = 5
	maxPause = 30 * time.Second
)

// backoff is how long to wait before a request is sent again, 0 to give up. A
// rate limit is not waited for: it lasts hours.
func backoff(try int, r *http.Response) time.Duration {
	if try > maxTries || r != nil && r.StatusCode == http.StatusTooManyRequests {
		return 0
	}
	if r != nil {
		if wait := retryAfter(r.Header, time.Time{}); wait > 0 {
			if wait > maxPause {
				return 0
			}
			return wait
		}
	}
	return min(time.Duration(1)<<max(try-1, 0)*500*time.Millisecond, maxPause)
}

// retryAfter reads when a server wants to be asked again; 0: it does not say.
// Without a present, only a number of seconds is understood.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), 365*24*3600)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && !now.IsZero() {
		return max(at.Sub(now), 0)
	}
	return 0
}
