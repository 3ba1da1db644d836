package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// maxDocument is how much of a JSON answer is read into memory. Of answers that
// are decoded as they come it is streams times as much: no page of a list is that long.
const (
	maxDocument = 64 << 20
	streams     = 16
)

// streamed is what decodes an answer while it arrives.
type streamed interface{ DecodeFrom(r io.Reader) error }

// answer is an accepted answer whose body was not read yet.
type answer struct {
	cloud  *Cloud
	call   call
	status int
	header http.Header
	body   io.ReadCloser
	limit  int64 // of a document
}

func (a *answer) close() { _ = a.body.Close() }

// drain reads a little so that the connection can be used again.
func (a *answer) drain() {
	_, _ = io.CopyN(io.Discard, a.body, 64<<10)
	a.close()
}

// finish reads an answer nobody wants: it must still be whole.
func (a *answer) finish() error {
	if _, err := io.CopyN(io.Discard, a.body, 1<<20); err != nil && !errors.Is(err, io.EOF) {
		return a.cut(err)
	}
	return nil
}

// name is how errors call the answer: the service and the path.
func (a *answer) name() string {
	path := a.call.url
	if u, err := url.Parse(path); err == nil {
		path = u.EscapedPath()
	}
	return fmt.Sprintf("%s service, %s %s", a.call.service, a.call.method, path)
}

// decode reads the JSON of the answer.
func (a *answer) decode(into any) error {
	watched := &watched{r: a.body}
	if s, ok := into.(streamed); ok {
		watched.limit = a.limit * streams
		if err := s.DecodeFrom(watched); err != nil {
			return a.undecoded(err, watched)
		}
		return a.rest(watched)
	}
	watched.limit = a.limit
	d := json.NewDecoder(watched)
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return a.undecoded(err, watched)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("more follows the document")
		}
		return a.undecoded(err, watched)
	}
	return nil
}

// rest reads a little of what a decoder left. One that has all it wants may leave
// much; when there is nothing more, the answer must have ended as it should.
func (a *answer) rest(w *watched) error {
	if _, err := io.CopyN(io.Discard, w, 256<<10); err != nil && !errors.Is(err, io.EOF) {
		return a.cut(err)
	}
	return nil
}

func (a *answer) undecoded(err error, w *watched) error { return a.cloud.masked(a.unreadable(err, w)) }

func (a *answer) unreadable(err error, w *watched) error {
	switch {
	case errors.Is(w.err, errTooLong):
		return fmt.Errorf("%s: the answer is longer than %d MiB: ask for less, with a filter or --limit", a.name(), w.limit>>20)
	case w.err != nil && !errors.Is(w.err, io.EOF):
		return a.cut(w.err)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		if w.n == 0 {
			return fmt.Errorf("%s: the answer is empty where a JSON document was expected", a.name())
		}
		return fmt.Errorf("%s: the answer ends in the middle, after %d bytes: what was shown is not all", a.name(), w.n)
	}
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s: the answer is no JSON: %w (at byte %d)%s", a.name(), err, bad.Offset, a.kind())
	}
	return fmt.Errorf("%s: the answer cannot be read: %w%s", a.name(), err, a.kind())
}

// kind tells of an answer that is another kind of document.
func (a *answer) kind() string {
	kind := a.header.Get("Content-Type")
	if kind == "" || strings.Contains(kind, "json") {
		return ""
	}
	return "; its type is " + strconv.Quote(kind) + ": is the endpoint that of the service?"
}

// cut is the error of an answer that was interrupted.
func (a *answer) cut(err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w: what was shown is not all", a.name(), err)
	}
	if os.IsTimeout(err) {
		return fmt.Errorf("%s: the answer was not whole in the time for it (--timeout), what was shown is not all", a.name())
	}
	return a.cloud.masked(fmt.Errorf("%s: the answer was interrupted, what was shown is not all: %w", a.name(), err))
}

// ending is a body whose reading fails with the end of the context when that is
// the reason, not with what the end does to the connection.
type ending struct {
	io.ReadCloser
	ended func() error
}

// Read implements [io.Reader].
func (e ending) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		if reason := e.ended(); reason != nil {
			err = reason
		}
	}
	return n, err
}

var errTooLong = errors.New("too long")

// watched is a body that remembers its failure, with a limit unless that is 0.
type watched struct {
	r        io.Reader
	n, limit int64
	err      error
}

// Read implements [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	if w.limit > 0 && w.n >= w.limit {
		w.err = errTooLong
		return 0, errTooLong
	}
	n, err := w.r.Read(p)
	w.n += int64(n)
	if err != nil {
		w.err = err
	}
	return n, err
}
