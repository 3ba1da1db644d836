//go:build lab_openstack

package lab_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/test/koc/lab"
)

// TestOwnVoice compares what koc prints in its own voice with ../golden, which
// GOLDEN_UPDATE=1 rewrites. Other data than that of seed would show: it runs
// where the cloud is fresh, LAB_FRESH=1.
//
//nolint:paralleltest // what other tests write would show in the lists
func TestOwnVoice(t *testing.T) {
	if os.Getenv("LAB_FRESH") == "" {
		return
	}
	koc, _ := start(t)
	b, err := os.ReadFile("golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		argv, err := lab.Words(line)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, format := range []string{"table", "json", "yaml", "value"} {
			r, err := koc.Run(t.Context(), append(argv, "-f", format)...)
			if err != nil {
				t.Fatal(err)
			}
			if r.Code != 0 {
				t.Errorf("%s: exit code %d: %s", line, r.Code, r.Err)
			}
			all.WriteString("$ koc " + line + " -f " + format + "\n" + lasting(r.Out))
		}
		file := filepath.Join("..", "golden", regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(line, "-")+".txt")
		if os.Getenv("GOLDEN_UPDATE") != "" {
			if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		} else if string(want) != all.String() {
			t.Errorf("%s: not as in %s:\n%s", line, file, all.String())
		}
	}
}

// lasting replaces what is another on each cloud by text of the same width.
func lasting(s string) string {
	for _, p := range []string{
		`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
		`\b[0-9a-f]{32}\b`,
		`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?`,
	} {
		s = regexp.MustCompile(p).ReplaceAllStringFunc(s, func(m string) string {
			return regexp.MustCompile(`[0-9a-f]`).ReplaceAllString(m, "0")
		})
	}
	// Some ids look like numbers, and only then YAML quotes them.
	return regexp.MustCompile(`'(0{32})'`).ReplaceAllString(s, "$1")
}
