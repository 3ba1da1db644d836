//go:build lab

package trial_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/test/om/bed"
	"github.com/holdfast-ops/holdfast/test/om/trial"
)

// programs are those of every trial, built once.
var programs map[string]string //nolint:gochecknoglobals // of all tests

func TestMain(m *testing.M) {
	bed.Main()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "holdfast-trial.")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		programs, err = trial.Build(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// These tests wait more than they compute.
	flag.Parse()
	if err := flag.Set("test.parallel", "5"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func begin(t *testing.T, conf string) *trial.Trial {
	t.Helper()
	return beginWith(t, bed.Options{}, conf)
}

func beginWith(t *testing.T, o bed.Options, conf string) *trial.Trial {
	t.Helper()
	o.Dir, o.Programs = t.TempDir(), programs
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := trial.New(ctx, o, conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			dir, err := os.MkdirTemp("", "holdfast-failed.") //nolint:usetesting // whoever mends it reads it
			t.Logf("%s\n%s: %v\n%s", c.Log(), dir, errors.Join(err, c.Evidence(dir)), c.Tails(40))
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
