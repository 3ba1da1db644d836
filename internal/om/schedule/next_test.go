package schedule_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the clocks of the laws change the same way everywhere

	"github.com/holdfast-ops/holdfast/internal/om/schedule"
)

func parse(t interface{ Fatal(...any) }, text string) schedule.Schedule {
	s, err := schedule.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func paris(t *testing.T) *time.Location {
	t.Helper()
	return zone(t, "Europe/Paris")
}

func zone(t interface{ Fatal(...any) }, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

const stamp = "2006-01-02 15:04:05 MST"

// clock reads a time of Paris; the zone tells apart the hour that comes twice.
func clock(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	at, err := time.ParseInLocation(stamp, text, paris(t))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schedule, after, last, want string }{
		"an empty schedule never":           {"", "2026-03-02 10:00:00 CET", "", ""},
		"@0 never":                          {"@0", "2026-03-02 10:00:00 CET", "", ""},
		"days that do not exist never":      {"* *:31 * feb", "2026-03-02 10:00:00 CET", "", ""},
		"only exclusions never":             {"!12:00-14:00", "2026-03-02 10:00:00 CET", "", ""},
		"what never ran is due at once":     {"@10m", "2026-03-02 10:00:00 CET", "", "2026-03-02 10:00:00 CET"},
		"an interval counts from the last":  {"@10m", "2026-03-02 10:00:00 CET", "2026-03-02 09:55:00 CET", "2026-03-02 10:05:00 CET"},
		"an interval that is over":          {"@10m", "2026-03-02 10:00:00 CET", "2026-03-02 08:00:00 CET", "2026-03-02 10:00:00 CET"},
		"after the range, the next day":     {"04:00-06:00@30m", "2026-03-02 10:00:00 CET", "2026-03-02 05:50:00 CET", "2026-03-03 04:00:00 CET"},
		"an interval inside a range":        {"04:00-06:00@30m", "2026-03-02 04:45:00 CET", "2026-03-02 04:30:00 CET", "2026-03-02 05:00:00 CET"},
		"a range once":                      {"04:00-06:00", "2026-03-02 05:00:00 CET", "2026-03-02 04:00:00 CET", "2026-03-03 04:00:00 CET"},
		"a range in the midst of it":        {"04:00-06:00", "2026-03-02 05:00:00 CET", "2026-03-01 04:00:00 CET", "2026-03-02 05:00:00 CET"},
		"a range over midnight":             {"22:00-02:00 sat", "2026-03-08 01:00:00 CET", "2026-03-01 22:00:00 CET", "2026-03-08 01:00:00 CET"},
		"it belongs to the day it began":    {"22:00-02:00 sun", "2026-03-08 01:00:00 CET", "2026-03-01 22:00:00 CET", "2026-03-08 22:00:00 CET"},
		"two times":                         {"04:00,16:00", "2026-03-02 10:00:00 CET", "2026-03-02 04:00:00 CET", "2026-03-02 16:00:00 CET"},
		"the first Monday":                  {"04:00 mon:first", "2026-03-02 10:00:00 CET", "", "2026-04-06 04:00:00 CEST"},
		"the last Friday":                   {"04:00 fri:last", "2026-03-02 10:00:00 CET", "", "2026-03-27 04:00:00 CET"},
		"the third Wednesday":               {"04:00 wed:3rd", "2026-03-02 10:00:00 CET", "", "2026-03-18 04:00:00 CET"},
		"the fifth Sunday":                  {"04:00 sun:5th", "2026-03-02 10:00:00 CET", "", "2026-03-29 04:00:00 CEST"},
		"the last working day":              {"18:00 mon-fri:last", "2026-05-02 10:00:00 CEST", "", "2026-05-29 18:00:00 CEST"},
		"the last day":                      {"04:00 *:-1", "2026-02-02 10:00:00 CET", "", "2026-02-28 04:00:00 CET"},
		"the 15th":                          {"04:00 *:15", "2026-02-02 10:00:00 CET", "", "2026-02-15 04:00:00 CET"},
		"odd weeks":                         {"04:00 mon %2+1", "2026-03-03 10:00:00 CET", "", "2026-03-09 04:00:00 CET"},
		"week 53":                           {"04:00 mon 53", "2027-01-05 10:00:00 CET", "", "2032-12-27 04:00:00 CET"},
		"winter":                            {"04:00 * * nov-feb", "2026-03-02 10:00:00 CET", "", "2026-11-01 04:00:00 CET"},
		"the 29th of February":              {"04:00 *:29 * feb", "2026-03-02 10:00:00 CET", "", "2028-02-29 04:00:00 CET"},
		"an exclusion delays":               {`["@10m","!12:00-14:00"]`, "2026-03-02 12:00:00 CET", "2026-03-02 11:50:00 CET", "2026-03-02 14:00:00 CET"},
		"exclusions that follow each other": {`["@10m","!12:00-14:00","!13:00-15:00"]`, "2026-03-02 12:30:00 CET", "", "2026-03-02 15:00:00 CET"},
		"an exclusion of the whole range":   {`["13:00","!12:00-14:00 mon-fri"]`, "2026-03-02 10:00:00 CET", "", "2026-03-07 13:00:00 CET"},
		"a list is a union":                 {`["04:00 mon","16:00 tue"]`, "2026-03-02 10:00:00 CET", "2026-03-02 04:00:00 CET", "2026-03-03 16:00:00 CET"},
		"once a day at the same hour":       {"@1d", "2026-03-29 05:00:00 CEST", "2026-03-28 10:00:00 CET", "2026-03-29 10:00:00 CEST"},
		"every two days":                    {"@2d", "2026-03-29 05:00:00 CEST", "2026-03-28 10:00:00 CET", "2026-03-30 10:00:00 CEST"},
		"a time that spring skips":          {"02:30", "2026-03-29 00:00:00 CET", "2026-03-28 02:30:00 CET", "2026-03-29 03:00:00 CEST"},
		"a range that spring skips":         {"02:00-03:00", "2026-03-29 00:00:00 CET", "2026-03-28 02:30:00 CET", "2026-03-29 03:00:00 CEST"},
		"a time that autumn shows twice":    {"02:30", "2026-10-25 00:00:00 CEST", "2026-10-24 02:30:00 CEST", "2026-10-25 02:30:00 CEST"},
		"it is not run twice":               {"02:30", "2026-10-25 02:30:01 CEST", "2026-10-25 02:30:00 CEST", "2026-10-26 02:30:00 CET"},
		"a range shown twice":               {"02:00-04:00@120", "2026-10-25 02:00:01 CEST", "2026-10-25 02:00:00 CEST", "2026-10-26 02:00:00 CET"},
		"minutes go on in autumn":           {"@10m", "2026-10-25 02:55:00 CEST", "2026-10-25 02:50:00 CEST", "2026-10-25 02:00:00 CET"},
		"a clock set back repeats no range": {"10:30", "2026-03-02 10:00:00 CET", "2026-03-02 10:30:00 CET", "2026-03-03 10:30:00 CET"},
		"a clock set back, an interval":     {"@10m", "2026-03-02 10:00:00 CET", "2026-03-02 10:50:00 CET", "2026-03-02 10:10:00 CET"},
		"a clock that was years ahead":      {"10:30", "2026-03-02 10:00:00 CET", "2038-01-19 03:14:07 CET", "2026-03-02 10:30:00 CET"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := parse(t, c.schedule).Next(clock(t, c.after), clock(t, c.last), schedule.Random{})

			if want := clock(t, c.want); !got.Equal(want) {
				t.Errorf("%q after %s, last %s: %s, want %s", c.schedule, c.after, c.last, got.Format(stamp), want.Format(stamp))
			}
		})
	}
}

func TestARunThatWasMissedIsMadeUpFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schedule, due, now string
		want               bool
	}{
		"while its range lasts":         {"04:00-12:00", "2026-03-02 04:00:00 CET", "2026-03-02 11:59:00 CET", true},
		"not in the range of a day on":  {"04:00-12:00", "2026-03-02 04:00:00 CET", "2026-03-03 06:00:00 CET", false},
		"an hour after its time":        {"04:00", "2026-03-02 04:00:00 CET", "2026-03-02 05:00:00 CET", true},
		"no later":                      {"04:00", "2026-03-02 04:00:00 CET", "2026-03-02 05:00:01 CET", false},
		"not where nothing may run":     {`["04:00","!04:10-09:00"]`, "2026-03-02 04:00:00 CET", "2026-03-02 04:30:00 CET", false},
		"any time of the day all day":   {"@10m", "2026-03-02 04:00:00 CET", "2026-03-02 14:30:00 CET", true},
		"an hour of the clock of Paris": {"02:30", "2026-10-25 02:30:00 CEST", "2026-10-25 02:40:00 CET", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := parse(t, c.schedule).Late(clock(t, c.now), clock(t, c.due)); got != c.want {
				t.Errorf("due at %s, now %s: %v", c.due, c.now, got)
			}
		})
	}
}

