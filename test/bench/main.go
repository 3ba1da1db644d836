// Command bench measures the om, the koc and the krops-bootstrap of bin/, from the outside, and prints the
// figures beside their aims:
//
//	make bench
//	go run ./test/bench objects     only the daemon with many objects
//	go run ./test/bench cluster     only the cluster of three nodes
//	go run ./test/bench join        only a node that joins and leaves
//
// Start-up is given as a ratio to a Go process that only says hello, so that it
// can be compared between machines. Everything happens under roots of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/test/om/bed"
)

func main() {
	bed.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is a figure and what it should be.
type row struct{ what, figure, aim string }

func run(ctx context.Context, out io.Writer, only []string) (err error) {
	om, err := filepath.Abs("bin/om")
	if err != nil {
		return err
	}
	if _, err := os.Stat(om); err != nil {
		return fmt.Errorf("%w: run make build first", err)
	}
	work, err := os.MkdirTemp("", "holdfast-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	hello := filepath.Join(work, "hello")
	if err := build(ctx, hello, "./test/bench/hello"); err != nil {
		return err
	}

	var rows []row
	for _, m := range []struct {
		name string
		of   func(ctx context.Context, b bench) ([]row, error)
	}{{"start", startUp}, {"actions", actions}, {"memory", fewObjects}, {"objects", manyObjects}, {"cluster", clusters}, {"join", joins}, {"koc", kocs}, {"krops", kropss}} {
		if len(only) > 0 && !slices.Contains(only, m.name) {
			continue
		}
		found, err := m.of(ctx, bench{om: om, hello: hello, work: work})
		rows = append(rows, found...)
		if err != nil {
			return errors.Join(err, report(out, rows))
		}
	}
	return report(out, append(rows, load()))
}

// build makes a static program.
func build(ctx context.Context, to, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, text)
	}
	return nil
}

// load says how busy the machine was: the times are worth what it was.
func load() row {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return row{"load average", "unknown", "-"}
	}
	return row{"load average of the last minute", strings.Fields(string(text))[0], "less than 1"}
}

func report(out io.Writer, rows []row) error {
	columns := []output.Column[row]{
		{Name: "FIGURE", Value: func(r row) any { return r.what }},
		{Name: "MEASURED", Value: func(r row) any { return r.figure }},
		{Name: "AIM", Value: func(r row) any { return r.aim }},
	}
	return output.Write(&iostreams.Streams{Out: out}, "", columns, rows, nil)
}
