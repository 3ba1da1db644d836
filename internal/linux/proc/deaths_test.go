package proc_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/proc"
)

func TestDeathsAreTold(t *testing.T) {
	t.Parallel()
	d, err := proc.NewDeaths()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	var pids []int
	ends := map[int]func(){}
	for range 3 {
		p, err := host.NewRunner().Start(host.Cmd{Argv: []string{"/bin/sleep", "1000"}})
		if err != nil {
			t.Fatal(err)
		}
		id, err := proc.Of(p.Pid())
		if err != nil {
			t.Fatal(err)
		}
		h, err := id.Open()
		if err != nil {
			t.Fatal(err)
		}
		end := func() { _ = h.Signal(9); _ = p.Wait() }
		t.Cleanup(func() { _ = h.Close() })
		pids, ends[p.Pid()] = append(pids, p.Pid()), end
		if err := errors.Join(d.Add(p.Pid()), d.Add(p.Pid())); err != nil {
			t.Fatal(err)
		}
	}

	ends[pids[1]]()
	if got, err := d.Next(t.Context()); err != nil || !slices.Equal(got, pids[1:2]) {
		t.Errorf("got %v, %v, want %v", got, err, pids[1])
	}
	if err := d.Add(pids[1]); !errors.Is(err, proc.ErrGone) {
		t.Errorf("what is gone: %v", err)
	}

	d.Remove(pids[2])
	ends[pids[2]]()
	limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := d.Next(limited); !errors.Is(err, context.DeadlineExceeded) || len(got) > 0 {
		t.Errorf("of what is not watched: %v, %v", got, err)
	}
	ends[pids[0]]()
	if got, err := d.Next(t.Context()); err != nil || !slices.Equal(got, pids[:1]) {
		t.Errorf("after a wait that ended: %v, %v", got, err)
	}
}
