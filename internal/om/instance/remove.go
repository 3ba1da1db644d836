package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/resource/process"
)

// RunningError refuses a deletion: nobody would look after what runs any more, and
// an object made again under the same name would be started beside it.
type RunningError struct {
	What []string // "app#1 is up", "app#2: process 12"
	Stop string   // the command to type
}

// Error names what runs, and says what to do.
func (e *RunningError) Error() string {
	return fmt.Sprintf("%s: stop it first with `%s`, or leave it running, with nobody to look after it, with --force", strings.Join(e.What, ", "), e.Stop)
}

// abandons refuses a deletion by hand of what runs. That of an orchestration is
// for the whole cluster: it stops nothing, and says so.
func (x *execution) abandons(ctx context.Context) error {
	if x.request.Action != Delete || x.request.Force || x.request.Origin == OriginMonitor {
		return nil
	}
	what, err := x.running(ctx)
	if err == nil && len(what) > 0 {
		err = &RunningError{What: what, Stop: fmt.Sprintf("om %s instance stop", x.path)}
	}
	if err != nil {
		return fmt.Errorf("%s: delete is refused: %w", x.path, err)
	}
	return nil
}

// running names what runs of the instance, whether or not the configuration still
// has it.
func (x *execution) running(ctx context.Context) (what []string, err error) {
	var known []string
	for _, m := range x.resources {
		if s := x.state(ctx, m); isUp(s.Status) {
			what, known = append(what, fmt.Sprintf("%s is %s", m.RID, s.Status)), append(known, m.RID)
			continue
		}
		left, rerr := remains(ctx, m)
		if rerr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", m.RID, rerr))
		}
		if left != "" {
			what, known = append(what, m.RID+": "+left), append(known, m.RID)
		}
	}
	traced, terr := process.Trace{Root: x.engine.Host.Paths.Root, Path: x.path}.Find(ctx)
	for _, t := range traced {
		if !slices.Contains(known, t.RID) {
			what = append(what, fmt.Sprintf("%s: process %d", t.RID, t.Pid))
		}
	}
	return what, errors.Join(err, terr)
}

// remove deletes the object from this node.
func (x *execution) remove(ctx context.Context) error {
	what, err := x.running(ctx)
	if err != nil {
		x.warnf("%s", err)
	}
	for _, w := range what {
		x.warnf("%s: left running, and nobody looks after it any more", w)
	}
	// An orchestration deletes the object; by hand, it is the instance of this node, and
	// the configuration comes back from the others as long as the object is for it.
	remove := x.engine.Store.Delete
	if x.request.Origin == OriginMonitor {
		remove = x.engine.Store.DeleteEverywhere
	}
	if err := remove(ctx, x.path); err != nil {
		return err
	}
	if x.groups.tree != nil {
		if err := x.groups.tree.Delete(x.groups.object); err != nil {
			return err
		}
	}
	return nil
}

// warnf logs a warning on the instance.
func (x *execution) warnf(format string, a ...any) {
	x.warnings.Store(true)
	x.engine.log().With(logAttrs(x.path, x.request)...).Warn(fmt.Sprintf(format, a...)) //nolint:sloglint // sentences for people
}
