package configure

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// defaultWait is how long --wait waits without --time.
const defaultWait = 5 * time.Minute

// update applies one transaction.
type update struct {
	target Target
	writer Writer
	change Change
	wait   bool
	time   time.Duration
}

func (u *update) Flags(f *pflag.FlagSet) {
	f.StringArrayVar(&u.change.Set, "set", nil, "apply this `operation`, as env.x=1 or nodes+=n2; repeat it for more")
	f.StringArrayVar(&u.change.Unset, "unset", nil, "remove this `keyword`; repeat it for more")
	f.StringArrayVar(&u.change.Delete, "delete", nil, "remove this `section`; repeat it for more")
	u.waitFlags(f)
}

func (u *update) waitFlags(f *pflag.FlagSet) {
	f.BoolVar(&u.wait, "wait", false, "wait until every live node of the object has the configuration")
	f.DurationVar(&u.time, "time", defaultWait, "give up waiting after this long")
	f.DurationVar(&u.change.WaitLock, "waitlock", 30*time.Second, "how long to wait for another change in progress")
	for _, hidden := range []string{"local", "no-lock"} {
		f.Bool(hidden, false, "")
		f.Lookup(hidden).Hidden = true
	}
}

func (u *update) Run(ctx context.Context, c *verb.Call) error {
	if len(u.change.Set)+len(u.change.Unset)+len(u.change.Delete) == 0 {
		return app.Usage("nothing to change: give --set, --unset or --delete")
	}
	paths, err := u.target(ctx, c)
	if err != nil {
		return err
	}
	if u.wait {
		u.change.Wait = u.time
	}
	var outcomes outcomes
	for _, p := range paths {
		outcome, err := u.writer.ChangeConfig(ctx, p, u.change)
		if err != nil {
			outcomes.fail(len(paths), p, err)
			continue
		}
		if err := tell(c, outcome); err != nil {
			return err
		}
	}
	return outcomes.err()
}

// set is the v2 form of an update that sets.
type set struct{ update }

func (s *set) Flags(f *pflag.FlagSet) {
	f.StringArrayVar(&s.change.Set, "kw", nil, "apply this `operation`, as env.x=1")
	s.waitFlags(f)
}

// unset is the v2 form of an update that removes.
type unset struct{ update }

func (u *unset) Flags(f *pflag.FlagSet) {
	f.StringArrayVar(&u.change.Unset, "kw", nil, "remove this `keyword`")
	f.StringArrayVar(&u.change.Delete, "section", nil, "remove this `section`")
	u.waitFlags(f)
}
