package schedule

import (
	"slices"
	"time"
)

// date is a day of the calendar, at midnight of the universal time: days are
// counted where no clock changes.
type date struct{ time.Time }

// dateOf is the day t falls on where it is.
func dateOf(t time.Time) date {
	y, m, d := t.Date()
	return date{time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
}

func (d date) next() date { return date{d.AddDate(0, 0, 1)} }
func (d date) prev() date { return date{d.AddDate(0, 0, -1)} }

// at is the first instant at which the clocks of loc show that time of the day.
func (d date) at(of time.Duration, loc *time.Location) time.Time { return shown(d.Add(of), loc) }

// shown is the first instant at which the clocks of loc show what those of the
// universal time show at wall, or more. A time that a change of the clocks skips
// is the instant of the change, one that is shown twice is the first of both.
func shown(wall time.Time, loc *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), loc)
	begin, end := t.ZoneBounds()
	switch clock := wallClock(t); {
	case clock.After(wall):
		return begin
	case clock.Before(wall):
		return end
	case begin.IsZero():
		return t
	}
	_, offset := begin.Add(-1).Zone()
	if former := wall.Add(-time.Duration(offset) * time.Second).In(loc); former.Before(begin) && !former.After(t) {
		return former
	}
	return t
}

// wallClock is what the clocks show at t, as a time of the universal time.
func wallClock(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC()
}

// on reports whether the expression is about a day.
func (e *Expression) on(d date) bool {
	if !anySpan(e.Months, int(d.Month())) {
		return false
	}
	if len(e.Weeks) > 0 {
		if _, week := d.ISOWeek(); !anySpan(e.Weeks, week) {
			return false
		}
	}
	return len(e.Days) == 0 || slices.ContainsFunc(e.Days, func(days Days) bool { return days.match(d) })
}

func anySpan(spans []Span, n int) bool {
	return len(spans) == 0 || slices.ContainsFunc(spans, func(s Span) bool { return s.match(n) })
}

func (s Span) match(n int) bool {
	return between(s.First, s.Last, n) && (s.Modulo == 0 || n%s.Modulo == s.Remainder)
}

// between tells whether n is from first to last, around the end when last comes
// before first: november to february.
func between(first, last, n int) bool {
	switch {
	case first == 0:
		return true
	case first <= last:
		return first <= n && n <= last
	default:
		return n >= first || n <= last
	}
}

// weekday is 1 for Monday, 7 for Sunday.
func (d date) weekday() int { return (int(d.Weekday())+6)%7 + 1 }

func (s Days) match(d date) bool {
	if !between(s.First, s.Last, d.weekday()) {
		return false
	}
	if s.Nth == 0 {
		return true
	}
	// The place of the day among those of the month that are in the range.
	step, place := -1, 1
	if s.Nth < 0 {
		step = 1
	}
	for other := (date{d.AddDate(0, 0, step)}); other.Month() == d.Month(); other = (date{other.AddDate(0, 0, step)}) {
		if between(s.First, s.Last, other.weekday()) {
			place++
		}
	}
	return place == s.Nth || place == -s.Nth
}
