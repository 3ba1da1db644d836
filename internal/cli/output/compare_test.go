package output_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
)

func TestTemplatesCompareTextsThatAreNumbers(t *testing.T) {
	t.Parallel()
	data := map[string]any{"ten": "10", "nine": 9, "minute": "1m", "word": "abc", "none": "", "on": true}
	for test, want := range map[string]string{
		`ge .ten 9`: "true", `ge .ten .nine`: "true", `lt .ten .nine`: "false", `gt "9" "10"`: "false", `le .nine "9.0"`: "true",
		`ge .minute 60`: "true", `gt .minute "59s"`: "true",
		`ge .word 1`: "false", `lt .word 1`: "false", `ge .none 0`: "false", `ge .missing 0`: "false", `gt .word "abb"`: "true",
		`eq .ten 10`: "true", `eq .word "x" "abc"`: "true", `eq .on true`: "true", `ne .ten 10`: "false", `ne .word "x"`: "true",
	} {
		s, _, out, _ := iostreams.Test()
		if err := output.Write[struct{}](s, "template={{"+test+"}}", nil, nil, data); err != nil {
			t.Errorf("%s: %v", test, err)
		}
		if got := strings.TrimSpace(out.String()); got != want {
			t.Errorf("%s: %s, want %s", test, got, want)
		}
	}
}

// The example of the guide: the time-outs of the apps that are longer than a second.
func TestATemplateChoosesKeywords(t *testing.T) {
	t.Parallel()
	rows := []map[string]any{
		{"keyword": "app#1.timeout", "value": "5m"},
		{"keyword": "app#2.timeout", "value": "0"},
		{"keyword": "app#1.start", "value": "/bin/true"},
		{"keyword": "fs#1.timeout", "value": "10"},
		{"keyword": "app#3.timeout", "value": "30"},
	}
	s, _, out, _ := iostreams.Test()
	err := output.Write[struct{}](s, `template={{range .}}{{if and (hasPrefix .keyword "app#") (hasSuffix .keyword ".timeout") (ge .value 1)}}{{.keyword}} {{end}}{{end}}`, nil, nil, rows)
	if err != nil || strings.TrimSpace(out.String()) != "app#1.timeout app#3.timeout" {
		t.Errorf("%q, %v", out, err)
	}
}
