package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/resource/process"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"/bin/x a 'b c' \"d\"":      {"/bin/x", "a", "b c", "d"},
		"a | b":                     {"/bin/sh", "-c", "a | b"},
		"a && b":                    {"/bin/sh", "-c", "a && b"},
		"a; b":                      {"/bin/sh", "-c", "a; b"},
		"touch a > $HOME *":         {"touch", "a", ">", "$HOME", "*"},
		"sleep 10 &":                {"sleep", "10", "&"},
		"echo 'a;b' is for a shell": {"/bin/sh", "-c", "echo 'a;b' is for a shell"},
	} {
		got, err := process.Parse(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for _, bad := range []string{"", "  ", "a 'b"} {
		if _, err := process.Parse(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestVerb(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value, script, want string
		ok, fails           bool
	}{
		{"", "/s", "", false, false},
		{"false", "/s", "", false, false},
		{"true", "/s", "/s check", true, false},
		{"True", "/s", "/s check", true, false},
		{"true", "", "", false, true},
		{"/bin/x y", "/s", "/bin/x y", true, false},
	} {
		got, ok, err := process.Verb(c.value, c.script, "check")
		if got != c.want || ok != c.ok || (err != nil) != c.fails {
			t.Errorf("Verb(%q, %q) = %q, %v, %v", c.value, c.script, got, ok, err)
		}
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"there":        {"run", filepath.Join(dir, "run")},
		"not there":    {"walk", "walk"},
		"absolute":     {"/bin/run", "/bin/run"},
		"the dir":      {".", "."},
		"by its place": {"./run", filepath.Join(dir, "run")},
	} {
		if got := process.In(dir, []string{c[0], "x"}); got[0] != c[1] || got[1] != "x" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRetCodes(t *testing.T) {
	t.Parallel()
	codes, err := process.ParseRetCodes(" 0:up  1:down 3:n/a 4:warn ")
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[int]cluster.Status{0: cluster.Up, 1: cluster.Down, 3: cluster.NotApplicable, 4: cluster.Warn, 5: cluster.Warn} {
		got, remark := codes.Status(code)
		if got != want || (remark != nil) != (code == 5) {
			t.Errorf("status of %d: %s, %v", code, got, remark)
		}
	}
	for _, bad := range []string{"up", "0:", "x:up", "0:nope", "-1:up", "256:up"} {
		if _, err := process.ParseRetCodes(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"/bin/x 'a b'", "a|b", "", "a 'b", "\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if argv, err := process.Parse(s); err == nil && len(argv) == 0 {
			t.Errorf("%q: no command and no error", s)
		}
	})
}
