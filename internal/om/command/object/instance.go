package object

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// instanceForm is an orchestrated action restricted to instances or to
// resources, as in "om web stop --rid fs#2": the flags that say so are those of
// the action on instances, and what is done is that action.
type instanceForm struct {
	action verb.Runner
	own    *pflag.FlagSet // of the action on instances
	given  *pflag.FlagSet // of the command
	only   []string       // those of own that the orchestrated action has not
}

// onInstance returns the form of an action, nil when instances have none.
func onInstance(name string, b verb.Backend) *instanceForm {
	if action := instance.Form(name, b); action != nil {
		return &instanceForm{action: action}
	}
	return nil
}

// bind adds the flags of the action on instances, accepted and not shown.
func (i *instanceForm) bind(f *pflag.FlagSet) {
	i.given, i.own = f, pflag.NewFlagSet("", pflag.ContinueOnError)
	i.action.Flags(i.own)
	i.own.VisitAll(func(flag *pflag.Flag) {
		if f.Lookup(flag.Name) != nil {
			return
		}
		i.only = append(i.only, flag.Name)
		hidden := *flag
		hidden.Hidden = true
		f.AddFlag(&hidden)
	})
}

// asked tells whether the command is about instances.
func (i *instanceForm) asked() bool {
	for _, name := range i.only {
		if f := i.given.Lookup(name); f.Changed && f.Value.String() != "false" {
			return true
		}
	}
	return false
}

// run does the action on instances, with the flags both have.
func (i *instanceForm) run(ctx context.Context, c *verb.Call) error {
	var err error
	i.given.Visit(func(f *pflag.Flag) {
		shared := i.own.Lookup(f.Name)
		if shared == nil || shared.Value == f.Value || err != nil {
			return
		}
		if setErr := i.own.Set(f.Name, f.Value.String()); setErr != nil {
			err = fmt.Errorf("--%s: %w", f.Name, setErr)
		}
	})
	if err != nil {
		return err
	}
	return i.action.Run(ctx, c)
}
