//go:build lab

package trial_test

import (
	"context"
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
	return m.Run()
}

func begin(t *testing.T, conf string) *trial.Trial {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := trial.New(ctx, bed.Options{Dir: t.TempDir(), Programs: programs}, conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Log())
			for _, n := range c.Nodes() {
				b, _ := os.ReadFile(n.DaemonLog())
				t.Logf("%s:\n%s", n.Name, b)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestTry(t *testing.T) {
	c := begin(t, trial.Short)
	for _, n := range c.Nodes() {
		out, err := n.Run(t.Context(), "sh", "-c", "om mon; om cluster status -o json; om daemon hb status")
		t.Log(out, err)
	}
}
