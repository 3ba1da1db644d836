package stamp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/resource/stamp"
)

func TestARunIsRememberedWhereTheNextOneLooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Date(2026, 3, 2, 4, 0, 0, 0, time.UTC)
	job := stamp.Job("run", "task#1")
	if run, success, err := stamp.In(dir).Last(job); err != nil || !run.IsZero() || !success.IsZero() {
		t.Errorf("never run: %s %s %v", run, success, err)
	}

	if err := stamp.In(dir).Mark(job, at); err != nil {
		t.Fatal(err)
	}
	if err := stamp.In(dir).Succeed(job, at.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}

	run, success, err := stamp.In(dir).Last(job)
	if err != nil || !run.Equal(at) || !success.Equal(at.Add(time.Minute)) {
		t.Errorf("%s %s %v", run, success, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "scheduler", "last_run_task#1.success")); err != nil {
		t.Error(err)
	}
}

func TestAJobWritesNowhereElse(t *testing.T) {
	t.Parallel()
	if err := stamp.In(t.TempDir()).Mark("run_../../x", time.Now()); err == nil || !strings.Contains(err.Error(), "no slash") {
		t.Errorf("error %v", err)
	}
}

func TestWhatCannotBeReadIsNotNever(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "scheduler"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if _, _, err := stamp.In(dir).Last("status"); err == nil {
		t.Error("no error")
	}
}
