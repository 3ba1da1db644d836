package schedule

import (
	"hash/fnv"
	"time"
)

// window is a range of times of one day, as instants.
type window struct {
	begin, end time.Time // the end is out of it
	times      *Times
}

// nominal is how long a range is on the clock, whatever happens to the clocks.
func (t *Times) nominal() time.Duration {
	if t.End <= t.Begin {
		return t.End + Whole - t.Begin
	}
	return t.End - t.Begin
}

// window is the range as it is on a day. One that a change of the clocks skips
// is the second that follows the change.
func (t *Times) window(d date, loc *time.Location) window {
	w := window{begin: d.at(t.Begin, loc), end: d.at(t.Begin+t.nominal(), loc), times: t}
	if least := w.begin.Add(time.Second); w.end.Before(least) {
		w.end = least
	}
	return w
}

func (w window) has(t time.Time) bool { return !t.Before(w.begin) && t.Before(w.end) }

// never reports whether the range is one that runs nothing, as "@0".
func (t *Times) never() bool { return t.Interval != nil && *t.Interval == 0 }

// coarse reports whether a range is run at most once: it has no interval, or one
// as long as itself.
func (t *Times) coarse() bool { return t.Interval == nil || *t.Interval >= t.nominal() }

// ready is the first instant of the window, from the given one on, at which a run
// is due after the last one. False: none is.
func (w window) ready(from, last time.Time) (time.Time, bool) {
	if from.Before(w.begin) {
		from = w.begin
	}
	switch {
	case last.IsZero():
	case !w.times.coarse():
		// A last run in the future is that of a clock set back since: the interval
		// counts from where it is seen.
		if due := earlier(last, from).Add(*w.times.Interval); due.After(from) {
			from = due
		}
	case !last.Before(w.begin):
		return time.Time{}, false
	case w.times.Interval != nil:
		// On the clock: a day is a day, of 23 or 25 hours too.
		due := wallClock(last.In(from.Location())).Add(*w.times.Interval)
		if at := shown(due, from.Location()); at.After(from) {
			from = at
		}
	}
	return from, from.Before(w.end)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Random chooses moments: the same one each time it is asked about the same
// range of the same day, so that a restart changes nothing. The zero Random
// chooses the begin.
type Random struct{ seed string }

// NewRandom returns the choices of a seed, as the name of a job: those of
// different seeds are spread evenly.
func NewRandom(seed string) Random { return Random{seed: seed} }

// moment chooses one of the window, to the second.
func (r Random) moment(w window) time.Time {
	seconds := int64(w.end.Sub(w.begin) / time.Second)
	if r.seed == "" || seconds <= 1 {
		return w.begin
	}
	return w.begin.Add(time.Duration(r.Below(w.begin.UTC().Format(time.RFC3339), seconds)) * time.Second)
}

// Below returns a number from 0 to n-1, the same for the same seed and text.
func (r Random) Below(text string, n int64) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(r.seed + "\x00" + text)) // never fails
	// The bits of the hash of texts that differ at their end only differ little:
	// mix them, as splitmix64 does.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return int64(x % uint64(max(n, 1))) //nolint:gosec // less than n
}
