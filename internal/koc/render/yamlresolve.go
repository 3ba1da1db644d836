package render

import "strings"

// resolves reports whether YAML 1.1 would read a plain text as something else
// than a text.
func resolves(text string) bool {
	if text == "" {
		return true
	}
	switch text[0] {
	case 'y', 'Y', 'n', 'N', 't', 'T', 'f', 'F', 'o', 'O', '~', '<', '=':
		return resolvesWord(text)
	case '+', '-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return resolvesFloat(text) || resolvesInt(text) || resolvesTime(text)
	}
	return false
}

func resolvesWord(text string) bool {
	switch text {
	case "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF",
		"true", "True", "TRUE", "false", "False", "FALSE",
		"null", "Null", "NULL", "~", "<<", "=":
		return true
	}
	return false
}

// resolvesToday reports whether YAML 1.2, or one of its readers, would.
func resolvesToday(text string) bool {
	if text == "" {
		return true
	}
	s := scan(text)
	s.one("+-")
	if s.one("0") && s.one("xXoObB") {
		return s.any("0123456789abcdefABCDEF_") > 0 && s == ""
	}
	s = scan(text)
	if s.upTo(4) == 4 && s.one("-") && s.one(digits) {
		return true // may be a date
	}
	s = scan(text)
	s.one("+-")
	whole := s.any(underDigit)
	part := 0
	if s.one(".") {
		part = s.any(underDigit)
	}
	if whole+part == 0 {
		return false
	}
	if s.one("eE") {
		s.one("+-")
		return s.any(underDigit) > 0 && s == ""
	}
	return s == ""
}

// scan reads a text from its start, by character classes.
type scan string

func (s *scan) any(set string) int {
	n := 0
	for n < len(*s) && strings.IndexByte(set, (*s)[n]) >= 0 {
		n++
	}
	*s = (*s)[n:]
	return n
}

func (s *scan) one(set string) bool {
	if *s == "" || strings.IndexByte(set, (*s)[0]) < 0 {
		return false
	}
	*s = (*s)[1:]
	return true
}

const (
	digits     = "0123456789"
	underDigit = digits + "_"
)

func resolvesFloat(text string) bool {
	s := scan(text)
	signed := s.one("+-")
	if s.one(".") {
		switch s {
		case "inf", "Inf", "INF":
			return true
		case "nan", "NaN", "NAN":
			return !signed
		}
		return !signed && s.one(digits) && s.any(underDigit) >= 0 && s.exponent()
	}
	if !s.one(digits) {
		return false
	}
	s.any(underDigit)
	sexagesimal := s.sixties()
	if !s.one(".") {
		return false
	}
	s.any(underDigit)
	if sexagesimal {
		return s == ""
	}
	return s.exponent()
}

// exponent reads an optional exponent that ends the text.
func (s *scan) exponent() bool {
	if *s == "" {
		return true
	}
	return s.one("eE") && s.one("+-") && s.any(digits) > 0 && *s == ""
}

// sixties reads groups of :59.
func (s *scan) sixties() bool {
	found := false
	for len(*s) > 1 && (*s)[0] == ':' {
		rest := (*s)[1:]
		if !rest.one(digits) {
			break
		}
		if c := (*s)[1]; c <= '5' {
			rest.one(digits)
		}
		*s, found = rest, true
	}
	return found
}

func resolvesInt(text string) bool {
	s := scan(text)
	s.one("+-")
	if !s.one("0") {
		if !s.one("123456789") {
			return false
		}
		s.any(underDigit)
		s.sixties()
		return s == ""
	}
	switch {
	case s == "":
		return true
	case s.one("b"):
		return s.any("01_") > 0 && s == ""
	case s.one("x"):
		return s.any("0123456789abcdefABCDEF_") > 0 && s == ""
	}
	return s.any("01234567_") > 0 && s == ""
}

func resolvesTime(text string) bool {
	s := scan(text)
	if s.upTo(4) != 4 || !s.one("-") {
		return false
	}
	month := s.upTo(2)
	if month == 0 || !s.one("-") {
		return false
	}
	day := s.upTo(2)
	if day == 0 {
		return false
	}
	if s == "" {
		return month == 2 && day == 2
	}
	if !s.one("Tt") && s.any(" \t") == 0 {
		return false
	}
	if s.upTo(2) == 0 || !s.one(":") || s.upTo(2) != 2 || !s.one(":") || s.upTo(2) != 2 {
		return false
	}
	if s.one(".") {
		s.any(digits)
	}
	if s == "" {
		return true
	}
	s.any(" \t")
	if s.one("Z") {
		return s == ""
	}
	if !s.one("+-") || s.upTo(2) == 0 {
		return false
	}
	return s == "" || s.one(":") && s.upTo(2) == 2 && s == ""
}

// upTo reads at most n digits.
func (s *scan) upTo(n int) int {
	got := 0
	for got < n && s.one(digits) {
		got++
	}
	return got
}
