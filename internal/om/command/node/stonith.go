package node

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Fencer fences nodes.
type Fencer interface {
	// Stonith fences a node, or has it taken for fenced, and says what it did.
	Stonith(ctx context.Context, node string, confirmed bool) (said string, err error)
}

// stonith fences a node.
type stonith struct {
	fencer    Fencer
	node      string
	confirmed bool
}

func (s *stonith) Flags(f *pflag.FlagSet) {
	f.StringVar(&s.node, "node", "", "the `node` to fence")
	f.BoolVar(&s.confirmed, "confirmed", false, "run nothing: the node is off for sure")
}

func (s *stonith) Run(ctx context.Context, c *verb.Call) error {
	if s.node == "" {
		return app.Usage("say which node: --node <name>")
	}
	said, err := s.fencer.Stonith(ctx, s.node, s.confirmed)
	if err == nil {
		c.Say(said)
	}
	return err
}
