package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// verdict is what a look at a process tells.
type verdict int

const (
	// known: there is no need to look at it again.
	known verdict = iota
	// gone: it ended after it was listed. It may have left a child, that the list
	// does not have.
	gone
	// ended is gone, but for its number, which its parent has not collected.
	ended
	// unknown: it is being executed, and does not show what it is.
	unknown
)

const (
	// scanWait is how long a scan may take.
	scanWait = 10 * time.Second
	// executionWait is how long the end of an execution is waited for.
	executionWait = time.Second
)

func settling() retry.Policy {
	return retry.Policy{Interval: time.Millisecond, Max: 20 * time.Millisecond}
}

// ErrRestless tells that processes came and went too fast for all of them to be seen.
var ErrRestless = errors.New("processes come and go so fast that not all of them could be looked at")

// scan calls look for every process of the host. One list is not enough: whoever is
// on it and ends before the look at it may have left a child that is not. So it lists
// again, and looks at those that are new, until nobody is missed. It is not cut short
// by the end of an action: what that leaves is looked for as well.
func scan(ctx context.Context, look func(pid int) verdict) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scanWait)
	defer cancel()
	began := time.Now()
	r := round{look: look, seen: map[int]bool{}}
	err := retry.Until(ctx, settling(), func(ctx context.Context) (bool, error) {
		for again := true; again && ctx.Err() == nil; again = r.missed {
			if err := r.run(); err != nil {
				return false, fmt.Errorf("look at every process: %w", err)
			}
		}
		// Who does not show for so long is left out, and nobody else.
		return !r.missed && (!r.hidden || time.Since(began) > executionWait), nil
	})
	if err != nil && ctx.Err() != nil {
		return ErrRestless
	}
	return err
}

// round looks at the processes that are not known yet.
type round struct {
	look   func(pid int) verdict
	seen   map[int]bool
	missed bool // somebody may be on no list
	hidden bool // somebody is on the list and does not show
}

func (r *round) run() error {
	pids, err := numbers()
	if err != nil {
		return err
	}
	r.missed, r.hidden = false, false
	for _, pid := range pids {
		if r.seen[pid] {
			continue
		}
		v := r.look(pid)
		r.seen[pid] = v == known || v == ended
		r.missed = r.missed || v == gone || v == ended
		r.hidden = r.hidden || v == unknown
	}
	return nil
}

// numbers lists the processes of the host.
func numbers() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
