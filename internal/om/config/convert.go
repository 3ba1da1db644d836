package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// ParseBool reads 1 t true 0 f false in any usual case; empty is false.
func ParseBool(s string) (bool, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, errors.New("not a boolean: write true or false")
	}
	return b, nil
}

// A unit is a suffix of a number, and how many of the smallest one it is.
type unit struct {
	suffix string
	factor int64
}

// durationUnits go from the longest to the shortest; the first seven print.
func durationUnits() []unit {
	return []unit{
		{"d", 24 * int64(time.Hour)},
		{"h", int64(time.Hour)},
		{"m", int64(time.Minute)},
		{"s", int64(time.Second)},
		{"ms", int64(time.Millisecond)},
		{"us", int64(time.Microsecond)},
		{"ns", 1},
		{"w", 7 * 24 * int64(time.Hour)},
		{"y", 365 * 24 * int64(time.Hour)},
		{"µs", int64(time.Microsecond)},
	}
}

// sizeUnits are the binary and decimal prefixes, smallest first.
const sizeUnits = "kmgtpezy"

// ParseSize reads a number of bytes: 10m, 10mi and 10mib are binary, 10mb is decimal.
// A fraction of a byte is dropped.
func ParseSize(s string) (int64, error) {
	s = strings.TrimSpace(s)
	if strings.Contains(s, "%") {
		return 0, errors.New("a percentage of nothing: write $(50% * {section.option})")
	}
	number, suffix := splitNumber(s)
	factor, ok := sizeFactor(suffix)
	if number == "" || !ok {
		return 0, errors.New("not a size: write a number and a unit, as 10g (binary) or 10gb (decimal)")
	}
	return scale(number, factor, "a size of at most 8 EiB")
}

// sizeFactor returns the bytes of a unit.
func sizeFactor(suffix string) (*big.Int, bool) {
	suffix = strings.ToLower(suffix)
	if suffix == "" || suffix == "b" {
		return big.NewInt(1), true
	}
	power := strings.IndexByte(sizeUnits, suffix[0]) + 1
	if power == 0 {
		return nil, false
	}
	base := int64(1024)
	switch suffix[1:] {
	case "", "i", "ib":
	case "b":
		base = 1000
	default:
		return nil, false
	}
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(power)), nil), true
}

// FormatSize prints bytes as [ParseSize] reads them, exactly.
func FormatSize(n int64) string {
	if n <= 0 {
		return strconv.FormatInt(n, 10)
	}
	power := 0
	for n%1024 == 0 && power < len(sizeUnits) {
		n /= 1024
		power++
	}
	if power == 0 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10) + sizeUnits[power-1:power]
}

// ParseDuration reads concatenated <n><unit>, units ns us ms s m h d w y; a bare
// number is seconds. A fraction of a nanosecond is dropped.
func ParseDuration(s string) (time.Duration, error) {
	bad := errors.New("not a duration: write numbers and units, as 1h30m or 500ms (units ns us ms s m h d w y)")
	rest := strings.TrimSpace(s)
	if rest == "" {
		return 0, bad
	}
	var total time.Duration
	for rest != "" {
		number, tail := splitNumber(rest)
		n := 0
		for n < len(tail) && tail[n] != '.' && (tail[n] < '0' || tail[n] > '9') {
			n++
		}
		factor, ok := durationFactor(tail[:n])
		if number == "" || !ok || tail[:n] == "" && len(number) != len(strings.TrimSpace(s)) {
			return 0, bad
		}
		part, err := scale(number, big.NewInt(factor), "a duration of at most 292 years")
		if err != nil {
			return 0, err
		}
		total += time.Duration(part)
		if total < 0 {
			return 0, errors.New("too large: write a duration of at most 292 years")
		}
		rest = tail[n:]
	}
	return total, nil
}

func durationFactor(suffix string) (int64, bool) {
	if suffix == "" {
		return int64(time.Second), true
	}
	for _, u := range durationUnits() {
		if u.suffix == suffix {
			return u.factor, true
		}
	}
	return 0, false
}

// FormatDuration prints a duration as [ParseDuration] reads it, exactly.
func FormatDuration(d time.Duration) string {
	if d < 0 {
		return "-" + strings.TrimPrefix(FormatDuration(-d), "-")
	}
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	left := int64(d)
	for _, u := range durationUnits()[:7] {
		if n := left / u.factor; n > 0 {
			b.WriteString(strconv.FormatInt(n, 10))
			b.WriteString(u.suffix)
			left %= u.factor
		}
	}
	return b.String()
}

// splitNumber cuts s after the digits and the point it starts with.
func splitNumber(s string) (number, rest string) {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '.') {
		n++
	}
	return s[:n], s[n:]
}

// maxDigits bounds the numbers that are computed with.
const maxDigits = 40

// parseDecimal reads digits with at most one point.
func parseDecimal(number string) (*big.Rat, bool) {
	if len(number) == 0 || len(number) > maxDigits || strings.Count(number, ".") > 1 || number == "." {
		return nil, false
	}
	return new(big.Rat).SetString(number)
}

// scale multiplies a decimal, dropping what is less than one.
func scale(number string, factor *big.Int, limit string) (int64, error) {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && factor.IsInt64() && n <= math.MaxInt64/factor.Int64() {
		return n * factor.Int64(), nil // most values
	}
	r, ok := parseDecimal(number)
	if !ok {
		return 0, fmt.Errorf("%q is not a number", number)
	}
	r.Mul(r, new(big.Rat).SetInt(factor))
	whole := new(big.Int).Quo(r.Num(), r.Denom())
	if !whole.IsInt64() {
		return 0, errors.New("too large: write " + limit)
	}
	return whole.Int64(), nil
}

// ParseShlex splits shell words: blanks separate, quotes and backslashes protect.
func ParseShlex(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	started := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r', '\v', '\f':
			if started {
				words = append(words, word.String())
				word.Reset()
				started = false
			}
			continue
		case '\'', '"':
			n, err := quotedWord(s[i:], &word)
			if err != nil {
				return nil, err
			}
			i += n - 1
		case '\\':
			i++
			if i == len(s) {
				return nil, errors.New("ends with a backslash: double it, or quote it")
			}
			word.WriteByte(s[i])
		default:
			word.WriteByte(c)
		}
		started = true
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}

// quotedWord reads the quoted text s starts with and returns its length.
func quotedWord(s string, word *strings.Builder) (int, error) {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i + 1, nil
		case quote == '"' && s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\"\\$`\n", s[i+1]) >= 0:
			i++
			if s[i] != '\n' {
				word.WriteByte(s[i])
			}
		default:
			word.WriteByte(s[i])
		}
	}
	return 0, fmt.Errorf("the quote %c is not closed", quote)
}

// ParseUmask reads an octal mask.
func ParseUmask(s string) (fs.FileMode, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n > 0o777 || len(s) > 4 {
		return 0, errors.New("not a mask: write octal digits, as 022")
	}
	return fs.FileMode(n), nil
}

// ParseFileMode reads three or four octal digits, setuid, setgid and sticky included.
func ParseFileMode(s string) (fs.FileMode, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || len(s) != 3 && len(s) != 4 {
		return 0, errors.New("not a file mode: write three or four octal digits, as 0755")
	}
	mode := fs.FileMode(n & 0o777)
	for _, special := range []struct {
		digit uint64
		bit   fs.FileMode
	}{{0o4000, fs.ModeSetuid}, {0o2000, fs.ModeSetgid}, {0o1000, fs.ModeSticky}} {
		if n&special.digit != 0 {
			mode |= special.bit
		}
	}
	return mode, nil
}
