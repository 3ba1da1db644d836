package bed

import (
	"context"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// cleanUp is the janitor: it waits for the end of the process that made the bed, then
// removes the files and the control groups.
func cleanUp(dir, group string) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	_, _ = io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if group != "" {
		err := retry.Until(ctx, often, func(context.Context) (bool, error) { return removeGroup(group), nil })
		if err != nil {
			return err
		}
	}
	return retry.Until(ctx, often, func(context.Context) (bool, error) { return os.RemoveAll(dir) == nil, nil })
}

// removeGroup ends what is left in a control group and removes it with those below.
func removeGroup(group string) bool {
	_ = os.WriteFile(filepath.Join(group, "cgroup.kill"), []byte("1"), 0o600)
	var dirs []string
	_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	slices.SortFunc(dirs, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, d := range dirs {
		_ = os.Remove(d)
	}
	_, err := os.Stat(group)
	return os.IsNotExist(err)
}
