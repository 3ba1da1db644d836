package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// A scale is what numbers and names a span may be made of.
type scale struct {
	what  string
	last  int
	names []string // of 1, 2, ...
}

func weeks() scale { return scale{what: "week", last: 53} }

func months() scale {
	return scale{what: "month", last: 12, names: []string{
		"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
	}}
}

func weekdays() scale {
	return scale{what: "day", last: 7, names: []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}}
}

// number reads a number of the scale, or a name, whole or its first three letters.
func (s scale) number(text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= s.last && text[0] != '+' {
		return n, nil
	}
	for i, name := range s.names {
		if lower := strings.ToLower(text); lower == name || lower == name[:3] {
			return i + 1, nil
		}
	}
	if len(s.names) > 0 {
		return 0, fmt.Errorf("%q is not a %s: write a number from 1 to %d, or a name as %s", text, s.what, s.last, s.names[0][:3])
	}
	return 0, fmt.Errorf("%q is not a %s: write a number from 1 to %d", text, s.what, s.last)
}

// bounds reads "*", one number or a range.
func (s scale) bounds(text string) (first, last int, err error) {
	if text == "*" {
		return 0, 0, nil
	}
	begin, end, ranged := strings.Cut(text, "-")
	if first, err = s.number(begin); err != nil || !ranged {
		return first, first, err
	}
	last, err = s.number(end)
	return first, last, err
}

func (s scale) parse(text string) (span Span, err error) {
	numbers, modulo, divided := strings.Cut(text, "%")
	if divided {
		m, r, shifted := strings.Cut(modulo, "+")
		span.Modulo, err = strconv.Atoi(m)
		if err == nil && shifted {
			span.Remainder, err = strconv.Atoi(r)
		}
		if err != nil || span.Modulo < 1 || span.Modulo > s.last || span.Remainder < 0 || span.Remainder >= span.Modulo {
			return span, fmt.Errorf("%q: write one %s out of n as %%n, or %%n+k with k less than n", text, s.what)
		}
		if numbers == "" {
			return span, nil
		}
	}
	span.First, span.Last, err = s.bounds(numbers)
	return span, err
}

func parseDays(text string) (d Days, err error) {
	days, which, chosen := strings.Cut(text, ":")
	if d.First, d.Last, err = weekdays().bounds(days); err != nil || !chosen {
		return d, err
	}
	most := min(31, 5*d.width())
	if d.Nth, err = ordinal(which); err != nil || d.Nth == 0 || d.Nth > most || d.Nth < -most {
		return d, fmt.Errorf("%q: %q is none of the %d there may be in a month: write first, 2nd, 3, last or -2", text, which, most)
	}
	return d, nil
}

// width is how many days of a week the range has.
func (s Days) width() int {
	switch {
	case s.First == 0:
		return 7
	case s.First <= s.Last:
		return s.Last - s.First + 1
	default:
		return s.Last + 8 - s.First
	}
}

func ordinal(text string) (int, error) {
	switch text {
	case "first", "1st":
		return 1, nil
	case "2nd":
		return 2, nil
	case "3rd":
		return 3, nil
	case "4th":
		return 4, nil
	case "5th":
		return 5, nil
	case "last":
		return -1, nil
	}
	return strconv.Atoi(text)
}
