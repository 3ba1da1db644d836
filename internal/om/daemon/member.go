package daemon

import (
	"context"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
)

// drainWith drains this node, and returns once it is drained.
func drainWith(nodes httpd.NodeActions) func(context.Context) error {
	return func(ctx context.Context) error {
		id, err := nodes.Ask(orchestrate.Drained)
		if err != nil {
			return err
		}
		o, err := nodes.Wait(ctx, id)
		switch {
		case err != nil:
			return fmt.Errorf("orchestration %s: %w", id, err)
		case o.State != api.StateSucceeded:
			return fmt.Errorf("orchestration %s %s: %s", id, o.State, o.Reason)
		}
		return nil
	}
}

// running tells what runs, or waits for its turn, for the objects of this node.
func running(x *executor.Executor) func() []string {
	return func() []string {
		var commands []string
		for _, r := range x.Records(func(r executor.Record) bool {
			return !r.Path.IsZero() && (r.State == executor.Queued || r.State == executor.Running)
		}) {
			commands = append(commands, r.Command+" is running")
		}
		return commands
	}
}
