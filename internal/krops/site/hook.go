package site

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/kind"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// hook runs the task of the repository that follows the creation of the kind cluster,
// in the directory of the repository. It is told which cluster by the names that
// hold, for the ones written into a task are those of the default cluster.
func (s *Site) hook(ctx context.Context, _ plan.Step, v run.Voice) error {
	task, argv := s.Settings.Environment.PostKindCreateTask, s.Settings.Environment.Hook()
	if path, _ := s.env("PATH"); s.Runner == nil || !kind.InPath(path, argv[0]) {
		return fmt.Errorf("task '%s' needs %s, and there is none in PATH: install it, it is what runs tasks of the repository", task, argv[0])
	}
	kinds, err := s.kinds(ctx)
	if err != nil {
		return err
	}
	// The task finds the cluster through the context of the caller.
	if err := s.exportContext(ctx, kinds, v); err != nil {
		return fmt.Errorf("export the context of the kind cluster (if it cannot be exported, rerun with --recreate): %w", err)
	}
	told := []string{"KIND_NODE=" + kind.Node(s.Settings.KindCluster), "KIND_CONTEXT=" + s.Settings.KindContext}
	if e, err := s.engine(ctx); err == nil && e.Name == engine.Podman {
		told = append(told, "KIND_EXPERIMENTAL_PROVIDER="+engine.Podman)
	}
	_, err = s.Runner.Run(ctx, host.Cmd{
		Argv: argv, Dir: s.Root, Env: environment(s.Environ, told...),
		OnLine: func(_ bool, line string) { v.Print(line + "\n") },
	})
	if err != nil {
		return fmt.Errorf("post-kind-create task '%s' failed: %w", task, err)
	}
	return nil
}

// environment is a list of variables in which some are set anew.
func environment(list []string, set ...string) []string {
	var kept []string
	for _, pair := range list {
		name, _, _ := strings.Cut(pair, "=")
		again := false
		for _, other := range set {
			again = again || strings.HasPrefix(other, name+"=")
		}
		if !again {
			kept = append(kept, pair)
		}
	}
	return append(kept, set...)
}
