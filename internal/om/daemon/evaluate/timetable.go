package evaluate

import (
	"container/heap"
	"context"
	"hash/fnv"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// timetable says when instances are due. It is a heap of one entry per instance
// and period; a removed instance leaves entries behind, skipped when due.
type timetable struct {
	due     dues
	current map[object.Path]uint64 // the generation of entries that counts
	gen     uint64
}

type due struct {
	at        time.Time
	every     time.Duration
	path      object.Path
	monitored bool
	gen       uint64
}

func newTimetable() timetable { return timetable{current: map[object.Path]uint64{}} }

func (t *timetable) set(p object.Path, now time.Time, status, monitor time.Duration) {
	t.gen++
	t.current[p] = t.gen
	t.add(due{every: status, path: p, gen: t.gen}, now)
	if monitor > 0 {
		t.add(due{every: monitor, path: p, gen: t.gen, monitored: true}, now)
	}
}

func (t *timetable) add(d due, now time.Time) {
	d.at = now.Add(d.every/2 + time.Duration(hash(d.path))%d.every)
	heap.Push(&t.due, d)
}

func (t *timetable) remove(p object.Path) { delete(t.current, p) }

// take returns what is due, and when the next entry is.
func (t *timetable) take(now time.Time) (ready []due, next time.Time) {
	for len(t.due) > 0 {
		d := t.due[0]
		if t.current[d.path] == d.gen && d.at.After(now) {
			return ready, d.at
		}
		if t.current[d.path] != d.gen {
			heap.Pop(&t.due)
			continue
		}
		ready = append(ready, d)
		t.due[0].at = now.Add(d.every)
		heap.Fix(&t.due, 0)
	}
	return ready, time.Time{}
}

// hash spreads instances over a period, the same way at each start.
func hash(p object.Path) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.FQN())) // never fails
	return int64(h.Sum32()) * 1e6   // fine enough for periods of hours
}

// tick requests what is due.
func (p *Pool) tick(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		now := time.Now()
		p.mu.Lock()
		ready, next := p.times.take(now)
		p.mu.Unlock()
		for _, d := range ready {
			p.request(d.path, d.monitored, nil)
		}
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(next.Sub(now))
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-p.wake:
		}
	}
}

func (p *Pool) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// dues is a heap, the earliest first.
type dues []due

func (d dues) Len() int           { return len(d) }
func (d dues) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d dues) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface.
func (d *dues) Push(x any) {
	if e, ok := x.(due); ok {
		*d = append(*d, e)
	}
}

// Pop implements heap.Interface.
func (d *dues) Pop() any {
	old := *d
	e := old[len(old)-1]
	*d = old[:len(old)-1]
	return e
}
