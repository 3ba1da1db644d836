package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/sse"
)

func read(r io.Reader, limit int) (events []sse.Event, err error) {
	for e, err := range sse.NewReader(r, limit).Events() {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func message(data string) sse.Event { return sse.Event{Data: []byte(data)} }

func TestAStreamReadsAsTheStandardSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		want   []sse.Event
	}{
		"one message":                    {"data: a\n\n", []sse.Event{message("a")}},
		"only the first blank goes":      {"data:  a \n\n", []sse.Event{message(" a ")}},
		"no blank is needed":             {"data:a\n\n", []sse.Event{message("a")}},
		"lines join":                     {"data: a\ndata\ndata: b\n\n", []sse.Event{message("a\n\nb")}},
		"CR LF":                          {"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []sse.Event{message("a\nb"), message("c")}},
		"CR":                             {"data: a\rdata: b\r\rdata: c\r\r", []sse.Event{message("a\nb"), message("c")}},
		"line ends mixed":                {"data: a\r\ndata: b\n\rdata: c\r\n\n", []sse.Event{message("a\nb"), message("c")}},
		"a byte order mark":              {"\xef\xbb\xbfdata: a\n\n", []sse.Event{message("a")}},
		"a comment":                      {": hello\n\ndata: a\n: again\n\n", []sse.Event{message("a")}},
		"an unknown field":               {"data: a\nfoo: b\n\n", []sse.Event{message("a")}},
		"without data there is no event": {"event: x\nid: 1\n\ndata: a\n\n", []sse.Event{{ID: "1", Data: []byte("a")}}},
		"empty data is an event":         {"data\n\n", []sse.Event{message("")}},
		"a name holds for one event":     {"event: x\ndata: a\n\ndata: b\n\n", []sse.Event{{Name: "x", Data: []byte("a")}, message("b")}},
		"an id holds on":                 {"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []sse.Event{{ID: "1", Data: []byte("a")}, {ID: "1", Data: []byte("b")}, message("c")}},
		"an id with a NUL is ignored":    {"id: a\x00b\ndata: a\n\n", []sse.Event{message("a")}},
		"retry":                          {"retry: 1500\ndata: a\n\n", []sse.Event{{Data: []byte("a"), Retry: 1500 * time.Millisecond}}},
		"a retry of another kind":        {"retry: -1\nretry: 1s\nretry: 99999999999\ndata: a\n\n", []sse.Event{message("a")}},
		"the last event is cut short":    {"data: a\n\ndata: b\n", []sse.Event{message("a")}},
		"the last line is cut short":     {"data: a\n\ndata: b", []sse.Event{message("a")}},
		"nothing":                        {"", nil},
		"a bit of a mark":                {"\xef\xbb\n\ndata: a\n\n", []sse.Event{message("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream))} {
				got, err := read(r, 0)

				if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
			}
		})
	}
}

func TestTheReaderRemembersWhereToResume(t *testing.T) {
	t.Parallel()
	r := sse.NewReader(strings.NewReader("id: 7\ndata: a\n\nid: 8\ndata: b\n\n"), 0)

	for e, err := range r.Events() {
		if err != nil || r.LastID() != e.ID {
			t.Errorf("last id %q, event %+v, %v", r.LastID(), e, err)
		}
		if e.ID == "7" {
			break // and go on later
		}
	}
	for e, err := range r.Events() {
		if err != nil || e.ID != "8" {
			t.Errorf("event %+v, %v", e, err)
		}
	}
	if r.LastID() != "8" {
		t.Errorf("last id %q", r.LastID())
	}
}

func TestAStreamCannotFillTheMemory(t *testing.T) {
	t.Parallel()
	endless := func(text string) io.Reader {
		return io.MultiReader(strings.NewReader("data: a\n\n"), &repeat{text: text})
	}
	for name, r := range map[string]io.Reader{
		"a line without end":    endless("x"),
		"an event without end":  endless("data: x\n"),
		"a comment without end": endless(":x\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(r, 1000)

			if !errors.Is(err, sse.ErrTooLarge) || len(got) != 1 {
				t.Errorf("%d events, %v", len(got), err)
			}
		})
	}
}

// repeat reads as a text over and over.
type repeat struct{ text, rest string }

func (r *repeat) Read(b []byte) (int, error) {
	if r.rest == "" {
		r.rest = r.text
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func TestAKeptAliveStreamIsNeverTooLarge(t *testing.T) {
	t.Parallel()
	stream := strings.Repeat(": keep alive\n\n", 1000) + "data: a\n\n"

	got, err := read(strings.NewReader(stream), 100)

	if err != nil || len(got) != 1 {
		t.Errorf("%d events, %v", len(got), err)
	}
}

func TestAnErrorOfTheStreamIsYieldedOnce(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	r := io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken))

	got, err := read(r, 0)

	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("%d events, %v", len(got), err)
	}
}

