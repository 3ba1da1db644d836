// Package schedule reads the expressions that say when the agent does something
// by itself:
//
//	schedule   = "" | expression | json list of expressions
//	expression = [ "!" ] times [ days [ weeks [ months ] ] ]
//	times      = time { "," time }
//	time       = [ "~" ] ( [ "*" ] | begin [ "-" end ] ) [ "@" interval ]
//	days       = day { "," day }
//	day        = ( "*" | name | 1..7 [ "-" ... ] ) [ ":" which ]
//	which      = first | last | 1st .. 5th | n | -n
//	weeks      = span { "," span }       ISO weeks, 1 to 53
//	months     = span { "," span }       1 to 12, or names
//	span       = [ "*" | n [ "-" n ] ] [ "%" modulo [ "+" remainder ] ]
//
// Begin and end are H:MM or H:MM:SS; an end that is not after its begin is on the
// next day, and the range belongs to the day it begins on. One time is a range of
// a second. An interval is a duration, or a number of minutes; "@0" never runs,
// nor does the empty schedule.
//
// Days. "mon:first" is the first Monday of the month, "fri:last" its last Friday,
// "mon-fri:last" its last working day, "*:-1" its last day. Weeks are those of ISO
// 8601. A range may go around the end: "nov-feb", "sat-mon". "%2+1" are the odd
// ones.
//
// How often. Without an interval a range runs once. With one shorter than the
// range it runs each time the interval has passed since the last run. With one as
// long as the range, or longer, it runs once at most, and when the interval has
// passed on the clock: "@1d" keeps its hour when a day has 23 hours. Who ran it
// last makes no difference. A union runs when one of its expressions does; what
// "!" excludes runs in none of them.
//
// Random. "~" runs at one moment of the range, which nobody chooses and which does
// not change when the agent restarts; an interval shorter than the range makes it
// meaningless, and it is ignored.
//
// Clocks. Times are those of the clocks of the node. A time they show twice, when
// they are set back in autumn, is the first of both; one they skip in spring is
// the instant that follows. So a daily run is neither lost nor made twice. When a
// clock is set back by hand, a range that ran already does not run again, and an
// interval counts from where the clock stands; a last run more than a day ahead
// is that of a clock that was wrong, and counts as now. When it is set forward, or
// the agent was down or the node slept, what came due meanwhile is run once, if
// its range still lasts or if it is less than [Grace] late; see [Schedule.Late].
//
// The package is pure: it knows neither what time it is nor what is random.
package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// Schedule is a union of expressions. Empty, it is never.
type Schedule []Expression

// Expression is a set of times on a set of days. Empty sets of days, of weeks
// and of months are all of them.
type Expression struct {
	Excluded bool
	Times    []Times
	Days     []Days
	Weeks    []Span
	Months   []Span
}

// Times is a range of times of a day, and how often it runs inside.
type Times struct {
	Random bool // at a moment of the range nobody chooses
	// Begin and End are times since midnight. An end before the begin is on the
	// next day; the whole day is 0 to 24h, one time lasts a second.
	Begin, End time.Duration
	// Interval is the least time between two runs: once a range when nil, never
	// when zero.
	Interval *time.Duration
}

// Whole is the range of a whole day.
const Whole = 24 * time.Hour

// Days are days of the week, 1 being Monday, and which of them in the month.
type Days struct {
	First, Last int // both 0: any day
	Nth         int // 0: each; 1: the first of the month; -1: its last
}

// Span is a range of weeks or of months.
type Span struct {
	First, Last       int // both 0: any
	Modulo, Remainder int // 0: no modulo
}

// maxText bounds a schedule, in bytes.
const maxText = 4096

// Check tells what is wrong in a schedule. It is a rule for keyword.Check.
func Check(text string) error {
	_, err := Parse(text)
	return err
}

// Parse reads a schedule.
func Parse(text string) (Schedule, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, nil
	case len(text) > maxText:
		return nil, fmt.Errorf("a schedule of %d bytes: at most %d are read", len(text), maxText)
	}
	texts := []string{text}
	if text[0] == '[' {
		texts = nil
		if err := json.Unmarshal([]byte(text), &texts); err != nil {
			return nil, errors.New(`not a list of schedules: write it as ["@10m","04:00 sun"]`)
		}
	}
	var s Schedule
	for _, one := range texts {
		if strings.TrimSpace(one) == "" {
			continue
		}
		e, err := parseExpression(one)
		if err != nil {
			return nil, err
		}
		s = append(s, e)
	}
	return s, nil
}

func parseExpression(text string) (e Expression, err error) {
	rest, excluded := strings.CutPrefix(strings.TrimSpace(text), "!")
	e.Excluded = excluded
	fields := strings.Fields(rest)
	switch {
	case len(fields) == 0:
		return e, errors.New(`"!" excludes nothing: write times after it, as in !12:00-14:00`)
	case len(fields) > 4:
		return e, fmt.Errorf("%q: write at most four parts: times, days, weeks and months", fields[4])
	}
	if e.Times, err = list(fields[0], parseTimes); err != nil {
		return e, err
	}
	if len(fields) > 1 {
		if e.Days, err = list(fields[1], parseDays); err != nil {
			return e, err
		}
	}
	if len(fields) > 2 {
		if e.Weeks, err = list(fields[2], weeks().parse); err != nil {
			return e, err
		}
	}
	if len(fields) > 3 {
		e.Months, err = list(fields[3], months().parse)
	}
	return e, err
}

func list[V any](text string, parse func(string) (V, error)) ([]V, error) {
	var out []V
	for word := range strings.SplitSeq(text, ",") {
		v, err := parse(word)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func parseTimes(text string) (t Times, err error) {
	rest, random := strings.CutPrefix(text, "~")
	span, interval, repeated := strings.Cut(rest, "@")
	t = Times{Random: random, End: Whole}
	if repeated {
		every, err := parseInterval(interval)
		if err != nil {
			return t, fmt.Errorf("%q: %w", text, err)
		}
		t.Interval = &every
	}
	if span == "*" || span == "" && repeated {
		return t, nil
	}
	begin, end, ranged := strings.Cut(span, "-")
	if t.Begin, err = parseTime(begin); err == nil {
		t.End = t.Begin + time.Second
		if ranged {
			t.End, err = parseTime(end)
		}
	}
	if err == nil && t.Begin == Whole {
		err = errors.New("a range begins before midnight")
	}
	if err != nil {
		return t, fmt.Errorf("%q is no time range: %w: write it as 04:00-06:00, 04:00-06:00@30m, * or @10m", text, err)
	}
	return t, nil
}

func parseInterval(text string) (time.Duration, error) {
	if minutes, err := strconv.ParseUint(text, 10, 24); err == nil {
		return time.Duration(minutes) * time.Minute, nil
	}
	d, err := config.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("interval %q: %w", text, err)
	}
	return d, nil
}

// parseTime reads H:MM or H:MM:SS, up to 24:00.
func parseTime(text string) (time.Duration, error) {
	parts := strings.Split(text, ":")
	wrong := len(parts) < 2 || len(parts) > 3
	limits, units := [...]uint64{24, 59, 59}, [...]time.Duration{time.Hour, time.Minute, time.Second}
	var t time.Duration
	for i := 0; i < len(parts) && !wrong; i++ {
		n, err := strconv.ParseUint(parts[i], 10, 8)
		wrong = err != nil || n > limits[i] || len(parts[i]) > 2 || i > 0 && len(parts[i]) != 2
		t += time.Duration(n) * units[i]
	}
	if wrong || t > Whole {
		return 0, fmt.Errorf("%q is not a time of the day", text)
	}
	return t, nil
}
