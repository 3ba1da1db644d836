package schedule_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/schedule"
)

// subject is what the laws are about: the package, or a mutant.
type subject struct {
	next    func(s schedule.Schedule, after, last time.Time, r schedule.Random) time.Time
	allowed func(s schedule.Schedule, now, last time.Time) bool
	due     func(s schedule.Schedule, planned, now, last time.Time, r schedule.Random) (bool, time.Time)
}

func genuine() subject {
	return subject{next: schedule.Schedule.Next, allowed: schedule.Schedule.Allowed, due: schedule.Schedule.Due}
}

// mutant is the package with a mistake in what it says is next.
func mutant(next func(s schedule.Schedule, after, last time.Time, r schedule.Random) time.Time) subject {
	m := genuine()
	m.next = next
	return m
}

// question is a schedule asked about.
type question struct {
	s, other    schedule.Schedule
	after, last time.Time
	r           schedule.Random
	steps       []time.Duration // of the clock, one a day
	of          time.Duration   // a time of the day
}

// law is what must hold of any schedule at any instant; mutant breaks it.
type law struct {
	name   string
	check  func(subject, question) error
	mutant subject
}

func laws() []law {
	return []law{
		{"what is due is allowed, and not in the past", dueIsAllowed, mutant(func(s schedule.Schedule, after, last time.Time, r schedule.Random) time.Time {
			return slices.DeleteFunc(slices.Clone(s), func(e schedule.Expression) bool { return e.Excluded }).Next(after, last, r)
		})},
		{"nothing is allowed before what is due", nothingBefore, mutant(func(s schedule.Schedule, after, last time.Time, r schedule.Random) time.Time {
			return s.Next(after.Add(time.Hour), last, r)
		})},
		{"asking again later, the answer is the same", stable, mutant(func(s schedule.Schedule, after, last time.Time, r schedule.Random) time.Time {
			return s.Next(after, after, r)
		})},
		{"a run is not due again at once", advances, mutant(func(s schedule.Schedule, after, last time.Time, r schedule.Random) time.Time {
			return s.Next(after, last.Add(-48*time.Hour), r)
		})},
		{"a union is due with the first of its parts", union, mutant(func(s schedule.Schedule, after, last time.Time, r schedule.Random) time.Time {
			return s[:1].Next(after, last, r)
		})},
		{"an exclusion takes away what it covers and nothing else", exclusion, func() subject {
			m := genuine()
			m.allowed = func(s schedule.Schedule, now, last time.Time) bool { return s[:1].Allowed(now, last) }
			return m
		}()},
		{"a time of the day comes once each day, whatever the clocks do", daily, mutant(func(s schedule.Schedule, after, last time.Time, r schedule.Random) time.Time {
			_, offset := after.Zone()
			return s.Next(after.In(time.FixedZone("", offset)), last, r).In(after.Location())
		})},
		{"it is neither lost nor made twice when a clock is set", steps, func() subject {
			m := genuine()
			m.due = func(s schedule.Schedule, _, now, last time.Time, r schedule.Random) (bool, time.Time) {
				next := s.Next(now, last, r)
				return next.Equal(now), next
			}
			return m
		}()},
		{"the last that was allowed is, and nothing is since", previous, func() subject {
			m := genuine()
			m.allowed = func(s schedule.Schedule, now, last time.Time) bool { return s.Allowed(now.Add(-time.Minute), last) }
			return m
		}()},
	}
}

func TestLaws(t *testing.T) {
	t.Parallel()
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				if err := l.check(genuine(), questions().Draw(rt, "question")); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// A law that no mistake can break says nothing.
func TestEachLawCatchesAMutant(t *testing.T) {
	t.Parallel()
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for seed := range 5000 {
				if l.check(l.mutant, questions().Example(seed)) != nil {
					return
				}
			}
			t.Error("the mutant was not caught")
		})
	}
}

func dueIsAllowed(p subject, q question) error {
	n := p.next(q.s, q.after, q.last, q.r)
	switch {
	case n.IsZero():
		return nil
	case n.Before(q.after):
		return fmt.Errorf("due at %s, before %s", n, q.after)
	case !p.allowed(q.s, n, q.last):
		return fmt.Errorf("due at %s, where it is not allowed, the last at %s", n, q.last)
	}
	return nil
}

func nothingBefore(p subject, q question) error {
	n := p.next(q.s, q.after, q.last, schedule.Random{})
	end := q.after.AddDate(0, 1, 0)
	if !n.IsZero() && n.Before(end) {
		end = n
	}
	for _, at := range between(q.after, end) {
		if p.allowed(q.s, at, q.last) {
			return fmt.Errorf("allowed at %s, due at %s only, the last at %s", at, n, q.last)
		}
	}
	return nil
}

