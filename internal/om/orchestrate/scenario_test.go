package orchestrate_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// Each file of testdata is a scenario: what it shows, how the object is
// configured, what happens, and the transcript of what the node does about it.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range a.Files {
				parts[f.Name] = string(f.Data)
			}

			toy := newToy(parts["config"])
			toy.settle()
			for line := range strings.Lines(parts["script"]) {
				toy.command(strings.TrimSpace(line))
			}

			got := toy.out.String()
			if *update {
				a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "transcript" })
				a.Files = append(a.Files, txtar.File{Name: "transcript", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(parts["transcript"], got); diff != "" {
				t.Errorf("%s: transcript (-want +got):\n%s", strings.TrimSpace(string(a.Comment)), diff)
			}
		})
	}
}
