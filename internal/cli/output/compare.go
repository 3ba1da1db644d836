package output

import (
	"cmp"
	"strconv"
	"time"
)

// The comparisons of templates replace those of Go, which refuse to compare "10"
// with 9: what a configuration holds is text, and what it means a number, or a
// duration, which counts in seconds.

// anyEqual tells whether a is one of the others.
func anyEqual(a any, others ...any) bool {
	for _, b := range others {
		if equal(a, b) {
			return true
		}
	}
	return false
}

func equal(a, b any) bool {
	x, isNumber := number(a)
	y, areNumbers := number(b)
	if isNumber && areNumbers {
		return x == y
	}
	return Text(a) == Text(b)
}

// ordered tells whether a and b are in an order: of numbers, or of texts. A
// number and a word are in none.
func ordered(a, b any, wanted func(order int) bool) bool {
	x, isNumber := number(a)
	y, areNumbers := number(b)
	switch {
	case isNumber && areNumbers:
		return wanted(cmp.Compare(x, y))
	case isNumber != areNumbers:
		return false
	}
	return wanted(cmp.Compare(Text(a), Text(b)))
}

func number(v any) (float64, bool) {
	if _, isBool := v.(bool); isBool {
		return 0, false
	}
	text := Text(v)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n, true
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), true
	}
	return 0, false
}
