package config_test

import (
	"io/fs"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// A conversion of a text; no want is a refusal.
type conversion[V any] struct {
	text string
	want V
	ok   bool
}

func good[V any](text string, want V) conversion[V] { return conversion[V]{text, want, true} }

func bad[V any](text string) conversion[V] { return conversion[V]{text: text} }

func convert[V any](t *testing.T, parse func(string) (V, error), cases ...conversion[V]) {
	t.Helper()
	for _, c := range cases {
		got, err := parse(c.text)
		if c.ok != (err == nil) {
			t.Errorf("%q: got %v, %v", c.text, got, err)
		}
		if diff := cmp.Diff(c.want, got); c.ok && diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

func TestConverters(t *testing.T) {
	t.Parallel()

	t.Run("bool", func(t *testing.T) {
		t.Parallel()
		convert(t, config.ParseBool,
			good("1", true), good("t", true), good("T", true), good("TRUE", true), good("true", true), good("True", true),
			good("0", false), good("f", false), good("F", false), good("FALSE", false), good("false", false), good("False", false),
			good("", false), good(" true ", true), bad[bool]("yes"), bad[bool]("on"), bad[bool]("2"))
	})
	t.Run("size", func(t *testing.T) {
		t.Parallel()
		convert(t, config.ParseSize,
			good("0", int64(0)), good("10", int64(10)), good("10m", int64(10485760)), good("10M", int64(10485760)), good("10mb", int64(10000000)),
			good("10mib", int64(10485760)), good("10MiB", int64(10485760)), good("1.5k", int64(1536)), good("0.1g", int64(107374182)),
			good(" 2g ", int64(2147483648)), good("7e", int64(7)<<60), good("9223372036854775807", int64(math.MaxInt64)), good("3b", int64(3)),
			bad[int64](""), bad[int64]("8e"), bad[int64]("1z"), bad[int64]("-1"), bad[int64]("10 m"), bad[int64]("50%"), bad[int64]("1.2.3k"),
			bad[int64]("."), bad[int64]("m"), bad[int64]("1mo"), bad[int64]("1e6"), bad[int64](strings.Repeat("9", 100)))
	})
	t.Run("duration", func(t *testing.T) {
		t.Parallel()
		convert(t, config.ParseDuration,
			good("10", 10*time.Second), good("1h30m", 90*time.Minute), good("500ms", 500*time.Millisecond), good("1.5s", 1500*time.Millisecond),
			good("2d", 48*time.Hour), good("1w", 168*time.Hour), good("1y", 365*24*time.Hour), good("3us", 3*time.Microsecond), good("3ns", time.Duration(3)),
			good("0", time.Duration(0)), good(" 5m ", 5*time.Minute), good("0.5", 500*time.Millisecond),
			bad[time.Duration](""), bad[time.Duration]("-1s"), bad[time.Duration]("1h30"), bad[time.Duration]("h"), bad[time.Duration]("1 h"),
			bad[time.Duration]("300y"), bad[time.Duration]("200y200y"), bad[time.Duration]("1x"), bad[time.Duration]("1e3"))
	})
	t.Run("shlex", func(t *testing.T) {
		t.Parallel()
		convert(t, config.ParseShlex,
			good[[]string]("", nil), good("a  b\tc\nd", []string{"a", "b", "c", "d"}), good(`'a b' "c d"`, []string{"a b", "c d"}),
			good(`a' b'"c "d`, []string{"a bc d"}), good(`a\ b \'`, []string{"a b", "'"}), good(`'' ""`, []string{"", ""}),
			good(`"a\"b\$c\d"`, []string{`a"b$c\d`}), good(`'a\'`, []string{`a\`}), good("a#b # c", []string{"a#b", "#", "c"}),
			bad[[]string](`'a`), bad[[]string](`"a`), bad[[]string](`a\`))
	})
	t.Run("umask", func(t *testing.T) {
		t.Parallel()
		convert(t, config.ParseUmask,
			good("022", fs.FileMode(0o022)), good("0077", fs.FileMode(0o077)), good("7", fs.FileMode(7)),
			bad[fs.FileMode](""), bad[fs.FileMode]("8"), bad[fs.FileMode]("1000"), bad[fs.FileMode]("-1"))
	})
	t.Run("file mode", func(t *testing.T) {
		t.Parallel()
		convert(t, config.ParseFileMode,
			good("644", fs.FileMode(0o644)), good("0755", fs.FileMode(0o755)),
			good("4755", fs.ModeSetuid|0o755), good("2755", fs.ModeSetgid|0o755), good("1777", fs.ModeSticky|0o777),
			good("7000", fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky),
			bad[fs.FileMode](""), bad[fs.FileMode]("44"), bad[fs.FileMode]("10000"), bad[fs.FileMode]("888"), bad[fs.FileMode]("u+s"), bad[fs.FileMode]("+644"))
	})
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 1000: "1000", 1024: "1k", 1536: "1536", 10485760: "10m", 1 << 60: "1e", math.MaxInt64: "9223372036854775807"} {
		if got := config.FormatSize(n); got != want {
			t.Errorf("%d bytes print %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", 90 * time.Minute: "1h30m", 36 * time.Hour: "1d12h", 1500 * time.Millisecond: "1s500ms", 1001: "1us1ns"} {
		if got := config.FormatDuration(d); got != want {
			t.Errorf("%d ns print %q, want %q", d, got, want)
		}
	}
}

// lawInverse: what prints reads back.
func lawInverse[V comparable](v V, format func(V) string, parse func(string) (V, error)) bool {
	text := format(v)
	got, err := parse(text)
	return err == nil && got == v && !strings.ContainsAny(text, "eE+") || strings.HasSuffix(text, "e") && got == v
}

func TestFormatsAreInverses(t *testing.T) {
	t.Parallel()
	amount := rapid.Custom(func(t *rapid.T) int64 {
		n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "n")
		return n >> rapid.IntRange(0, 62).Draw(t, "shift") << rapid.IntRange(0, 20).Draw(t, "zeros") & math.MaxInt64
	})
	rapid.Check(t, func(t *rapid.T) {
		n := amount.Draw(t, "n")
		if !lawInverse(n, config.FormatSize, config.ParseSize) {
			t.Fatalf("%d prints %q", n, config.FormatSize(n))
		}
		if d := time.Duration(n); !lawInverse(d, config.FormatDuration, config.ParseDuration) {
			t.Fatalf("%d prints %q", n, config.FormatDuration(d))
		}
	})

	t.Run("rounding breaks the law", func(t *testing.T) {
		t.Parallel()
		rounded := func(d time.Duration) string { return config.FormatDuration(d.Round(time.Millisecond)) }
		if lawInverse(1001*time.Microsecond, rounded, config.ParseDuration) {
			t.Error("the law holds")
		}
	})
}
