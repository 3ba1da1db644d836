package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
	"github.com/holdfast-ops/holdfast/test/om/bed"
)

// Fault is something that goes wrong, and how it is mended.
type Fault struct {
	Name string
	Node string // whose fault it is; "" of nobody alone
	// Excuse is why two instances at once are not excluded from now until all is well
	// again; "" when they are.
	Excuse string
	Do     func(ctx context.Context) error
	Mend   func(ctx context.Context) error // nil: nothing to mend
}

// Free is the name of the windows in which two instances at once are not excluded.
const Free = "free"

// chaos makes faults.
type chaos struct {
	t      *Trial
	random *rand.Rand
	fenced bool // the cluster fences
}

// unfenced is the excuse of what looks like the death of a node to its peers, and is
// not, where nobody fences.
func (c *chaos) unfenced(why string) string {
	if c.fenced {
		return ""
	}
	return why
}

// next makes up a fault. hurt are the nodes that have one already.
func (c *chaos) next(hurt map[string]bool) Fault {
	nodes := c.t.Nodes()
	var well []*bed.Node
	for _, n := range nodes {
		if !hurt[n.Name] && n.Up() {
			well = append(well, n)
		}
	}
	if len(well) < 2 {
		return Fault{}
	}
	c.random.Shuffle(len(well), func(i, j int) { well[i], well[j] = well[j], well[i] })
	n, o := well[0], well[1]
	network := c.t.Network()
	again := func(ctx context.Context) error { return c.t.Revive(ctx, n) }
	cut := bed.Fault{Loss: 1}
	var others []string
	for _, m := range nodes {
		if m != n {
			others = append(others, m.Name)
		}
	}
	between := func(f bed.Fault) (do, mend func(context.Context) error) {
		return func(context.Context) error { network.Between(bed.All, n.Name, o.Name, f); return nil },
			func(context.Context) error { network.Between(bed.All, n.Name, o.Name, bed.Fault{}); return nil }
	}
	faults := []func() Fault{
		func() Fault {
			return Fault{"kill -9 of the daemon", n.Name, c.unfenced("its services outlive the daemon"), func(ctx context.Context) error { return n.KillDaemon(ctx, syscall.SIGKILL) }, again}
		},
		func() Fault {
			return Fault{"kill of every process", n.Name, "", func(context.Context) error { return n.KillAll() }, again}
		},
		func() Fault {
			return Fault{"power loss", n.Name, "", func(context.Context) error { return n.PowerOff() }, again}
		},
		func() Fault {
			do, mend := between(cut)
			return Fault{"cut to " + o.Name, n.Name, "", do, mend}
		},
		func() Fault {
			return Fault{
				"cut to " + o.Name + ", one way", n.Name, "",
				func(context.Context) error { network.Set(bed.All, n.Name, o.Name, cut); return nil },
				func(context.Context) error { network.Set(bed.All, n.Name, o.Name, bed.Fault{}); return nil },
			}
		},
		func() Fault {
			return Fault{
				"cut from all", n.Name, "",
				func(context.Context) error { network.Cut([]string{n.Name}, others); return nil },
				func(context.Context) error {
					for _, m := range others {
						network.Between(bed.All, n.Name, m, bed.Fault{})
					}
					return nil
				},
			}
		},
		func() Fault {
			do, mend := between(bed.Fault{Loss: 0.3})
			return Fault{"loss of 30 % to " + o.Name, n.Name, "", do, mend}
		},
		func() Fault {
			delay := time.Duration(20+c.random.IntN(200)) * time.Millisecond
			do, mend := between(bed.Fault{Delay: delay})
			return Fault{fmt.Sprintf("delay of %v to %s", delay, o.Name), n.Name, "", do, mend}
		},
		func() Fault {
			return Fault{
				"pause of the daemon", n.Name, c.unfenced("its services outlive the pause"),
				func(ctx context.Context) error { return n.KillDaemon(ctx, syscall.SIGSTOP) },
				func(ctx context.Context) error { return n.KillDaemon(ctx, syscall.SIGCONT) },
			}
		},
		func() Fault {
			return Fault{
				"pause of the node", n.Name, c.unfenced("its services outlive the pause"),
				func(context.Context) error { return n.Freeze() },
				func(context.Context) error { return n.Thaw() },
			}
		},
		func() Fault {
			return Fault{"disk full", n.Name, "", n.FillDisk, n.EmptyDisk}
		},
		func() Fault {
			by := time.Duration(c.random.IntN(7200)-3600) * time.Second
			return Fault{
				fmt.Sprintf("clock steps by %v", by), n.Name, "",
				func(ctx context.Context) error { return n.StepClock(ctx, by) },
				func(ctx context.Context) error { return n.StepClock(ctx, 0) },
			}
		},
		func() Fault {
			return Fault{"restart of the daemon", n.Name, "", func(ctx context.Context) error {
				_, err := n.Run(ctx, "om", "daemon", "restart")
				return err
			}, nil}
		},
	}
	return faults[c.random.IntN(len(faults))]()
}

