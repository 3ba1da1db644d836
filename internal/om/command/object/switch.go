package object

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Switcher enables and disables objects and resources.
type Switcher interface {
	Disable(ctx context.Context, p object.Path, f Resources, disabled bool) error
}

// Resources selects resources of an object; the object itself when it is empty.
type Resources struct{ RID, Subset, Tag []string }

// Switches returns the commands that enable and disable.
func Switches() []verb.Verb {
	kinds := []object.Kind{object.KindSvc}
	return []verb.Verb{
		{
			Path: "disable", Group: "actions", Kinds: kinds, Short: "Set the disable keyword: actions leave the object, or the resources, alone",
			Example: "om web1 disable --rid fs#2",
			New:     verb.Needs(func(s Switcher) verb.Runner { return &switches{switcher: s, disabled: true} }),
		},
		{
			Path: "enable", Group: "actions", Kinds: kinds, Short: "Remove the disable keyword",
			New: verb.Needs(func(s Switcher) verb.Runner { return &switches{switcher: s} }),
		},
	}
}

type switches struct {
	switcher  Switcher
	disabled  bool
	resources Resources
}

func (s *switches) Flags(f *pflag.FlagSet) {
	f.StringSliceVar(&s.resources.RID, "rid", nil, "these resources: ids, driver groups or globs")
	f.StringSliceVar(&s.resources.Tag, "tag", nil, "the resources having these tags: a+b for both, a,b for either")
	f.StringSliceVar(&s.resources.Subset, "subset", nil, "the resources of these subsets")
	for alias, of := range map[string]*[]string{"tags": &s.resources.Tag, "subsets": &s.resources.Subset} {
		f.StringSliceVar(of, alias, nil, "")
		f.Lookup(alias).Hidden = true
	}
}

func (s *switches) Run(ctx context.Context, c *verb.Call) error {
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range paths {
		if err := s.switcher.Disable(ctx, p, s.resources, s.disabled); err != nil {
			if !strings.Contains(err.Error(), p.String()) {
				err = fmt.Errorf("%s: %w", p, err)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
