package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/move"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// leavePart is what must hold before the kind cluster goes.
func (s *Site) leavePart() part {
	return part{steps: map[string]func(context.Context, plan.Step, run.Voice) error{"safety-check": s.safetyCheck}}
}

// safetyCheck makes sure that the management cluster stands alone.
func (s *Site) safetyCheck(ctx context.Context, _ plan.Step, _ run.Voice) error {
	c, err := s.target(ctx)
	if err != nil {
		return err
	}
	list, err := c.List(ctx, kube.CAPICluster, s.mgmtNamespace())
	if err != nil {
		return fmt.Errorf("cannot list the Clusters on the management cluster; refusing to delete kind: %w", err)
	}
	if len(list) == 0 {
		return errors.New("no Clusters on the management cluster; refusing to delete kind")
	}
	partial, err := move.Partial(ctx, c, s.mgmtNamespace())
	if err != nil {
		return fmt.Errorf("cannot tell whether the move is complete; refusing to delete kind: %w", err)
	}
	if partial {
		return errors.New("the move to the management cluster is not complete; refusing to delete kind")
	}
	left, err := move.Paused(ctx, c, s.mgmtNamespace())
	if err != nil {
		return fmt.Errorf("cannot tell whether the moved Clusters run; refusing to delete kind: %w", err)
	}
	if len(left) > 0 {
		return fmt.Errorf("%s is still paused by the move; refusing to delete kind", strings.Join(left, ", "))
	}
	if !s.Settings.Local() {
		return nil
	}
	if status, err := s.probeRegistry(ctx); err != nil || status >= http.StatusBadRequest {
		return errors.New("local registry unavailable; refusing to delete kind")
	}
	return nil
}
