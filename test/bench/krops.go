package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

// kropss measures krops-bootstrap. What needs an API server is measured where the
// lab of krops has been built, see test/krops/lab/assets.
func kropss(ctx context.Context, b bench) ([]row, error) {
	program, err := filepath.Abs("bin/krops-bootstrap")
	if err != nil {
		return nil, err
	}
	// What a command costs that needs none of the libraries.
	rows, err := beside(ctx, b, runs, "krops-bootstrap", program, "--help", "60 ms", "-", "-")
	if err != nil {
		return rows, err
	}
	large, err := size("krops-bootstrap", program, "-")
	if err != nil {
		return rows, err
	}
	rows = append(rows, large)
	if _, missing := lab.Assets(); missing != nil {
		return append(rows, row{"a whole bootstrap of krops-bootstrap", "not measured: " + missing.Error(), "-"}), nil //nolint:nilerr // the other figures are worth something
	}
	lives, err := kropsLife(ctx, b)
	return append(rows, lives...), err
}

// kropsLife runs a bootstrap with its pivot, and the rerun that has nothing to do, on the
// control planes of the lab.
func kropsLife(ctx context.Context, b bench) (rows []row, err error) {
	program := filepath.Join(b.work, "krops-lab")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./test/krops/lab/cmd/krops-lab")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build krops-lab: %w: %s", err, text)
	}
	const clusters = 50 // of 10 objects each
	var many strings.Builder
	for i := range clusters {
		many.WriteString(lab.Cluster("default", fmt.Sprintf("more-%02d", i)))
	}
	w := &lab.World{Program: program}
	defer w.Close()
	if err := w.Make(ctx, filepath.Join(b.work, "krops"), lab.WorldOptions{Files: map[string]string{"mgmt/local-host/clusters/workload/more.yaml": many.String()}}); err != nil {
		return nil, err
	}
	for _, what := range []string{"bootstrap and pivot of 500 objects", "the same again, with nothing to do"} {
		_, wait, err := w.Execute(ctx, nil, "local-host")
		if err != nil {
			return rows, err
		}
		r, err := wait()
		if err == nil && r.Code != 0 {
			err = errors.New(r.String())
		}
		if err != nil {
			return rows, err
		}
		steps := len(r.Done())
		each := "-"
		if steps > 0 {
			each = milliseconds(r.CPU / time.Duration(steps))
		}
		rows = append(rows,
			row{"krops-bootstrap, " + what + ": wall", fmt.Sprintf("%.1f s, %d steps", r.Took.Seconds(), steps), "-"},
			row{"  processor time, in all and for each step", milliseconds(r.CPU) + ", " + each, "-"},
			row{"  memory", megabytes(r.Memory), "-"},
		)
	}
	return rows, nil
}
