package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// freeze freezes or unfreezes nodes.
type freeze struct {
	freezer Freezer
	frozen  bool
	nodes   string
}

func (z *freeze) Flags(f *pflag.FlagSet) {
	f.StringVar(&z.nodes, "node", "", "these `nodes`, this one by default")
	f.Bool("local", false, "")
	f.Lookup("local").Hidden = true
}

func (z *freeze) Run(ctx context.Context, _ *verb.Call) error {
	if z.nodes == "" {
		return z.freezer.FreezeNode(ctx, "", z.frozen)
	}
	nodes, err := z.freezer.ExpandNodes(ctx, z.nodes)
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range nodes {
		if err := z.freezer.FreezeNode(ctx, n, z.frozen); err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", n, err))
		}
	}
	return errors.Join(errs...)
}