// between are instants from begin to end, the end left out: round ones of the
// clock, where things happen, and others.
func between(begin, end time.Time) []time.Time {
	var all []time.Time
	step := max(end.Sub(begin)/97, time.Second)
	for t := begin; t.Before(end); t = t.Add(step) {
		all = append(all, t)
		if round := t.Truncate(30 * time.Minute); !round.Before(begin) {
			all = append(all, round)
		}
	}
	if end.After(begin) {
		all = append(all, end.Add(-1))
	}
	return all
}

func stable(p subject, q question) error {
	n := p.next(q.s, q.after, q.last, q.r)
	if n.IsZero() {
		return nil
	}
	for _, at := range append(between(q.after, n), n) {
		if again := p.next(q.s, at, q.last, q.r); !again.Equal(n) {
			return fmt.Errorf("due at %s, and from %s on at %s, the last at %s", n, at, again, q.last)
		}
	}
	return nil
}

func advances(p subject, q question) error {
	at, last := q.after, q.last
	for range 5 {
		n := p.next(q.s, at, last, q.r)
		if n.IsZero() {
			return nil
		}
		if last.Equal(n) {
			return fmt.Errorf("run at %s, and due then again", n)
		}
		at, last = n, n
	}
	return nil
}

func union(p subject, q question) error {
	only := func(s schedule.Schedule) schedule.Schedule {
		return slices.DeleteFunc(slices.Clone(s), func(e schedule.Expression) bool { return e.Excluded })
	}
	a, b := only(q.s), only(q.other)
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	want := p.next(a[:1], q.after, q.last, q.r)
	for _, e := range slices.Concat(a[1:], b) {
		if n := p.next(schedule.Schedule{e}, q.after, q.last, q.r); !n.IsZero() && (want.IsZero() || n.Before(want)) {
			want = n
		}
	}
	if got := p.next(slices.Concat(a, b), q.after, q.last, q.r); !got.Equal(want) {
		return fmt.Errorf("both are due at %s, one of them at %s", got, want)
	}
	return nil
}

func exclusion(p subject, q question) error {
	out := slices.Clone(q.other)
	for i := range out {
		out[i].Excluded = false
	}
	all := slices.Clone(q.s)
	for _, e := range out {
		e.Excluded = true
		all = append(all, e)
	}
	for _, at := range between(q.after, q.after.AddDate(0, 0, 5)) {
		want := p.allowed(q.s, at, q.last) && !covers(out, at)
		if got := p.allowed(all, at, q.last); got != want {
			return fmt.Errorf("allowed at %s: %v, want %v", at, got, want)
		}
	}
	return nil
}

// covers tells whether a time is in a range, whatever its interval.
func covers(s schedule.Schedule, at time.Time) bool {
	whole := slices.Clone(s)
	for i := range whole {
		whole[i].Times = slices.Clone(whole[i].Times)
		for j := range whole[i].Times {
			whole[i].Times[j].Interval = nil
		}
	}
	return whole.Within(at)
}

// at is a schedule of one time of the day.
func at(of time.Duration) schedule.Schedule {
	return schedule.Schedule{{Times: []schedule.Times{{Begin: of, End: of + time.Second}}}}
}

func daily(p subject, q question) error {
	now, last := q.after, time.Time{}
	var day time.Time
	for range 60 {
		n := p.next(at(q.of), now, last, q.r)
		y, m, d := n.Date()
		today := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
		if gap := today.Sub(day); !day.IsZero() && gap != Day && n.Location().String() != "Pacific/Apia" { // which left a day out
			return fmt.Errorf("run on %s, then on %s", day, today)
		}
		day, now, last = today, n, n
	}
	return nil
}

// steps looks every few minutes, as an agent does, at a clock that is set forward
// and back by less than an hour, at noon.
func steps(p subject, q question) error {
	if q.of >= 23*time.Hour || q.of < time.Hour {
		return nil // the day of a run is not told from its time alone
	}
	base := time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)
	runs := map[int]int{}
	var offset time.Duration
	var last, former time.Time
	planned := p.next(at(q.of), base, last, q.r)
	for step := range 24 * 12 * len(q.steps) {
		elapsed := time.Duration(step) * 5 * time.Minute
		if elapsed%Day == 12*time.Hour {
			offset += q.steps[elapsed/Day]
		}
		now := base.Add(elapsed + offset)
		if now.Before(former) {
			planned = p.next(at(q.of), now, last, q.r)
		}
		var run bool
		if run, planned = p.due(at(q.of), planned, now, last, q.r); run {
			runs[now.YearDay()]++
			last = now
			planned = p.next(at(q.of), now, last, q.r)
		}
		former = now
	}
	for day := base.YearDay(); day < base.YearDay()+len(q.steps)-1; day++ {
		if runs[day] != 1 {
			return fmt.Errorf("%d runs at %s on day %d, the clock being set by %v", runs[day], q.of, day, q.steps)
		}
	}
	return nil
}

// Day is that of the universal time.
const Day = 24 * time.Hour

