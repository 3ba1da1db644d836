package simulate_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/simulate"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// Each file of testdata is a scenario: what it shows, the cluster and its objects,
// what happens, and the transcript of what the nodes do about it.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 1 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := simulate.ParseScenario(data)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}

			r, err := s.Run(simulate.Options{})
			if err != nil {
				t.Fatal(err)
			}

			for _, unmet := range r.Unmet {
				t.Errorf("%s: %s", file, unmet)
			}
			for _, v := range r.Violations {
				t.Errorf("%s: %s", file, v)
			}
			if *update && !t.Failed() {
				if err := os.WriteFile(file, s.Format(r.Transcript), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(s.Transcript, r.Transcript); diff != "" {
				t.Errorf("%s: transcript (-want +got):\n%s", s.Title, diff)
			}
		})
	}
}
