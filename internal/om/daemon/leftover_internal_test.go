package daemon

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
)

func TestOnlyTheOldTemporariesOfTheAgentAreRemoved(t *testing.T) {
	t.Parallel()
	paths := host.Paths{Root: t.TempDir()}
	began := time.Now()
	kept, gone := []string{}, []string{}
	put := func(list *[]string, name string, age time.Duration) {
		file := filepath.Join(paths.Var(), name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, began.Add(-age), began.Add(-age)); err != nil {
			t.Fatal(err)
		}
		if list != nil {
			*list = append(*list, name)
		}
	}
	const old = time.Hour
	put(&gone, "svc/web/.status.json.1234", old)
	put(&gone, "svc/web/app#1/.provisioned.99", old)
	put(&gone, "namespaces/ns1/vol/data/.status.json.1", old)
	put(&gone, "namespaces/ns1/svc/web/task#1/.last_run77", old)
	put(&gone, "node/.sysreport-sums.json123", old)
	put(&gone, "history/.execs5", old)
	put(&kept, "svc/web/status.json", old)
	put(&kept, "svc/web/.status.json.1235", time.Second) // of a command that runs beside
	put(&kept, "svc/web/.status.json.", old)
	put(&kept, "svc/web/.status.json.12x", old)
	put(&kept, "svc/web/.notes.1234", old)
	put(&kept, "pool/directory/data/.status.json.1234", old) // of a volume
	put(&kept, "svc/web/app#1/deep/.status.json.1234", old)
	if err := os.Symlink("status.json", filepath.Join(paths.Var(), "svc/web/.status.json.4")); err != nil {
		t.Fatal(err)
	}
	kept = append(kept, "svc/web/.status.json.4")

	removeLeftovers(paths, began, slog.New(slog.DiscardHandler))

	var left []string
	err := filepath.WalkDir(paths.Var(), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(paths.Var(), name)
			left = append(left, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(kept)
	slices.Sort(left)
	if diff := cmp.Diff(kept, left); diff != "" {
		t.Errorf("(-kept +left, of which %v are to go):\n%s", gone, diff)
	}
}
