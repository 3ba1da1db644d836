package logbook_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
)

// fill writes lines about a few sessions and objects over several segments.
func fill(t rapid.TB, book *logbook.Book, lines int, draw func(n int) int) {
	t.Helper()
	log := slog.New(book.Handler("n1", slog.LevelDebug))
	for i := range lines {
		attrs := []any{slog.String("object", "svc"+strconv.Itoa(draw(4))), slog.String("sid", "s"+strconv.Itoa(draw(6)))}
		if draw(3) == 0 {
			attrs = append(attrs, slog.String("oid", "o"+strconv.Itoa(draw(3))))
		}
		if draw(5) == 0 {
			attrs = append(attrs, slog.String("resource", "app#"+strconv.Itoa(draw(2))))
		}
		log.Log(nil, slog.Level(4*(draw(3)-1)), "line "+strconv.Itoa(i), attrs...) //nolint:sloglint,staticcheck // the number is the test
	}
}

func filters(draw func(n int) int) logbook.Filter {
	var f logbook.Filter
	if draw(2) == 0 {
		f.Level = logbook.Levels()[draw(4)]
	}
	for _, field := range []struct {
		name, prefix string
		n            int
	}{{"path", "svc", 5}, {"sid", "s", 7}, {"oid", "o", 4}, {"rid", "app#", 3}} {
		if draw(3) == 0 {
			f = f.Where(field.name, field.prefix+strconv.Itoa(draw(field.n)))
		}
	}
	return f
}

// What the store answers is what a look at every line finds.
func indexLaw(book *logbook.Book, draw func(n int) int) error {
	all, err := book.Read(logbook.Filter{}, 0)
	if err != nil {
		return err
	}
	f := filters(draw)
	var want []string
	for _, l := range all {
		if f.Match(l) {
			want = append(want, l.Message)
		}
	}
	lines := draw(30)
	if lines > 0 && len(want) > lines {
		want = want[len(want)-lines:]
	}
	found, err := book.Read(f, lines)
	if err != nil {
		return err
	}
	var got []string
	for _, l := range found {
		got = append(got, l.Message)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("filter %+v of the last %d lines finds %q, want %q", f, lines, got, want)
	}
	return nil
}

func TestTheIndexHidesNoLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "draw") }
		book := logbook.Open(host.Paths{Root: filepath.Join(dir, strconv.Itoa(n))}).WithMaxSize(int64(300 + draw(1500)))
		fill(t, book, 8+draw(16), draw)
		for range 2 { // the second time the indexes are there
			if err := indexLaw(book, draw); err != nil {
				t.Fatal(err)
			}
		}
		if err := book.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAnIndexThatForgetsBreaksTheLaw(t *testing.T) {
	t.Parallel()
	seed := 1
	draw := func(n int) int { seed = (seed*1103515245 + 12345) % (1 << 31); return seed >> 8 % n % n }
	book := logbook.Open(host.Paths{Root: t.TempDir()}).WithMaxSize(1000)
	fill(t, book, 50, draw)
	if err := book.Blind(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if indexLaw(book, draw) != nil {
			return
		}
	}
	t.Error("blind indexes are not noticed")
}

func TestAnIndexOfAnotherTimeIsMadeAgain(t *testing.T) {
	t.Parallel()
	paths := host.Paths{Root: t.TempDir()}
	book := logbook.Open(paths).WithMaxSize(400)
	log := slog.New(book.Handler("n1", slog.LevelInfo))
	for i := range 8 {
		log.Info("x", slog.String("sid", "s"+strconv.Itoa(i)))
	}
	find := func(sid string) int { return len(messages(t, book, logbook.Filter{}.Where("sid", sid))) }
	if find("s0") != 1 {
		t.Fatal("the first line is gone")
	}
	closed := filepath.Join(paths.Log(), "om.log.000001")
	if _, err := os.Stat(closed + ".idx"); err != nil {
		t.Error("no index was kept:", err)
	}
	for name, spoil := range map[string]func() error{
		"the segment got a line late": func() error {
			f, err := os.OpenFile(closed, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(f, `{"at":%q,"level":"info","sid":"late","message":"x"}`+"\n", time.Now().Format(time.RFC3339Nano))
			if err != nil {
				return err
			}
			return f.Close()
		},
		"the index is damaged": func() error { return os.WriteFile(closed+".idx", []byte("omlogix1 and rubbish"), 0o600) },
		"the index is gone":    func() error { return os.Remove(closed + ".idx") },
	} {
		if err := spoil(); err != nil {
			t.Fatal(name, err)
		}
		if find("s0") != 1 {
			t.Errorf("%s: the first line is not found", name)
		}
	}
	if find("late") != 1 {
		t.Error("the late line is not found")
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("omlogix1"), int64(0))
	f.Add(make([]byte, 28+32+256), int64(1))
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		if n, ok := logbook.DecodeIndex(data, size); ok && n*100 > len(data) {
			t.Errorf("%d blocks in %d bytes", n, len(data))
		}
	})
}
