package cloud

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// timing prints how long each request took, its body included.
type timing struct {
	next http.RoundTripper
	to   io.Writer

	mu  sync.Mutex // guards what follows
	n   int
	sum time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (t *timing) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := t.next.RoundTrip(r)
	if err != nil {
		t.report(r, "error", began)
		return nil, err
	}
	status := strconv.Itoa(response.StatusCode)
	response.Body = &timedBody{ReadCloser: response.Body, done: sync.OnceFunc(func() { t.report(r, status, began) })}
	return response, nil
}

func (t *timing) report(r *http.Request, status string, began time.Time) {
	took := time.Since(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	t.sum += took
	_, _ = fmt.Fprintf(t.to, "timing: %-6s %s %s in %s\n", r.Method, redactURL(r.URL), status, took.Round(time.Millisecond))
}

func (t *timing) total() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n > 0 {
		_, _ = fmt.Fprintf(t.to, "timing: total %d request(s) in %s\n", t.n, t.sum.Round(time.Millisecond))
	}
}

// timedBody tells when a body was read or given up.
type timedBody struct {
	io.ReadCloser
	done func()
}

// Read implements [io.Reader].
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done()
	}
	return n, err
}

// Close implements [io.Closer].
func (b *timedBody) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}
