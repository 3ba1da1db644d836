package httpd

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

const (
	stallTimeout = 30 * time.Second // of a body that makes no progress
	bodyTimeout  = 10 * time.Minute // of a whole body
	drainLimit   = 64 << 20         // read of what is refused for its length
)

// limitReads gives the body of a request a limited time to arrive, whether its
// operation reads it or not: what is left of it is read before the answer leaves.
func (s *Server) limitReads(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return
	}
	b := &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w), stall: s.o.Stall}
	if b.stall == 0 {
		b.stall = stallTimeout
	}
	b.end = time.Now().Add(max(bodyTimeout, b.stall))
	b.extend()
	r.Body = b
}

// timedBody is a body that must make progress.
type timedBody struct {
	io.ReadCloser

	control *http.ResponseController
	stall   time.Duration
	end     time.Time
}

// Read implements [io.Reader]. Past the end of the body nothing is expected any
// more, and the connection may be silent as long as the answer takes.
func (b *timedBody) Read(p []byte) (int, error) {
	b.extend()
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{}) // a connection without deadlines is one of a test
	}
	return n, err
}

// Close implements [io.Closer]. A client that is sending reads no answer: what is
// too long is read to some end, for its refusal to be heard.
func (b *timedBody) Close() error {
	_, _ = io.CopyN(io.Discard, b, drainLimit)
	return b.ReadCloser.Close()
}

func (b *timedBody) extend() {
	limit := time.Now().Add(b.stall)
	if limit.After(b.end) {
		limit = b.end
	}
	_ = b.control.SetReadDeadline(limit) // a connection without deadlines is one of a test
}

// headerLimit bounds the headers of a request, and its target.
const headerLimit = 64 << 10

// tooLarge reports whether the headers of r are larger than what is accepted. The
// HTTP library has a limit too, larger, whose refusal is no document of ours.
func tooLarge(r *http.Request) bool {
	size := len(r.RequestURI)
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	return size > headerLimit
}

// checkQuery refuses a query that cannot be read. The HTTP library leaves out the
// parameters it cannot read, and what is asked without them is something else: a
// stop of everything instead of a resource.
func checkQuery(r *http.Request) *api.Problem {
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return api.NewProblem(http.StatusBadRequest, fmt.Sprintf("query: %v: write %%, ; and # as %%25, %%3B and %%23", err))
	}
	return nil
}

// formContent is the content type of parameters in a body.
const formContent = "application/x-www-form-urlencoded"

// readForm moves the parameters of the body of a PATCH to its query: changes may
// be longer than what a target can hold.
func readForm(r *http.Request) *api.Problem {
	content, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // what is no type is no form
	if r.Method != http.MethodPatch || content != formContent {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, api.MaxBody+1))
	switch {
	case err != nil:
		return api.NewProblem(http.StatusBadRequest, fmt.Sprintf("body: %v", err))
	case len(data) > api.MaxBody:
		return api.NewProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("body: larger than %d bytes", api.MaxBody))
	}
	if _, err := url.ParseQuery(string(data)); err != nil {
		return api.NewProblem(http.StatusBadRequest, fmt.Sprintf("body: %v", err))
	}
	target := *r.URL
	if target.RawQuery != "" && len(data) > 0 {
		target.RawQuery += "&"
	}
	target.RawQuery += string(data)
	r.URL, r.Body, r.ContentLength = &target, http.NoBody, 0
	r.Header.Del("Content-Type")
	return nil
}
