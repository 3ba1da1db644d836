//go:build lab_openstack

package lab_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfast-ops/holdfast/test/koc/lab"
)

// The cloud runs and has its data: make lab-openstack sees to it.

// TestReadsAreThoseOfTheOpenstackClient compares every line of reads.txt.
//
//nolint:paralleltest // what other tests write would show in the lists
func TestReadsAreThoseOfTheOpenstackClient(t *testing.T) {
	koc, oracle := start(t)
	koc.Compat = true
	var out bytes.Buffer
	c := lab.Comparison{Dir: ".", Koc: koc, Oracle: oracle, Parallel: 2, Out: &out}
	totals, err := c.Do(t.Context())
	t.Log("\n" + out.String())
	if err != nil {
		t.Fatal(err)
	}
	if totals.Commands == 0 {
		t.Error("no line of reads.txt ran")
	}
	if totals.Differ > 0 {
		t.Errorf("%d command lines differ and are not in accepted.txt", totals.Differ)
	}
}

// TestWritesAreSeenByTheOpenstackClient takes the steps of writes.txt.
//
//nolint:paralleltest // as above
func TestWritesAreSeenByTheOpenstackClient(t *testing.T) {
	koc, oracle := start(t)
	koc.Compat = true
	w := lab.Writes{Dir: ".", Koc: koc, Oracle: oracle}
	cases, err := w.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Service+"/"+c.Name, func(t *testing.T) {
			if err := w.Do(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
}

// start builds koc and starts the oracle.
func start(t *testing.T) (lab.Koc, *lab.Oracle) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "koc")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/holdfast-ops/holdfast/cmd/koc")
	if b, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	t.Setenv("OS_CLIENT_CONFIG_FILE", filepath.Join(lab.CloudDir(), "clouds.yaml"))
	t.Setenv("OS_CLOUD", "test")
	if _, err := os.Stat(os.Getenv("OS_CLIENT_CONFIG_FILE")); err != nil {
		t.Fatalf("no cloud: start it with test/koc/lab/cloud-up: %v", err)
	}
	// not t.Context, which ends before the cleanup
	ctx, cancel := context.WithCancel(context.Background())
	oracle, err := lab.StartOracle(ctx, ".", filepath.Join(lab.CloudDir(), "compare-cache"), false, 2)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := oracle.Close(); err != nil {
			t.Error(err)
		}
		cancel()
	})
	return lab.Koc{Path: path}, oracle
}
