package run_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

func TestDeletionsAreCountedInTheDocumentedWords(t *testing.T) {
	t.Parallel()
	s, _, out, _ := iostreams.Test()
	text := run.NewText(s)
	defer text.Close()

	text.Event(run.Event{
		Name: run.Progress, Verb: "teardown", Step: plan.Step{ID: "wait-clusters", Waits: "every Cluster to be gone", Every: 30 * time.Second},
		Message: "2 cluster(s) still deleting...\ndefault/a: waiting for finalizer x\nteam/b: it is paused", Elapsed: 60 * time.Second, Budget: 20 * time.Minute,
	})

	want := ">>>   2 cluster(s) still deleting... (60s elapsed, checking again in 30s)\n>>>     default/a: waiting for finalizer x\n>>>     team/b: it is paused\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