func TestPrevious(t *testing.T) {
	t.Parallel()
	const tick = time.Nanosecond
	for name, c := range map[string]struct {
		schedule, before, want string
		less                   time.Duration
	}{
		"now":                          {"@10m", "2026-03-02 10:00:00 CET", "2026-03-02 10:00:00 CET", 0},
		"the end of the range":         {"04:00-06:00 sun", "2026-03-02 10:00:00 CET", "2026-03-01 06:00:00 CET", tick},
		"before what is excluded":      {`["*","!09:00-11:00"]`, "2026-03-02 10:00:00 CET", "2026-03-02 09:00:00 CET", tick},
		"a range of the day before":    {"22:00-02:00", "2026-03-02 10:00:00 CET", "2026-03-02 02:00:00 CET", tick},
		"years ago":                    {"04:00 *:29 * feb", "2026-03-02 10:00:00 CET", "2024-02-29 04:00:01 CET", tick},
		"never":                        {"@0", "2026-03-02 10:00:00 CET", "", 0},
		"never, of a day there is not": {"* *:31 * apr", "2026-03-02 10:00:00 CET", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := parse(t, c.schedule).Previous(clock(t, c.before))

			if want := clock(t, c.want).Add(-c.less); !got.Equal(want) {
				t.Errorf("%s, want %s", got.Format(time.RFC3339Nano), want.Format(time.RFC3339Nano))
			}
		})
	}
}

func TestARandomMomentIsOneOfTheRangeAndStays(t *testing.T) {
	t.Parallel()
	s := parse(t, "~00:00-06:00")
	begin := clock(t, "2026-03-02 00:00:00 CET")
	var hours [6]int
	for i := range 6000 {
		r := schedule.NewRandom(string(rune('a'+i%26)) + time.Duration(i).String())
		at := s.Next(begin, time.Time{}, r)
		if again := s.Next(begin.Add(-3*time.Hour), begin.Add(-time.Hour), r); !again.Equal(at) {
			t.Fatalf("%s, then %s", at, again)
		}
		if !s.Within(at) {
			t.Fatalf("%s is out of the range", at)
		}
		hours[int(at.Sub(begin)/time.Hour)]++
	}

	for hour, n := range hours {
		if n < 800 || n > 1200 {
			t.Errorf("%d of 6000 jobs run between %d and %d o'clock", n, hour, hour+1)
		}
	}
	if at := parse(t, "~00:00-06:00@30m").Next(begin, time.Time{}, schedule.NewRandom("x")); !at.Equal(begin) {
		t.Errorf("a short interval waits until %s", at)
	}
}

// What takes the most is bounded: a list of hundreds of exclusions that leave
// nothing.
func TestAHopelessScheduleIsGivenUp(t *testing.T) {
	t.Parallel()
	s := parse(t, "["+strings.Repeat(`"* mon-sun:1st","!*",`, 90)+`"!*"]`)

	got := s.Next(clock(t, "2026-03-02 00:00:00 CET"), time.Time{}, schedule.Random{})

	if !got.IsZero() { // without its bound it would take minutes to say so
		t.Errorf("due at %s", got)
	}
}
