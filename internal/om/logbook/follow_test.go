package logbook_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
)

// follow reads a store in the background until the end of the test.
func follow(t *testing.T, book *logbook.Book, f logbook.Filter, lines int) <-chan []logbook.Line {
	t.Helper()
	batches := make(chan []logbook.Line, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	var reader sync.WaitGroup
	reader.Go(func() {
		err := book.Follow(ctx, f, lines, func(found []logbook.Line) error {
			batches <- found
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); reader.Wait() })
	return batches
}

// collect takes lines until there are n.
func collect(t *testing.T, batches <-chan []logbook.Line, n int) []string {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	var texts []string
	for len(texts) < n {
		select {
		case found := <-batches:
			for _, l := range found {
				texts = append(texts, l.Message)
			}
		case <-limit.C:
			t.Fatalf("%d lines came, want %d", len(texts), n)
		}
	}
	return texts
}

func TestFollow(t *testing.T) {
	t.Parallel()

	t.Run("the last lines come at once, even when there are none", func(t *testing.T) {
		t.Parallel()
		book := logbook.Open(host.Paths{Root: t.TempDir()})
		batches := follow(t, book, logbook.Filter{}, 10)
		if first := <-batches; len(first) != 0 {
			t.Errorf("an empty store has %v", first)
		}
		slog.New(book.Handler("n1", slog.LevelInfo)).Info("new")
		if got := collect(t, batches, 1); got[0] != "new" {
			t.Errorf("then came %q", got)
		}
	})

	// Whoever takes nothing for a while, as a reader on a slow link, has all that came
	// since before it: it is not held at once.
	t.Run("a follower that was slow is given a little at a time", func(t *testing.T) {
		t.Parallel()
		const lines, most = 4000, 96 << 10
		book := logbook.Open(host.Paths{Root: t.TempDir()})
		log := slog.New(book.Handler("n1", slog.LevelInfo))
		long := slog.String("reason", strings.Repeat("x", 500))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		came := 0

		err := book.Follow(ctx, logbook.Filter{}, 1, func(found []logbook.Line) error {
			if came == 0 && len(found) == 0 {
				for i := range lines {
					log.Info(strconv.Itoa(i), long) //nolint:sloglint // the number is the test
				}
				return nil
			}
			held := 0
			for _, l := range found {
				if l.Message != strconv.Itoa(came) {
					return fmt.Errorf("%s came, want %d", l.Message, came)
				}
				came++
				held += len(l.Raw)
			}
			if held > most {
				t.Errorf("%d bytes at once, want %d at most", held, most)
			}
			if came == lines {
				cancel()
			}
			return nil
		})

		if !errors.Is(err, context.Canceled) || came != lines {
			t.Errorf("%d lines came: %v", came, err)
		}
	})

	t.Run("every line of every writer comes once, in its order, whatever is rotated meanwhile", func(t *testing.T) {
		t.Parallel()
		const writers, each = 4, 200
		paths := host.Paths{Root: t.TempDir()}
		write := func(name string, from, to int) {
			book := logbook.Open(paths).WithMaxSize(20 << 10) // as another process would
			log := slog.New(book.Handler("n1", slog.LevelInfo))
			for i := from; i < to; i++ {
				log.Info(name + " " + strconv.Itoa(i)) //nolint:sloglint // the number is the test
			}
			if err := book.Close(); err != nil {
				t.Error(err)
			}
		}
		write("w0", 0, 50)
		batches := follow(t, logbook.Open(paths), logbook.Filter{}, 0)
		var group sync.WaitGroup
		for w := range writers {
			from := 0
			if w == 0 {
				from = 50
			}
			group.Go(func() { write("w"+strconv.Itoa(w), from, each) })
		}
		got := collect(t, batches, writers*each)
		group.Wait()

		if entries, err := filepath.Glob(filepath.Join(paths.Log(), "om.log.[0-9][0-9][0-9][0-9][0-9][0-9]")); err != nil || len(entries) < 2 || len(entries) >= logbook.Kept {
			t.Fatalf("the test wants a few rotations and nothing dropped: %v, %v", entries, err)
		}
		next := map[string]int{}
		for _, text := range got {
			name, number := text[:2], text[3:]
			if number != strconv.Itoa(next[name]) {
				t.Fatalf("%s came, want number %d of %s", text, next[name], name)
			}
			next[name]++
		}
	})

	t.Run("a line is passed on once it is whole", func(t *testing.T) {
		t.Parallel()
		paths := host.Paths{Root: t.TempDir()}
		book := logbook.Open(paths)
		log := slog.New(book.Handler("n1", slog.LevelInfo))
		log.Info("one")
		batches := follow(t, logbook.Open(paths), logbook.Filter{}, 0)
		if got := collect(t, batches, 1); !slices.Equal(got, []string{"one"}) {
			t.Fatalf("%q", got)
		}
		for _, part := range []string{`{"at":"2026-11-30T10:00:00Z","lev`, `el":"info","message":"two"}` + "\n"} {
			if _, err := book.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		log.Info("three")
		if got := collect(t, batches, 2); !slices.Equal(got, []string{"two", "three"}) {
			t.Errorf("%q", got)
		}
	})

	t.Run("a file that was cut to nothing is read from its start again", func(t *testing.T) {
		t.Parallel()
		paths := host.Paths{Root: t.TempDir()}
		book := logbook.Open(paths)
		log := slog.New(book.Handler("n1", slog.LevelInfo))
		log.Info("a line that is much longer than what comes after the file was truncated")
		batches := follow(t, logbook.Open(paths), logbook.Filter{}, 0)
		collect(t, batches, 1)
		if err := os.Truncate(filepath.Join(paths.Log(), "om.log"), 0); err != nil {
			t.Fatal(err)
		}
		log.Info("x")
		if got := collect(t, batches, 1); !slices.Equal(got, []string{"x"}) {
			t.Errorf("%q", got)
		}
	})

	t.Run("a filter holds for what comes, too", func(t *testing.T) {
		t.Parallel()
		book := logbook.Open(host.Paths{Root: t.TempDir()})
		batches := follow(t, book, logbook.Filter{}.Where("sid", "b"), 0)
		log := slog.New(book.Handler("n1", slog.LevelInfo))
		log.Info("not this", slog.String("sid", "a"))
		log.Info("this", slog.String("sid", "b"))
		if got := collect(t, batches, 1); !slices.Equal(got, []string{"this"}) {
			t.Errorf("%q", got)
		}
	})

	t.Run("it ends when its reader wants no more", func(t *testing.T) {
		t.Parallel()
		enough := errors.New("enough")
		err := logbook.Open(host.Paths{Root: t.TempDir()}).Follow(t.Context(), logbook.Filter{}, 1, func([]logbook.Line) error { return enough })
		if !errors.Is(err, enough) {
			t.Errorf("ended with %v", err)
		}
	})
}
