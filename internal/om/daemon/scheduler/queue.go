package scheduler

import (
	"container/heap"
	"context"
	"log/slog"
	"sync"
)

// queue holds the jobs that workers take one by one.
type queue struct {
	ready chan struct{}

	mu   sync.Mutex
	jobs []*job
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) put(j *job) {
	q.mu.Lock()
	q.jobs = append(q.jobs, j)
	q.mu.Unlock()
	poke(q.ready)
}

// take waits for a job; false once ctx has ended.
func (q *queue) take(ctx context.Context) (*job, bool) {
	for ctx.Err() == nil {
		q.mu.Lock()
		if len(q.jobs) > 0 {
			j := q.jobs[0]
			q.jobs = q.jobs[1:]
			if len(q.jobs) > 0 {
				poke(q.ready) // for the next worker
			}
			q.mu.Unlock()
			return j, true
		}
		q.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-q.ready:
		}
	}
	return nil, false
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// inform collects resource info, one instance after the other.
func (s *Scheduler) inform(ctx context.Context) {
	for {
		j, ok := s.informs.take(ctx)
		if !ok {
			return
		}
		limited, cancel := context.WithTimeout(ctx, informLimit)
		err := s.o.Inform(limited, j.path)
		cancel()
		if err == nil {
			s.uninformed.Over(j.path.String())
		} else if ctx.Err() == nil && s.uninformed.News(j.path.String(), err.Error()) {
			s.o.Log.Warn("resource info", slog.String("object", j.path.String()), slog.Any("err", err))
		}
		s.ended(j, err)
	}
}

// dues is a heap of jobs, the earliest first. A job knows its place.
type dues []*job

// set puts a job where its next run says: nowhere when there is none.
func (d *dues) set(j *job) {
	switch {
	case !j.armed() || j.next.IsZero():
		d.remove(j)
	case j.place < 0:
		heap.Push(d, j)
	default:
		heap.Fix(d, j.place)
	}
}

func (d *dues) remove(j *job) {
	if j.place >= 0 {
		heap.Remove(d, j.place)
	}
}

func (d dues) Len() int           { return len(d) }
func (d dues) Less(i, j int) bool { return d[i].next.Before(d[j].next) }

func (d dues) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

// Push implements heap.Interface.
func (d *dues) Push(x any) {
	if j, ok := x.(*job); ok {
		j.place = len(*d)
		*d = append(*d, j)
	}
}

// Pop implements heap.Interface.
func (d *dues) Pop() any {
	old := *d
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*d = old[:len(old)-1]
	j.place = -1
	return j
}