func previous(p subject, q question) error {
	at := q.s.Previous(q.after)
	if at.IsZero() {
		at = q.after.AddDate(0, -1, 0)
	} else if !p.allowed(q.s, at, time.Time{}) || at.After(q.after) {
		return fmt.Errorf("%s is not allowed, or after %s", at, q.after)
	}
	for _, since := range between(at.Add(time.Second), q.after.Add(1)) {
		if p.allowed(q.s, since, time.Time{}) {
			return fmt.Errorf("the last is %s, before %s, and %s is allowed", at, q.after, since)
		}
	}
	return nil
}

func TestDaysAreCountedOneByOne(t *testing.T) {
	t.Parallel()
	// What the calendar of the laws does not say: the days of whole years.
	for text, days := range map[string]int{"04:00": 365, "04:00 mon-fri": 261, "04:00 mon:first": 12, "04:00 fri:last": 12, "04:00 *:-1": 12, "04:00 *:31": 7, "04:00 sun:5th": 4, "04:00 * %2": 182} {
		s, n := parse(t, text), 0
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, paris(t))
		for at := s.Next(now, time.Time{}, schedule.Random{}); at.Year() == 2026; at = s.Next(at, at, schedule.Random{}) {
			n++
		}
		if n != days {
			t.Errorf("%q: %d days of 2026, want %d", text, n, days)
		}
	}
}

// questions draws schedules, and instants close to changes of the clocks.
func questions() *rapid.Generator[question] {
	return rapid.Custom(func(t *rapid.T) question {
		loc := zone(t, rapid.SampledFrom([]string{"UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Beirut", "Pacific/Apia", "Africa/Casablanca"}).Draw(t, "zone"))
		after := time.Unix(rapid.Int64Range(1_262_304_000, 1_893_456_000).Draw(t, "after"), 0).In(loc)
		if _, end := after.ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(t, "close") {
			after = end.Add(time.Duration(rapid.Int64Range(-2000, 500).Draw(t, "minutes")) * time.Minute).In(loc)
		}
		q := question{s: schedules().Draw(t, "schedule"), other: schedules().Draw(t, "other"), after: after}
		if rapid.Bool().Draw(t, "ran") {
			q.last = after.Add(-time.Duration(rapid.Int64Range(0, 4000).Draw(t, "ago")) * time.Minute)
		}
		q.r = schedule.NewRandom(rapid.StringN(0, 3, -1).Draw(t, "seed"))
		for range 10 {
			q.steps = append(q.steps, time.Duration(rapid.Int64Range(-50, 50).Draw(t, "step"))*time.Minute)
		}
		q.of = time.Duration(rapid.Int64Range(0, 86399).Draw(t, "of")) * time.Second
		return q
	})
}

func schedules() *rapid.Generator[schedule.Schedule] {
	return rapid.Custom(func(t *rapid.T) schedule.Schedule {
		one := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "part") }
		hour := func() string {
			return fmt.Sprintf("%d:%02d", rapid.IntRange(0, 23).Draw(t, "hour"), 15*rapid.IntRange(0, 3).Draw(t, "quarter"))
		}
		var s schedule.Schedule
		for range rapid.IntRange(1, 3).Draw(t, "expressions") {
			times := one("*", "@10m", "@45", "@1d", "@2d", "@0", hour(), hour()+"-"+hour(), "~"+hour()+"-"+hour(), hour()+"-"+hour()+"@"+one("1", "20m", "2h", "1d"), hour()+","+hour())
			text := one("", "", "", "!") + times + one("", "", " *", " mon-fri", " sat-mon", " wed,sun", " mon:first", " *:-1", " * *", " * %2+1", " * 10-20", " * * jan-mar", " * * nov-feb", " fri:last * *")
			e, err := schedule.Parse(text)
			if err != nil {
				t.Fatal(errors.Join(errors.New(text), err))
			}
			s = append(s, e...)
		}
		return s
	})
}

// No question about any schedule that can be read takes long, or fails.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{"@10m", "~00:00-06:00", "!02:00-04:00@120 mon-fri,sun:last %2+1 jan-mar", `["@0","*"]`, "23:59:59-00:00", "* *:-31 1-53%7+3 12"} {
		f.Add(seed, int64(1_774_745_000), int64(3600))
	}
	f.Fuzz(func(t *testing.T, text string, after, ago int64) {
		s, err := schedule.Parse(text)
		if err != nil || len(text) > 300 {
			return
		}
		q := question{s: s, after: time.Unix(after%(1<<33), 0).In(paris(t)), r: schedule.NewRandom(text)}
		if ago != 0 {
			q.last = q.after.Add(-time.Duration(max(ago, -ago, 0)%(1<<24)) * time.Second)
		}
		for _, l := range []func(subject, question) error{dueIsAllowed, advances} {
			if err := l(genuine(), q); err != nil {
				t.Error(err)
			}
		}
	})
}
