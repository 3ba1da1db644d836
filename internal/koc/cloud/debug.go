package cloud

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// maxDump is how long a body may be to be shown.
const maxDump = 1 << 20

// debug shows each request and answer, without what is secret.
type debug struct {
	next   http.RoundTripper
	to     io.Writer
	pretty bool
	// A service may quote what it was sent: mask hides what is secret, and learn
	// tells of more of it.
	mask  func(string) string
	learn func(...string)

	mu sync.Mutex // keeps dumps whole
}

// RoundTrip implements [http.RoundTripper].
func (d *debug) RoundTrip(r *http.Request) (*http.Response, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\nHost: %s\n", r.Method, redactURL(r.URL), r.URL.Host)
	headers(&b, r.Header)
	if r.Body != nil && r.GetBody != nil {
		if again, err := r.GetBody(); err == nil {
			d.body(&b, r.URL.Path, r.Header, r.ContentLength, again)
			_ = again.Close()
		}
	}
	d.print("> ", b.String())
	response, err := d.next.RoundTrip(r)
	if err != nil {
		d.print("< ", "no answer: "+err.Error())
		return nil, err
	}
	b.Reset()
	fmt.Fprintf(&b, "%s %s\n", response.Proto, response.Status)
	headers(&b, response.Header)
	if shown(response.Header, response.ContentLength) {
		// A body that grows beyond what is shown goes on where the reading stopped.
		head, err := io.ReadAll(io.LimitReader(response.Body, maxDump+1))
		rest := io.Reader(response.Body)
		if err != nil {
			rest = failed{err}
		}
		if len(head) <= maxDump {
			d.body(&b, r.URL.Path, response.Header, int64(len(head)), bytes.NewReader(head))
		}
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), rest), response.Body}
	}
	d.learn(response.Header["X-Subject-Token"]...)
	d.print("< ", b.String())
	return response, nil
}

// failed is the rest of a body that broke.
type failed struct{ err error }

// Read implements [io.Reader].
func (f failed) Read([]byte) (int, error) { return 0, f.err }

func headers(b *strings.Builder, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			fmt.Fprintf(b, "%s: %s\n", name, redactHeader(name, v))
		}
	}
}

// shown reports whether a body is text that is short enough.
func shown(h http.Header, length int64) bool {
	kind := strings.ToLower(h.Get("Content-Type"))
	return length <= maxDump && !strings.Contains(kind, "xml") &&
		(kind == "" || strings.Contains(kind, "json") || strings.HasPrefix(kind, "text/"))
}

func (d *debug) body(b *strings.Builder, path string, h http.Header, length int64, body io.Reader) {
	if length == 0 || !shown(h, length) {
		return
	}
	text, err := io.ReadAll(io.LimitReader(body, maxDump))
	if err != nil || len(text) == 0 {
		return
	}
	b.WriteString("\n" + redactBody(path, text, d.pretty) + "\n")
}

// print writes lines that begin with a mark.
func (d *debug) print(mark, text string) {
	lines := strings.Split(strings.TrimRight(d.mask(text), "\n"), "\n")
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = io.WriteString(d.to, mark+strings.Join(lines, "\n"+mark)+"\n")
}
