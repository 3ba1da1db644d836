package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a span of time that remembers how it was written, since messages
// repeat it: "40m" is not shown as "40m0s".
type Duration struct {
	time.Duration
	text string
}

// String is the duration as it was written.
func (d Duration) String() string {
	if d.text == "" {
		return d.Duration.String()
	}
	return d.text
}

// Seconds returns a duration of so many seconds.
func Seconds(n int) Duration {
	return Duration{Duration: time.Duration(n) * time.Second, text: strconv.Itoa(n) + "s"}
}

const durationPattern = `^\s*[0-9]+[hms]?\s*$`

// ParseDuration reads digits with an optional suffix h, m or s; without one they
// are seconds. "1h30m", signs and fractions are errors.
func ParseDuration(text string) (Duration, error) {
	trimmed := strings.TrimSpace(text)
	seconds, err := parseSeconds(trimmed)
	if err != nil || seconds > math.MaxInt64/int64(time.Second) {
		return Duration{}, fmt.Errorf("invalid duration '%s' (expected forms like 40m, 2h, 90s, or bare seconds)", text)
	}
	return Duration{Duration: time.Duration(seconds) * time.Second, text: trimmed}, nil
}

func parseSeconds(text string) (int64, error) {
	unit := int64(1)
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'h':
			unit, text = 3600, text[:n-1]
		case 'm':
			unit, text = 60, text[:n-1]
		case 's':
			text = text[:n-1]
		}
	}
	n, err := digits(text)
	if err != nil {
		return 0, err
	}
	if n > math.MaxInt64/unit {
		return 0, strconv.ErrRange
	}
	return n * unit, nil
}

// digits reads a number that is written with ASCII digits only.
func digits(text string) (int64, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(text, 10, 64)
}
