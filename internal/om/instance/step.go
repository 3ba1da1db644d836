package instance

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// perform does one verb on one resource.
func (x *execution) perform(ctx context.Context, m *member, verb Action) error {
	if err := x.ready(m); err != nil {
		if (verb == Stop || verb == Shutdown || verb == Boot) && !errors.Is(err, config.ErrPostponed) {
			// The rest must be stopped all the same.
			m.env.Warnf("skipped: %s", err)
			x.warnings.Store(true)
			return nil
		}
		if verb == Stop || verb == Shutdown || verb == Boot {
			return nil // what it depends on is not there: neither is it
		}
		return err
	}
	switch verb {
	case Start, StartStandby:
		return x.start(ctx, m)
	case Stop, Shutdown:
		return x.stop(ctx, m)
	case Boot:
		if b, ok := m.Driver.(resource.Booter); ok {
			return b.Boot(ctx)
		}
		return nil
	case Run:
		return x.run(ctx, m)
	case Provision:
		return x.provision(ctx, m)
	case Unprovision, Purge:
		return x.unprovision(ctx, m)
	case Restart, Freeze, Unfreeze, Clear, Delete, Info, Install:
	}
	return fmt.Errorf("%s is not done resource by resource", verb)
}

// skipped keeps the flags of a resource nothing is done to.
func (x *execution) skipped(m *member, s Step) error {
	switch {
	case m.Common.Disable:
		return nil
	case s.Verb == Start:
		return lower(x.flags.stoppedResource(m.RID))
	case (s.Verb == Stop || s.Verb == Shutdown) && s.Skip != "standby":
		x.flagStopped(m)
		return x.ungroup(m)
	}
	return nil
}

// flagStopped remembers that a resource was stopped by its name, so that the
// daemon does not restart it; a whole stop says nothing of one resource. A full
// disk must not keep it up.
func (x *execution) flagStopped(m *member) {
	if err := set(x.flags.stoppedResource(m.RID), x.request.selects() && x.request.Action == Stop); err != nil {
		m.env.Warnf("stopped flag: %s: the daemon may start the resource again", err)
		x.warnings.Store(true)
	}
}

func (x *execution) start(ctx context.Context, m *member) error {
	if err := lower(x.flags.stoppedResource(m.RID)); err != nil {
		return err
	}
	driver, ok := m.Driver.(resource.Starter)
	if !ok {
		return nil
	}
	if isUp(m.Driver.Status(ctx).Status) {
		m.env.Infof("already up")
		return nil
	}
	if err := x.require(ctx, m, "start", m.Common.StartRequires); err != nil {
		return err
	}
	x.ungrouped(m)
	err := x.triggered(ctx, m, "start", func() error {
		undo := x.undo.add(m, x.unstart)
		err := driver.Start(ctx)
		if untouched(err) {
			undo.cancel()
		}
		return err
	})
	if up, ok := errors.AsType[*resource.AlreadyUpError](err); ok {
		m.env.Infof("%s", up)
		return x.flagMade(m)
	}
	if err != nil {
		return errors.Join(err, x.ungroup(m)) // nothing may have come of it
	}
	return x.flagMade(m)
}

// untouched reports whether a start started nothing: what runs is not its own, and
// not for it to undo.
func untouched(err error) bool {
	_, up := errors.AsType[*resource.AlreadyUpError](err)
	_, refused := errors.AsType[*resource.UntouchedError](err)
	return up || refused
}

// flagMade flags provisioned what was not flagged and yet started.
func (x *execution) flagMade(m *member) error {
	if _, ok := m.Driver.(resource.Provisioner); !ok || x.flags.provisioned(m.RID).State == cluster.ProvisionedTrue {
		return nil
	}
	return x.flags.setProvisioned(m.RID, true)
}

// unstart undoes a start, whole or cut short.
func (x *execution) unstart(ctx context.Context, m *member) error {
	stopper, ok := m.Driver.(resource.Stopper)
	if !ok {
		return nil
	}
	return errors.Join(stopper.Stop(ctx), x.ungroup(m))
}

func (x *execution) stop(ctx context.Context, m *member) error {
	x.flagStopped(m)
	driver, ok := m.Driver.(resource.Stopper)
	if !ok {
		return nil
	}
	if isDown(m.Driver.Status(ctx).Status) {
		left, err := remains(ctx, m)
		if err != nil {
			return err
		}
		if left == "" {
			m.env.Infof("already down")
			return x.ungroup(m)
		}
	}
	if err := x.require(ctx, m, "stop", m.Common.StopRequires); err != nil {
		return err
	}
	err := x.triggered(ctx, m, "stop", func() error {
		x.undo.act(m)
		return driver.Stop(ctx)
	})
	if err != nil {
		return err
	}
	return x.ungroup(m)
}