func TestAnEventIsWrittenAsTheStandardSays(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := sse.NewWriter(&b)
	err := errors.Join(
		w.Event(sse.Event{ID: "7", Name: "x", Data: []byte("a\r\nb\rc\n"), Retry: time.Second}),
		w.Event(sse.Event{}),
		w.Comment("still\nhere"),
		w.Flush(),
	)

	want := "event: x\nid: 7\nretry: 1000\ndata: a\ndata: b\ndata: c\ndata:\n\ndata:\n\n: still\n: here\n\n"
	if diff := cmp.Diff(want, b.String()); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestWhatTheFormatCannotCarryIsRefused(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := sse.NewWriter(&b)
	for _, e := range []sse.Event{{ID: "a\nb"}, {ID: "a\rb"}, {ID: "a\x00"}, {Name: "a\nb"}, {Name: "a\rb"}} {
		if err := w.Event(e); err == nil {
			t.Errorf("%+v was written", e)
		}
	}
	if err := w.Flush(); err != nil || b.Len() != 0 {
		t.Errorf("wrote %q, %v", &b, err)
	}
}

// flushes counts flushes, in each of the forms writers have.
type (
	plain struct {
		bytes.Buffer
		n int
	}
	failing struct{ plain }
	errored struct{ plain }
)

func (p *plain) Flush()              { p.n++ }
func (f *failing) Flush() error      { f.n++; return io.ErrClosedPipe }
func (e *errored) FlushError() error { e.n++; return io.ErrClosedPipe }

func TestFlushReachesTheConnection(t *testing.T) {
	t.Parallel()
	p, f, e := &plain{}, &failing{}, &errored{}

	err := sse.NewWriter(p).Flush()
	err1, err2 := sse.NewWriter(f).Flush(), sse.NewWriter(e).Flush()

	if p.n != 1 || f.n != 1 || e.n != 1 {
		t.Errorf("flushed %d, %d, %d times", p.n, f.n, e.n)
	}
	if err != nil || !errors.Is(err1, io.ErrClosedPipe) || !errors.Is(err2, io.ErrClosedPipe) {
		t.Errorf("errors %v, %v, %v", err, err1, err2)
	}
}

func TestAClosedConnectionIsAnError(t *testing.T) {
	t.Parallel()
	r, pipe := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	w := sse.NewWriter(pipe)

	err := errors.Join(w.Event(message("a")), w.Flush())

	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsWrittenReadsBack(t *testing.T) {
	t.Parallel()
	word := rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool { return r != '\n' && r != '\r' && r != 0 }), 1, 20, -1)
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOf(rapid.Custom(func(t *rapid.T) sse.Event {
			return sse.Event{
				ID: word.Draw(t, "id"), Name: rapid.OneOf(rapid.Just(""), word).Draw(t, "name"),
				Data:  bytes.ReplaceAll(rapid.SliceOf(rapid.Byte()).Draw(t, "data"), []byte{'\r'}, []byte{'\n'}),
				Retry: time.Duration(rapid.Uint16().Draw(t, "retry")) * time.Millisecond,
			}
		})).Draw(t, "events")
		var b bytes.Buffer
		w := sse.NewWriter(&b)
		for _, e := range events {
			if err := errors.Join(w.Event(e), w.Comment("alive")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}

		got, err := read(&b, 0)

		if diff := cmp.Diff(events, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "id: 1\r\nevent: x\r\ndata: a\rdata: b\r\n\r\n", ": c\n\nretry: 5\ndata\n\n", "\xef\xbb\xbfdata:\n\n", "data: \xff\xfe\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 256
		once, err := read(bytes.NewReader(stream), limit)
		again, err2 := read(iotest.OneByteReader(bytes.NewReader(stream)), limit)
		if diff := cmp.Diff(once, again); diff != "" || (err == nil) != (err2 == nil) {
			t.Fatalf("reads depend on their size: %v, %v\n%s", err, err2, diff)
		}
		var b bytes.Buffer
		w := sse.NewWriter(&b)
		for _, e := range once {
			if len(e.Data) > limit {
				t.Fatalf("event of %d bytes", len(e.Data))
			}
			if err := w.Event(e); err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		back, err := read(&b, 0)
		if err != nil {
			t.Fatal(err)
		}
		// An id set back to none cannot be written; everything else comes back.
		if diff := cmp.Diff(once, back, cmpopts.IgnoreFields(sse.Event{}, "ID"), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
