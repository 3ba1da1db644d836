package local

import (
	"context"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	cmdinstance "github.com/holdfast-ops/holdfast/internal/om/command/instance"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Act implements instance.Local.
func (b *Backend) Act(ctx context.Context, c *verb.Call, p object.Path, a cmdinstance.Action) error {
	r, err := b.request(c, a)
	if err != nil {
		return err
	}
	if r.Action == instance.Clear {
		// The monitor of the daemon remembers the failure: nothing else does.
		_, err := b.ActOn(ctx, api.Localhost, p, a)
		if absent(err) {
			return nil
		}
		return err
	}
	return b.engine(c).Run(ctx, p, r)
}

// Confirmations implements instance.Confirmer.
func (b *Backend) Confirmations(ctx context.Context, p object.Path, a cmdinstance.Action) ([]string, error) {
	r, err := b.request(nil, a)
	if err != nil {
		return nil, err
	}
	return b.engine(nil).Confirmations(ctx, p, r)
}

// Session implements instance.Local.
func (b *Backend) Session() string { return b.session() }

// request is what the engine is asked, in the name of whoever started the command.
func (b *Backend) request(c *verb.Call, a cmdinstance.Action) (instance.Request, error) {
	r, err := instance.RequestOf(instance.Action(a.Name), a.InstanceAction)
	if err != nil {
		return r, err
	}
	env := b.o.Process.Env
	given, err := instance.DecodeEnv(env(instance.EnvVariable))
	if err != nil {
		return r, err
	}
	r.Env = append(given, r.Env...)
	r.DryRun = a.DryRun
	r.Session, r.Exec, r.Orchestration, r.Origin = b.session(), env("OSVC_EXEC_ID"), env("OSVC_ORCHESTRATION_ID"), b.origin()
	if c != nil {
		name, _, _ := strings.Cut(c.Line, " ")
		r.Command = append([]string{name}, b.o.Process.Args...)
	}
	return r, nil
}

// Plan implements instance.Local.
func (b *Backend) Plan(ctx context.Context, p object.Path, a cmdinstance.Action) ([]cmdinstance.Step, error) {
	r, err := b.request(nil, a)
	if err != nil {
		return nil, err
	}
	plan, err := b.engine(nil).Plan(ctx, p, r)
	if err != nil {
		return nil, err
	}
	steps := []cmdinstance.Step{}
	for _, set := range plan.Sets {
		name := set.Group
		if set.Subset != "" {
			name += ":" + set.Subset
		}
		for _, s := range set.Steps {
			steps = append(steps, cmdinstance.Step{
				Object: p.String(), Action: a.Name, Set: name, Parallel: set.Parallel, RID: s.RID, Verb: string(s.Verb), Skip: s.Skip,
			})
		}
	}
	return steps, nil
}

// ResourceInfo implements instance.Informer: the other nodes through the daemon.
func (b *Backend) ResourceInfo(ctx context.Context, p object.Path, rids []string, refresh bool) ([]api.ResourceInfoItem, error) {
	found, err := b.engine(nil).Info(ctx, p, instance.Request{Action: instance.Info, RID: rids}, refresh)
	if err != nil {
		return nil, err
	}
	items := make([]api.ResourceInfoItem, 0, len(found))
	for _, i := range found {
		items = append(items, api.ResourceInfoItem{Object: i.Object, Node: i.Node, Rid: i.RID, Key: i.Key, Value: i.Value})
	}
	return items, nil
}

// Enter implements instance.Enterer.
func (b *Backend) Enter(ctx context.Context, c *verb.Call, p object.Path, rid string) error {
	return b.talker(c).Enter(ctx, p, rid)
}

// Printed implements instance.Printer.
func (b *Backend) Printed(ctx context.Context, c *verb.Call, p object.Path, rid string, lines int, follow bool) error {
	return b.talker(c).Printed(ctx, p, rid, lines, follow)
}

// talker is an engine whose resources talk to whoever runs the command.
func (b *Backend) talker(c *verb.Call) *instance.Engine {
	e := b.engine(c)
	e.Terminal = host.Terminal{In: c.Streams.In, Out: c.Streams.Out, Err: c.Streams.Err}
	e.TTY = c.Streams.InTTY && c.Streams.OutTTY
	return e
}
