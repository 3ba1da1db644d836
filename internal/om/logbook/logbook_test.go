package logbook_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
)

func TestConsole(t *testing.T) {
	t.Parallel()
	line := func(t *testing.T, o logbook.ConsoleOptions, log func(*slog.Logger)) string {
		t.Helper()
		var out bytes.Buffer
		log(slog.New(logbook.Console(&out, o)))
		head, tail, _ := strings.Cut(out.String(), " ")
		if head != "" {
			if _, err := time.Parse("15:04:05.000", head); err != nil {
				t.Errorf("line starts with %q, not a time of day", head)
			}
		}
		return tail
	}
	for name, c := range map[string]struct {
		options logbook.ConsoleOptions
		log     func(*slog.Logger)
		want    string
	}{
		"the object and the resource come before the message": {
			log: func(l *slog.Logger) {
				l.With(slog.String("object", "svc0"), slog.String("sid", "x")).Info("started", slog.String("resource", "app#1"))
			},
			want: "INF svc0: app#1: started\n",
		},
		"an error ends the line":      {log: func(l *slog.Logger) { l.Error("stop", slog.Any("err", errors.New("no"))) }, want: "ERR stop: no\n"},
		"other attributes are shown":  {log: func(l *slog.Logger) { l.WithGroup("g").Warn("m", slog.Int("n", 1)) }, want: "WRN m g.n=1\n"},
		"trailing blanks are cut":     {log: func(l *slog.Logger) { l.Info("x  ") }, want: "INF x\n"},
		"debug lines are not for all": {log: func(l *slog.Logger) { l.Debug("x") }, want: ""},
		"what a task prints does not reach the terminal as it is": {
			options: logbook.ConsoleOptions{Escape: func(text string) string { return strings.ReplaceAll(text, "\x1b", "^") }},
			log:     func(l *slog.Logger) { l.Info("a\x1b[2J\tb\nc\x1b") },
			want:    "INF a^[2J\tb\n00:00:00.000 INF c^\n",
		},
		"levels are coloured on demand": {
			options: logbook.ConsoleOptions{Color: true},
			log:     func(l *slog.Logger) { l.Info("x") },
			want:    "\x1b[32mINF\x1b[0m x\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := line(t, c.options, c.log)
			got = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3}`).ReplaceAllString(got, "00:00:00.000")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBook(t *testing.T) {
	t.Parallel()

	t.Run("lines are read back with their ids, the last ones, filtered", func(t *testing.T) {
		t.Parallel()
		book := logbook.Open(hosttest.Paths(t))
		log := slog.New(book.Handler("n1", slog.LevelInfo))
		log.Info("other", slog.String("object", "b"))
		a := log.With(slog.String("object", "a"), slog.String("sid", "s1"))
		for i := range 3 {
			a.Info(fmt.Sprintf("line %d", i), slog.String("resource", "app#1")) //nolint:sloglint // the number is the test
		}
		a.Warn("careful", slog.Any("err", errors.New("hot")))

		got, err := book.Read(logbook.Filter{}.Where("path", "a").Where("sid", "s1"), 2)

		want := []logbook.Line{
			{Level: "info", Node: "n1", Path: "a", RID: "app#1", SID: "s1", Message: "line 2"},
			{Level: "warn", Node: "n1", Path: "a", SID: "s1", Message: "careful", Err: "hot"},
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(logbook.Line{}, "At", "Raw")); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if warned, err := book.Read(logbook.Filter{Level: "warn"}, 0); err != nil || len(warned) != 1 {
			t.Errorf("lines of level warn: %v, %v, want one", warned, err)
		}
		if named, err := book.Read(logbook.Filter{}.Where("rid", "app*"), 0); err != nil || len(named) != 3 {
			t.Errorf("lines of app*: %v, %v, want three", named, err)
		}
	})

	t.Run("an empty store reads as no line", func(t *testing.T) {
		t.Parallel()
		if got, err := logbook.Open(hosttest.Paths(t)).Read(logbook.Filter{}, 10); err != nil || len(got) != 0 {
			t.Errorf("read: %v, %v", got, err)
		}
	})

	t.Run("several processes append and rotate without losing a line", func(t *testing.T) {
		t.Parallel()
		paths := hosttest.Paths(t)
		var writers sync.WaitGroup
		for w := range 4 {
			book := logbook.Open(paths).WithMaxSize(8 << 10) // as another process would
			writers.Go(func() {
				log := slog.New(book.Handler("n1", slog.LevelInfo))
				for i := range 50 {
					log.Info("x", slog.Int("w", w), slog.Int("i", i))
				}
			})
		}
		writers.Wait()

		got, err := logbook.Open(paths).Read(logbook.Filter{}, 0)
		if err != nil || len(got) != 200 {
			t.Errorf("%d lines, %v, want 200", len(got), err)
		}
		if _, err := os.Stat(filepath.Join(paths.Log(), "om.log.000001")); err != nil {
			t.Error("nothing was rotated:", err)
		}
	})

	t.Run("old files go away", func(t *testing.T) {
		t.Parallel()
		paths := hosttest.Paths(t)
		book := logbook.Open(paths).WithMaxSize(100)
		log := slog.New(book.Handler("n1", slog.LevelInfo))
		for range 20 {
			log.Info("a line that fills a file by itself, or nearly so, with what goes around it")
		}
		if _, err := book.Read(logbook.Filter{}, 0); err != nil { // makes the indexes
			t.Fatal(err)
		}
		log.Info("one more, which closes a segment and drops another")
		log.Info("and again")
		segments, err := filepath.Glob(filepath.Join(paths.Log(), "om.log.*[0-9]"))
		if err != nil || len(segments) != logbook.Kept {
			t.Errorf("segments %v, %v, want %d", segments, err, logbook.Kept)
		}
		indexes, err := filepath.Glob(filepath.Join(paths.Log(), "*.idx"))
		if err != nil || len(indexes) == 0 || len(indexes) > logbook.Kept {
			t.Errorf("indexes %v, %v", indexes, err)
		}
	})

	t.Run("a line that was cut short takes no other with it", func(t *testing.T) {
		t.Parallel()
		paths := hosttest.Paths(t)
		book := logbook.Open(paths)
		log := slog.New(book.Handler("n1", slog.LevelInfo))
		log.Info("before")
		if _, err := book.Write([]byte(`{"at":"20`)); err != nil {
			t.Fatal(err)
		}
		log.Info("right behind")
		if _, err := book.Write([]byte("no line at all\n")); err != nil {
			t.Fatal(err)
		}
		log.Info("after")
		if got := messages(t, book, logbook.Filter{}); !slices.Equal(got, []string{"before", "right behind", "after"}) {
			t.Errorf("read %q", got)
		}
	})

	t.Run("lines that could not be written are counted and told", func(t *testing.T) {
		t.Parallel()
		paths := hosttest.Paths(t)
		book := logbook.Open(paths)
		log := slog.New(book.Handler("n1", slog.LevelInfo))
		obstacle := filepath.Join(paths.Log(), "om.log")
		if err := os.MkdirAll(obstacle, 0o755); err != nil {
			t.Fatal(err)
		}
		log.Info("lost")
		log.Info("lost too")
		if err := os.Remove(obstacle); err != nil {
			t.Fatal(err)
		}
		log.Info("kept")

		got, err := book.Read(logbook.Filter{}, 0)
		if err != nil || len(got) != 2 {
			t.Fatalf("read %v, %v, want two lines", got, err)
		}
		if told := string(got[0].Raw); got[0].Level != "warn" || got[0].Node != "n1" || !strings.Contains(told, `"lost":2`) {
			t.Errorf("told %s", told)
		}
		if got[1].Message != "kept" {
			t.Errorf("then %q", got[1].Message)
		}
	})

	t.Run("a filter no line can match reads nothing", func(t *testing.T) {
		t.Parallel()
		book := logbook.Open(hosttest.Paths(t))
		slog.New(book.Handler("n1", slog.LevelInfo)).Info("x")
		if got := messages(t, book, logbook.Filter{}.Where("path")); len(got) > 0 {
			t.Errorf("read %q", got)
		}
	})
}

func messages(t *testing.T, book *logbook.Book, f logbook.Filter) []string {
	t.Helper()
	lines, err := book.Read(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.Message)
	}
	return texts
}
