package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Placer is a backend that reaches the configuration of each node.
type Placer interface {
	verb.Backend
	ExpandNodes(ctx context.Context, selector string) ([]string, error)
	// At is the backend for which the zero path is the configuration of a node.
	At(node string) verb.Backend
}

// placed gives commands on the configuration of the node the choice of the node.
func placed(verbs []verb.Verb) []verb.Verb {
	for i, v := range verbs {
		verbs[i].New = func(b verb.Backend) verb.Runner {
			here := v.New(b)
			placer, ok := b.(Placer)
			if here == nil || !ok {
				return here
			}
			return &place{verb: v, here: here, placer: placer}
		}
	}
	return verbs
}

// place runs a command here, or as it is on other nodes.
type place struct {
	verb   verb.Verb
	here   verb.Runner
	placer Placer
	given  *pflag.FlagSet
	nodes  string
}

func (p *place) Flags(f *pflag.FlagSet) {
	p.given = f
	p.here.Flags(f)
	f.StringVar(&p.nodes, "node", "", "of these `nodes`, this one by default")
}

func (p *place) Run(ctx context.Context, c *verb.Call) error {
	if p.nodes == "" {
		return p.here.Run(ctx, c)
	}
	nodes, err := p.placer.ExpandNodes(ctx, p.nodes)
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range nodes {
		if err := p.on(ctx, c, n); err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", n, err))
		}
	}
	return errors.Join(errs...)
}

// on runs the command, with the flags it was given, on the configuration of a node.
func (p *place) on(ctx context.Context, c *verb.Call, node string) error {
	there := p.verb.New(p.placer.At(node))
	if there == nil {
		return fmt.Errorf("%s is only for the node it is run on", p.verb.Path)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	there.Flags(flags)
	var err error
	p.given.Visit(func(f *pflag.Flag) {
		to := flags.Lookup(f.Name)
		if to == nil || err != nil {
			return
		}
		if from, ok := f.Value.(pflag.SliceValue); ok {
			list, isList := to.Value.(pflag.SliceValue)
			if isList {
				err = list.Replace(from.GetSlice())
			}
			return
		}
		err = flags.Set(f.Name, f.Value.String())
	})
	if err != nil {
		return err
	}
	return there.Run(ctx, c)
}