func (x *execution) run(ctx context.Context, m *member) error {
	driver, ok := m.Driver.(resource.Runner)
	if !ok {
		return nil
	}
	if x.request.Cron {
		if why := x.notNow(m); why != "" {
			m.env.Infof("not run by the schedule: %s", why)
			return nil
		}
	}
	if err := x.requireNow(ctx, m, m.Common.RunRequires); err != nil {
		return err
	}
	x.ungrouped(m)
	err := x.triggered(ctx, m, "run", func() error { return driver.Run(ctx) })
	return errors.Join(err, x.ungroup(m))
}

func (x *execution) provision(ctx context.Context, m *member) error {
	provisioner, ok := m.Driver.(resource.Provisioner)
	made := x.provisioned(ctx, m).State == cluster.ProvisionedTrue
	switch {
	case !ok:
	case x.request.StateOnly:
		return x.flags.setProvisioned(m.RID, true)
	case made:
		m.env.Infof("already provisioned")
	case !m.Common.Provision:
		return fmt.Errorf("provision = false and the resource is not flagged provisioned: make it by hand, then flag it with `om %s instance provision --state-only --rid %s`", x.path, m.RID)
	default:
		if done, err := x.make(ctx, m, provisioner); err != nil || !done {
			return err
		}
	}
	if x.request.StateOnly || !x.request.Leader && m.Common.Shared && !m.Common.Standby {
		return nil
	}
	return x.start(ctx, m)
}

// make provisions a resource. It tells whether it is for this node to do.
func (x *execution) make(ctx context.Context, m *member, p resource.Provisioner) (bool, error) {
	do := p.Provision
	if follower, ok := m.Driver.(resource.FollowerProvisioner); ok && !x.request.Leader {
		do = follower.ProvisionFollower
	} else if m.Common.Shared && !x.request.Leader {
		// The leader makes it for this node too.
		m.env.Infof("shared: left to the leader")
		return false, x.flags.setProvisioned(m.RID, true)
	}
	if err := x.require(ctx, m, "provision", m.Common.ProvisionRequires); err != nil {
		return false, err
	}
	x.ungrouped(m)
	// What was there before is adopted: undoing its provision would destroy it.
	adopted := false
	if knows, ok := m.Driver.(resource.Provisioneder); ok {
		there, err := knows.Provisioned(ctx)
		adopted = err != nil || there != cluster.ProvisionedFalse
	}
	err := x.triggered(ctx, m, "provision", func() error {
		if adopted {
			x.undo.act(m)
		} else {
			x.undo.add(m, x.unmake)
		}
		return do(ctx)
	})
	if err != nil {
		return false, err
	}
	return true, x.flags.setProvisioned(m.RID, true)
}

// unmake undoes a provision, whole or cut short.
func (x *execution) unmake(ctx context.Context, m *member) error {
	u, ok := m.Driver.(resource.Unprovisioner)
	if !ok {
		return nil
	}
	if err := u.Unprovision(ctx); err != nil {
		return err
	}
	return x.flags.setProvisioned(m.RID, false)
}

func (x *execution) unprovision(ctx context.Context, m *member) error {
	if x.request.StateOnly {
		return x.flags.setProvisioned(m.RID, false)
	}
	if err := x.stop(ctx, m); err != nil {
		return err
	}
	u, ok := m.Driver.(resource.Unprovisioner)
	switch {
	case !ok:
		return nil
	case !m.Common.Unprovision:
		m.env.Infof("unprovision = false: left in place")
		return nil
	case x.provisioned(ctx, m).State == cluster.ProvisionedFalse:
		m.env.Infof("not provisioned: left in place")
		return nil
	case m.Common.Shared && !x.request.Leader:
		m.env.Infof("shared: left to the leader")
		return x.flags.setProvisioned(m.RID, false)
	}
	if err := x.require(ctx, m, "unprovision", m.Common.UnprovisionRequires); err != nil {
		return err
	}
	err := x.triggered(ctx, m, "unprovision", func() error { return u.Unprovision(ctx) })
	if err != nil {
		return err
	}
	return x.flags.setProvisioned(m.RID, false)
}

func isUp(s cluster.Status) bool   { return s == cluster.Up || s == cluster.StandbyUp }
func isDown(s cluster.Status) bool { return s == cluster.Down || s == cluster.StandbyDown }
