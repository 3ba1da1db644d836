package schedule

import (
	"time"
)

// How far [Schedule.Next] and [Schedule.Previous] look: over every combination of
// days, weeks and months there is, as long as the schedule is not a list of
// hundreds of exclusions.
const (
	horizon = 41 * 366 // days
	effort  = 400_000  // ranges of days looked at
)

// ahead is how far in the future a last run may be without being taken for that
// of a clock that was wrong.
const ahead = 24 * time.Hour

// sane is the last run as it counts at an instant.
func sane(last, now time.Time) time.Time {
	if last.Sub(now) > ahead {
		return now
	}
	return last
}

// Allowed reports whether a run may begin now: in a range, not in one that is
// excluded, and long enough after the last run, the zero time when there was
// none. Random moments are for [Schedule.Next] alone.
func (s Schedule) Allowed(now, last time.Time) bool {
	if _, out := s.excluded(now); out {
		return false
	}
	last = sane(last, now)
	return s.around(now, false, func(w window) bool {
		at, ok := w.ready(now, last)
		return ok && at.Equal(now)
	})
}

// Within reports whether t is in a range, and not in one that is excluded,
// whatever ran before.
func (s Schedule) Within(t time.Time) bool {
	_, out := s.excluded(t)
	return !out && s.around(t, false, func(window) bool { return true })
}

// around tells whether f holds for a window that has t, among those that exclude
// or among the others.
func (s Schedule) around(t time.Time, excluding bool, f func(window) bool) bool {
	today, loc := dateOf(t), t.Location()
	for _, d := range [...]date{today.prev(), today} {
		for i := range s {
			e := &s[i]
			if e.Excluded != excluding || !e.on(d) {
				continue
			}
			for j := range e.Times {
				if !excluding && e.Times[j].never() {
					continue
				}
				if w := e.Times[j].window(d, loc); w.has(t) && f(w) {
					return true
				}
			}
		}
	}
	return false
}

// excluded tells whether t is in a range that is excluded, and the latest end of
// those it is in.
func (s Schedule) excluded(t time.Time) (until time.Time, out bool) {
	if !s.excludes() {
		return time.Time{}, false
	}
	s.around(t, true, func(w window) bool {
		if out = true; w.end.After(until) {
			until = w.end
		}
		return false
	})
	return until, out
}

func (s Schedule) excludes() bool {
	for i := range s {
		if s[i].Excluded {
			return true
		}
	}
	return false
}

// Next is the first instant, after or at the given one, at which a run is due,
// the last one being what it was. The zero time is never. Days and times are
// those of the location of after.
func (s Schedule) Next(after, last time.Time, r Random) time.Time {
	if t, ok := s.simple(after, last); ok {
		return t
	}
	last = sane(last, after)
	work, limited := effort, s.excludes()
	var best time.Time
	day := dateOf(after).prev()
	for n := 0; n < horizon && work > 0; n, day = n+1, day.next() {
		// A window of a later day begins after: what was found is the first.
		if !best.IsZero() && !day.at(0, after.Location()).Before(best) {
			break
		}
		for i := range s {
			e := &s[i]
			if e.Excluded || !e.on(day) {
				continue
			}
			for j := range e.Times {
				if e.Times[j].never() {
					continue
				}
				work--
				w := e.Times[j].window(day, after.Location())
				at, ok := s.first(w, after, last, r, limited, &work)
				if ok && (best.IsZero() || at.Before(best)) {
					best = at
				}
			}
		}
	}
	return best
}

// first is when a run is due in a window.
func (s Schedule) first(w window, after, last time.Time, r Random, limited bool, work *int) (time.Time, bool) {
	if !after.Before(w.end) {
		return time.Time{}, false
	}
	from := after
	if w.times.Random && w.times.coarse() {
		if chosen := r.moment(w); from.Before(chosen) {
			from = chosen
		}
	}
	at, ok := w.ready(from, last)
	for limited && ok && *work > 0 {
		until, out := s.excluded(at)
		if !out {
			break
		}
		*work -= len(s)
		at, ok = until, until.Before(w.end)
	}
	return at, ok && *work > 0
}

// simple is [Schedule.Next] of what most schedules are: every so often, all day.
func (s Schedule) simple(after, last time.Time) (time.Time, bool) {
	if len(s) != 1 || s[0].Excluded || len(s[0].Times) != 1 || s[0].Days != nil || s[0].Weeks != nil || s[0].Months != nil {
		return time.Time{}, false
	}
	t := &s[0].Times[0]
	if t.Begin != 0 || t.End != Whole || t.coarse() || t.never() {
		return time.Time{}, false
	}
	due := last.Add(*t.Interval)
	switch {
	case last.IsZero():
		return after, true
	case last.After(after):
		return after.Add(*t.Interval), true
	case due.After(after):
		return due.In(after.Location()), true
	default:
		return after, true
	}
}

// Previous is the last instant, before or at the given one, at which a run is
// allowed, whatever ran before. The zero time is never.
func (s Schedule) Previous(before time.Time) time.Time {
	work := effort
	var best time.Time
	day := dateOf(before)
	for n := 0; n < horizon && work > 0; n, day = n+1, day.prev() {
		// A window of an earlier day may last until the end of the next one.
		if !best.IsZero() && !day.next().next().at(0, before.Location()).After(best) {
			break
		}
		for i := range s {
			e := &s[i]
			if e.Excluded || !e.on(day) {
				continue
			}
			for j := range e.Times {
				if e.Times[j].never() {
					continue
				}
				work--
				at, ok := s.last(e.Times[j].window(day, before.Location()), before, &work)
				if ok && at.After(best) {
					best = at
				}
			}
		}
	}
	return best
}

// last is the latest instant of a window, not after the given one, that is not
// excluded.
func (s Schedule) last(w window, before time.Time, work *int) (time.Time, bool) {
	at := before
	if !at.Before(w.end) {
		at = w.end.Add(-1)
	}
	for !at.Before(w.begin) && *work > 0 {
		*work -= len(s)
		begin, out := time.Time{}, false
		s.around(at, true, func(x window) bool {
			if !out || x.begin.Before(begin) {
				begin = x.begin
			}
			out = true
			return false
		})
		if !out {
			return at, true
		}
		at = begin.Add(-1)
	}
	return time.Time{}, false
}

// Grace is how long after its time a run is made up for, when nobody was there to
// begin it: the agent was down, the node slept, or its clock was set forward.
const Grace = time.Hour

// Late reports whether a run that was due at a moment may still begin now: as long
// as its range lasts, and for [Grace] after the moment. An exclusion forbids it
// in any case.
func (s Schedule) Late(now, due time.Time) bool {
	if _, out := s.excluded(now); out {
		return false
	}
	return now.Sub(due) <= Grace || s.around(now, false, func(w window) bool { return w.has(due) })
}

// Due tells what to do at an instant about a run planned by [Schedule.Next]:
// whether it begins now, late or not, and else when to look again, the zero time
// for never. Who finds that the last run is another one than it was plans again,
// and so does who finds the clock set back.
func (s Schedule) Due(planned, now, last time.Time, r Random) (run bool, next time.Time) {
	if planned.IsZero() || planned.After(now) {
		return false, planned
	}
	if s.Late(now, planned) {
		return true, planned
	}
	next = s.Next(now, last, r)
	return next.Equal(now), next
}
