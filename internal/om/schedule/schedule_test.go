package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/schedule"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const day = schedule.Whole
	for text, want := range map[string]schedule.Schedule{
		"":                 nil,
		"  ":               nil,
		"[]":               nil,
		"*":                {{Times: []schedule.Times{{End: day}}}},
		"@0":               {{Times: []schedule.Times{{End: day, Interval: new(time.Duration(0))}}}},
		"@10m":             {{Times: []schedule.Times{{End: day, Interval: new(10 * time.Minute)}}}},
		"*@10":             {{Times: []schedule.Times{{End: day, Interval: new(10 * time.Minute)}}}},
		"@1d":              {{Times: []schedule.Times{{End: day, Interval: new(day)}}}},
		"~00:00-06:00":     {{Times: []schedule.Times{{Random: true, End: 6 * time.Hour}}}},
		"4:00":             {{Times: []schedule.Times{{Begin: 4 * time.Hour, End: 4*time.Hour + time.Second}}}},
		"23:00:30-01:00@2": {{Times: []schedule.Times{{Begin: 23*time.Hour + 30*time.Second, End: time.Hour, Interval: new(2 * time.Minute)}}}},
		"22:00-24:00":      {{Times: []schedule.Times{{Begin: 22 * time.Hour, End: day}}}},
		"02:00-04:00@120 sat,sun": {{
			Times: []schedule.Times{{Begin: 2 * time.Hour, End: 4 * time.Hour, Interval: new(2 * time.Hour)}},
			Days:  []schedule.Days{{First: 6, Last: 6}, {First: 7, Last: 7}},
		}},
		"!12:00-14:00 mon-FRI,monday:first,*:-1,7:2nd %2+1 jan-3,june": {{
			Excluded: true,
			Times:    []schedule.Times{{Begin: 12 * time.Hour, End: 14 * time.Hour}},
			Days:     []schedule.Days{{First: 1, Last: 5}, {First: 1, Last: 1, Nth: 1}, {Nth: -1}, {First: 7, Last: 7, Nth: 2}},
			Weeks:    []schedule.Span{{Modulo: 2, Remainder: 1}},
			Months:   []schedule.Span{{First: 1, Last: 3}, {First: 6, Last: 6}},
		}},
		"* * 10-53%4 *": {{
			Times: []schedule.Times{{End: day}}, Days: []schedule.Days{{}},
			Weeks: []schedule.Span{{First: 10, Last: 53, Modulo: 4}}, Months: []schedule.Span{{}},
		}},
		`["@10m", "", "!04:00-05:00"]`: {
			{Times: []schedule.Times{{End: day, Interval: new(10 * time.Minute)}}},
			{Excluded: true, Times: []schedule.Times{{Begin: 4 * time.Hour, End: 5 * time.Hour}}},
		},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			got, err := schedule.Parse(text)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNoScheduleIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"garbage":                 `"garbage" is no time range: "garbage" is not a time of the day: write it as 04:00-06:00`,
		"25:00":                   `"25:00" is not a time of the day`,
		"24:01":                   `"24:01" is not a time of the day`,
		"24:00":                   "a range begins before midnight",
		"4:5":                     `"4:5" is not a time of the day`,
		"04:00-":                  `"" is not a time of the day`,
		"04:00,":                  `"" is no time range`,
		"@":                       `interval ""`,
		"@10x":                    `interval "10x": not a duration`,
		"@-1":                     `interval "-1"`,
		"!":                       `"!" excludes nothing`,
		"* someday":               `"someday" is not a day: write a number from 1 to 7, or a name as mon`,
		"* 8":                     `"8" is not a day`,
		"* mon:6":                 `"6" is none of the 5 there may be in a month`,
		"* *:32":                  `"32" is none of the 31 there may be in a month`,
		"* mon:often":             `"often" is none of the 5`,
		"* * 54":                  `"54" is not a week: write a number from 1 to 53`,
		"* * %0":                  `"%0": write one week out of n`,
		"* * %2+2":                `with k less than n`,
		"* * * 13":                `"13" is not a month`,
		"* * * * *":               `"*": write at most four parts`,
		"[1]":                     `not a list of schedules`,
		`["@10m","garbage"]`:      `"garbage" is no time range`,
		strings.Repeat("*", 5000): "a schedule of 5000 bytes",
	} {
		if err := schedule.Check(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "@10m", "~00:00-06:00", "!02:00-04:00@120 mon-fri,sun:last %2+1 jan-mar", `["@0"]`, "[", "24:00-24:00", "* *:-31 1-53%7+3 12"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schedule.Parse(text)
		if err != nil {
			if s != nil {
				t.Errorf("%q: a schedule and an error", text)
			}
			return
		}
		for _, e := range s {
			if len(e.Times) == 0 {
				t.Errorf("%q: an expression without times", text)
			}
			for _, at := range e.Times {
				if at.Begin < 0 || at.Begin >= schedule.Whole || at.End < 0 || at.End > schedule.Whole || at.Interval != nil && *at.Interval < 0 {
					t.Errorf("%q: %+v is out of a day", text, at)
				}
			}
			for _, d := range e.Days {
				if d.First < 0 || d.Last > 7 || (d.First == 0) != (d.Last == 0) || d.Nth < -31 || d.Nth > 31 {
					t.Errorf("%q: %+v are no days", text, d)
				}
			}
			for _, w := range append(e.Weeks, e.Months...) {
				if w.First < 0 || w.Last > 53 || w.Modulo < 0 || w.Remainder < 0 || w.Modulo > 0 && w.Remainder >= w.Modulo {
					t.Errorf("%q: %+v is no span", text, w)
				}
			}
		}
	})
}
