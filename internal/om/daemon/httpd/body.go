package httpd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

const (
	stallTimeout = 30 * time.Second // of a body that makes no progress
	bodyTimeout  = 10 * time.Minute // of a whole body
	drainLimit   = 64 << 20         // read of what is refused for its length
	refusedLimit = 256 << 10        // read of what is refused for other reasons
	readAhead    = 64 << 10         // believed of the length a client claims
)

// limitReads returns the body of r with a limited time to arrive, whether its operation
// reads it or not: what is left of it is read before the answer leaves. It is for a copy
// of r: the HTTP library looks at the body of r for whether the client waits to be told
// to send it, and then leaves it where it is.
func limitReads(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return r.Body
	}
	b := &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w), end: time.Now().Add(bodyTimeout)}
	b.extend()
	return b
}

// timedBody is a body that must make progress.
type timedBody struct {
	io.ReadCloser

	control *http.ResponseController
	end     time.Time

	mu  sync.Mutex // a request that is passed on is read by another goroutine
	err error      // of a read: the next ones wait for nothing
}

// bodyError is why a body did not arrive.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return e.err.Error() }

func (e *bodyError) Unwrap() error { return e.err }

// problem is the refusal of a body that did not arrive.
func (e *bodyError) problem() *api.Problem {
	if errors.Is(e.err, os.ErrDeadlineExceeded) {
		return api.NewProblem(http.StatusRequestTimeout, fmt.Sprintf("body: nothing came for %s, or not all in %s: send it again", stallTimeout, bodyTimeout))
	}
	return api.NewProblem(http.StatusBadRequest, fmt.Sprintf("body: it does not come as its headers say, %v: send it again", e.err))
}

// Read implements [io.Reader]. Past the end of the body nothing is expected any
// more, and the connection may be silent as long as the answer takes.
func (b *timedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	b.extend()
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		_ = b.control.SetReadDeadline(time.Time{}) // a connection without deadlines is one of a test
	case err != nil:
		err = &bodyError{err}
	}
	b.err = err
	return n, err
}

// Close implements [io.Closer]. A client that is sending reads no answer: what is
// too long is read to some end, for its refusal to be heard.
func (b *timedBody) Close() error {
	_, _ = io.CopyN(io.Discard, b, drainLimit)
	return b.ReadCloser.Close()
}

func (b *timedBody) extend() {
	limit := time.Now().Add(stallTimeout)
	if limit.After(b.end) {
		limit = b.end
	}
	_ = b.control.SetReadDeadline(limit) // a connection without deadlines is one of a test
}

const (
	// headerLimit bounds the headers of a request, and its target. Clients built on
	// nghttp2, curl among them, send no more than 64 KiB over HTTP/2 and close the
	// connection instead: what is below is served or answered over both protocols.
	headerLimit = 32 << 10
	// maxHeaders is where the HTTP library stops reading: its refusal is no document
	// of ours.
	maxHeaders = 1 << 20
)

// tooLarge reports whether the headers of r are larger than what is accepted.
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
	data, problem := readAll(r, api.MaxBody)
	if problem != nil {
		return problem
	}
	if problem := checkForm(string(data)); problem != nil {
		return problem
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

// checkForm refuses a form that cannot be read. It names the places and not what is
// there, which may be a secret.
func checkForm(form string) *api.Problem {
	for i, parameter := range strings.Split(form, "&") {
		name, value, found := strings.Cut(parameter, "=")
		_, nameErr := url.QueryUnescape(name)
		_, valueErr := url.QueryUnescape(value)
		switch {
		case parameter == "":
		case !found:
			return api.NewProblem(http.StatusBadRequest, fmt.Sprintf("body: parameter %d of the form: no value: write name=value", i+1))
		case nameErr != nil, valueErr != nil, strings.Contains(parameter, ";"):
			return api.NewProblem(http.StatusBadRequest, fmt.Sprintf("body: parameter %d of the form: write %%, ; and & as %%25, %%3B and %%26", i+1))
		}
	}
	return nil
}

// receive reads the body of a request before anything is done, so that whatever is
// wrong with its arrival is said in one way.
func receive(c huma.Context, next func(huma.Context)) {
	d, _ := c.Operation().Metadata[descriptionKey].(api.Description)
	r, _ := humago.Unwrap(c)
	if r.Body != nil && r.ContentLength != 0 {
		data, problem := readAll(r, d.Max)
		if problem != nil {
			writeProblem(c, problem)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
	}
	next(c)
}

// drain reads what is left of a body before an answer is given a time to leave: the
// HTTP library reads it then. One that waits to be told to send it is not.
func drain(r *http.Request) {
	if r.Body != nil && !waits(r) {
		_, _ = io.CopyN(io.Discard, r.Body, refusedLimit)
	}
}

// waits reports whether the client sends the body once it is told to.
func waits(r *http.Request) bool { return r.Header.Get("Expect") != "" }

// readAll reads the body of r.
func readAll(r *http.Request, limit int64) ([]byte, *api.Problem) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, api.NewProblem(http.StatusUnsupportedMediaType, fmt.Sprintf("body: content encoding %q is not accepted: send the body as it is", coding))
	}
	if waits(r) && r.ContentLength > limit {
		return nil, tooLong(limit) // it is not told to send it
	}
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), readAhead)) + bytes.MinRead)
	_, err := b.ReadFrom(io.LimitReader(r.Body, limit+1))
	_ = r.Body.Close() // it is read
	broken, isBroken := errors.AsType[*bodyError](err)
	switch {
	case isBroken:
		return nil, broken.problem()
	case err != nil:
		return nil, (&bodyError{err}).problem()
	case int64(b.Len()) > limit:
		return nil, tooLong(limit)
	}
	return b.Bytes(), nil
}

func tooLong(limit int64) *api.Problem {
	return api.NewProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("body: larger than %d bytes", limit))
}