// gone says whether something was not done because its node, or its daemon, has ended
// by itself meanwhile.
func gone(err error) bool {
	_, refused := errors.AsType[*bed.ExitError](err)
	return refused || errors.Is(err, bed.ErrDown)
}

// Revive brings back what a node lacks: power, or its daemon.
func (t *Trial) Revive(ctx context.Context, n *bed.Node) error {
	if !n.Up() {
		t.Say("%s boots", n.Name)
		if err := errors.Join(n.Boot(ctx), n.EmptyDisk(ctx)); err != nil { // a daemon does not start on a full disk
			return err
		}
	}
	asking, cancel := context.WithTimeout(ctx, 5*time.Second) // one that is paused does not answer
	_, err := n.Run(asking, "om", "daemon", "running")
	cancel()
	if err == nil {
		return nil
	}
	err = n.StartDaemon(ctx)
	if errors.Is(err, bed.ErrDown) {
		return nil // it fell again: the next round finds it
	}
	return err
}

// Fence cuts the power of the nodes that `service fence` names, until ctx ends.
func (t *Trial) Fence(ctx context.Context) {
	dir := filepath.Join(t.Shared(), "data")
	_ = retry.Until(ctx, retry.Policy{Interval: 5 * time.Millisecond}, func(context.Context) (bool, error) {
		files, err := filepath.Glob(filepath.Join(dir, "fence-*"))
		if err != nil {
			return false, err
		}
		for _, f := range files {
			name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(f), "fence-"), "-")
			t.Say("%s is fenced", name)
			if err := t.Node(name).PowerOff(); err != nil {
				t.Say("%s is not fenced: %v", name, err)
				continue
			}
			_ = os.Remove(f)
		}
		return false, nil
	})
}

// Chaos is a number of faults at random.
type Chaos struct {
	Seed   uint64
	Faults int
	Rounds int           // faults between two times when all must be well again
	Hold   time.Duration // the longest time until the next fault
	Fenced bool
	Well   func(ctx context.Context) error // waits until all is well, or says what is not
}

// Run breaks the trial.
func (o Chaos) Run(ctx context.Context, t *Trial) error {
	c := &chaos{t: t, random: rand.New(rand.NewPCG(o.Seed, 2)), fenced: o.Fenced}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var fencing sync.WaitGroup
	fencing.Go(func() { t.Fence(ctx) })
	defer fencing.Wait()
	defer cancel()
	var open []Fault
	var excused []func()
	mend := func(f Fault) error {
		if f.Mend == nil {
			return nil
		}
		t.Say("%s: %s is over", f.Node, f.Name)
		if err := f.Mend(ctx); err != nil && !gone(err) && ctx.Err() == nil {
			return fmt.Errorf("%s: %s: mend: %w", f.Node, f.Name, err)
		}
		return nil
	}
	for i := 1; i <= o.Faults; i++ {
		hurt := map[string]bool{}
		for _, f := range open {
			hurt[f.Node] = true
		}
		if f := c.next(hurt); f.Do != nil {
			if f.Excuse != "" {
				excused = append(excused, t.Open(Free, f.Node+": "+f.Name+", "+f.Excuse))
			}
			t.Say("fault %d: %s: %s", i, f.Node, f.Name)
			if err := f.Do(ctx); err != nil && !gone(err) {
				return fmt.Errorf("%s: %s: %w", f.Node, f.Name, err)
			}
			open = append(open, f)
		}
		wait(ctx, time.Duration(c.random.Int64N(int64(o.Hold))))
		for len(open) > 0 && (len(open) > 1 || c.random.IntN(2) == 0) {
			at := c.random.IntN(len(open))
			if err := mend(open[at]); err != nil {
				return err
			}
			open = append(open[:at], open[at+1:]...)
		}
		if i%o.Rounds != 0 && i != o.Faults {
			continue
		}
		for _, f := range open {
			if err := mend(f); err != nil {
				return err
			}
		}
		open = nil
		t.Network().Heal()
		if err := o.settle(ctx, t); err != nil {
			return fmt.Errorf("after fault %d: %w", i, err)
		}
		t.Say("all is well")
		for _, end := range excused {
			end()
		}
		excused = nil
	}
	return ctx.Err()
}

// settle waits until all is well; nodes that fell meanwhile are powered on again.
func (o Chaos) settle(ctx context.Context, t *Trial) error {
	settling, cancel := context.WithCancel(ctx)
	var reviving sync.WaitGroup
	reviving.Go(func() {
		_ = retry.Until(settling, retry.Policy{Interval: 100 * time.Millisecond}, func(ctx context.Context) (bool, error) {
			for _, n := range t.Nodes() {
				if err := t.Revive(ctx, n); err != nil && settling.Err() == nil {
					t.Say("%s does not come back: %v", n.Name, err)
				}
			}
			return false, nil
		})
	})
	err := errors.Join(t.AwaitAll(ctx), o.Well(ctx))
	cancel()
	reviving.Wait()
	return err
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
