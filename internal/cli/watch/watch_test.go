package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/watch"
	"github.com/holdfast-ops/holdfast/internal/cli/watch/watchtest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	m.Run()
}

// answer is one answer of a source.
type answer struct {
	rows  []string // "id name status"
	err   error
	takes time.Duration
	panic string
}

// rig is a watch in a terminal, in a bubble of time.
type rig struct {
	*testing.T
	*watchtest.Terminal

	mu       sync.Mutex
	requests []watch.Request

	out   chan error
	ended bool
	err   error
}

// asked is what the source was asked for so far.
func (r *rig) asked() []watch.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// play runs a watch whose source gives the answers one after another, the last
// one for ever, and then the steps. By their end the watch has to be over, or it
// is quit; the terminal has to be as it was.
func play(t *testing.T, o watch.Options, answers []answer, steps func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, Terminal: watchtest.New(80, 10), out: make(chan error, 1)}
		s := r.Streams()
		o.Terminal = r.Terminal
		if o.Title == "" {
			o.Title = "ls"
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			defer func() {
				if p := recover(); p != nil {
					r.out <- fmt.Errorf("panic: %v", p)
				}
			}()
			r.out <- watch.Run(ctx, s, o, r.source(answers))
		}()
		synctest.Wait()

		steps(r)

		synctest.Wait()
		if !r.over() {
			r.Press("q")
			synctest.Wait()
			if !r.over() {
				t.Error("q does not end it")
			}
		}
		if got := r.State(); got != (watchtest.State{}) || r.IsRaw() {
			t.Errorf("the terminal is left as %+v, raw %v", got, r.IsRaw())
		}
		for _, fault := range r.Faults() {
			t.Error(fault)
		}
		r.Close()
		cancel()
		synctest.Wait()
	})
}

func (r *rig) source(answers []answer) watch.Source {
	n := 0
	return func(ctx context.Context, request watch.Request) (watch.Frame, error) {
		r.mu.Lock()
		r.requests = append(r.requests, request)
		r.mu.Unlock()
		a := answers[min(n, len(answers)-1)]
		n++
		wait := time.NewTimer(a.takes)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			return watch.Frame{}, ctx.Err()
		}
		if a.panic != "" {
			panic(a.panic)
		}
		return frame(a.rows), a.err
	}
}

// frame is a table of the columns ID, NAME and STATUS.
func frame(rows []string) watch.Frame {
	f := watch.Frame{Count: len(rows), Rows: []watch.Row{}, Layout: table, Raw: []byte(strings.Join(rows, "\n") + "\n")}
	for _, text := range rows {
		cells := strings.Split(text, " ")
		f.Rows = append(f.Rows, watch.Row{ID: cells[0], Cells: cells})
	}
	return f
}

func table(rows []watch.Row, size watch.Size) watch.Table {
	t := watch.Table{
		Head: []watch.Line{{{Text: "ID NAME STATUS"}}, {{Text: "--------------"}}},
		Foot: []watch.Line{{{Text: "=============="}}},
	}
	for _, row := range rows {
		var line watch.Line
		for i, cell := range row.Cells {
			if size.Compact {
				cell = watch.Cut(cell, 5)
			}
			line = append(line, watch.Span{Text: cell, Cell: i + 1}, watch.Span{Text: " "})
		}
		t.Rows = append(t.Rows, []watch.Line{line})
	}
	return t
}

func (r *rig) over() bool {
	select {
	case r.err = <-r.out:
		r.ended = true
	default:
	}
	return r.ended
}

// wait lets time pass.
func (r *rig) wait(d time.Duration) {
	r.Helper()
	time.Sleep(d) //nolint:forbidigo // of the bubble
	synctest.Wait()
}

// press types, and waits until it is dealt with.
func (r *rig) press(keys string) {
	r.Helper()
	r.Press(keys)
	synctest.Wait()
}

func (r *rig) shows(want string) {
	r.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), r.Marked()); diff != "" {
		r.Errorf("screen (-want +got):\n%s", diff)
	}
}

// status is the line at the top, without styles.
func (r *rig) status() string {
	line, _, _ := strings.Cut(r.String(), "\n")
	return line
}

func (r *rig) statusIs(want string) {
	r.Helper()
	if got := r.status(); got != want {
		r.Errorf("status line\n got %s\nwant %s", got, want)
	}
}

func (r *rig) ends(want error) {
	r.Helper()
	synctest.Wait()
	if !r.over() {
		r.Fatal("it goes on")
	}
	if !errors.Is(r.err, want) {
		r.Errorf("it ended with %v, not %v", r.err, want)
	}
}

func (r *rig) goesOn() {
	r.Helper()
	if r.over() {
		r.Fatalf("it ended with %v", r.err)
	}
}

func vms(n int) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("%d vm%d ACTIVE", i+1, i+1)
	}
	return rows
}

var errBusy = errors.New("503 Service Unavailable")

func TestRowsAreComparedByIdentity(t *testing.T) {
	t.Parallel()
	play(t, watch.Options{Interval: time.Second, Diff: true}, []answer{
		{rows: []string{"1 a BUILD", "2 b ACTIVE", "3 c ACTIVE"}},
		{rows: []string{"1 a ACTIVE", "3 c ACTIVE", "4 d BUILD"}},
		{rows: []string{"1 a ACTIVE", "3 c ACTIVE", "4 d BUILD"}},
	}, func(r *rig) {
		r.shows(`
‹1:ls› · every 1s · 00:00:00 · 3 rows · 0s · ‹32:ok› · diff on · ? keys
ID NAME STATUS
--------------
1 a BUILD
2 b ACTIVE
3 c ACTIVE
==============
`)

		r.wait(time.Second)

		r.shows(`
‹1:ls› · every 1s · 00:00:01 · 3 rows · 0s · ‹32:ok› · diff on · ? keys
ID NAME STATUS
--------------
1 a ‹7:ACTIVE›
‹2:2› ‹2:b› ‹2:ACTIVE›
3 c ACTIVE
‹32:4› ‹32:d› ‹32:BUILD›
==============
`)

		r.wait(time.Second)

		r.shows(`
‹1:ls› · every 1s · 00:00:02 · 3 rows · 0s · ‹32:ok› · diff on · ? keys
ID NAME STATUS
--------------
1 a ACTIVE
3 c ACTIVE
4 d BUILD
==============
`)
	})
}

// newRawless returns a terminal whose keys cannot be had one by one.
func newRawless(err error) *watchtest.Terminal {
	t := watchtest.New(80, 10)
	t.RawErr = err
	return t
}
