package object

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// HasGlob reports whether text holds a character that [Glob] does not take literally.
func HasGlob(text string) bool { return strings.ContainsAny(text, "*?[]") }

// Glob reports whether the whole text matches pattern, as the fnmatch function
// of the C library does without flags: "*" is any run of characters, "/"
// included, "?" any one character, "[a-c]" one of a set, "[!a-c]" one out of a
// set, and a backslash takes the next character literally. A bracket that is
// not closed is literal.
func Glob(pattern, text string) bool {
	// Where to come back to when a literal part does not match: the last star
	// seen, swallowing one character more each time.
	star, resume := -1, 0
	p, t := 0, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			star, resume = p, t
			p++
			continue
		}
		if pn, tn, ok := matchOne(pattern[p:], text[t:]); ok {
			p, t = p+pn, t+tn
			continue
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(text[resume:])
		resume += n
		p, t = star+1, resume
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Among returns the names that a pattern designates: the one spelled so if there
// is one, else those it matches.
func Among(pattern string, names []string) ([]string, error) {
	if slices.Contains(names, pattern) {
		return []string{pattern}, nil
	}
	if !HasGlob(pattern) {
		return nil, nil
	}
	if err := CheckGlob(pattern); err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		if Glob(pattern, name) {
			found = append(found, name)
		}
	}
	return found, nil
}

// CheckGlob refuses the patterns that [Glob] takes literally where a set was
// meant: they match nothing.
func CheckGlob(pattern string) error {
	if unclosed(pattern) {
		return errors.New("the bracket is not closed: write [...], names hold none")
	}
	return nil
}

// unclosed reports whether a bracket of pattern is not closed, or closes nothing.
func unclosed(pattern string) bool {
	for len(pattern) > 0 {
		n := 1
		switch pattern[0] {
		case '[':
			var closed bool
			if n, _, closed = matchSet(pattern, 0); !closed {
				return true
			}
		case ']':
			return true
		case '\\':
			n = min(2, len(pattern))
		}
		pattern = pattern[n:]
	}
	return false
}

// matchOne matches the first character of text, which is not empty, with the
// first item of pattern. It returns the bytes each of them takes.
func matchOne(pattern, text string) (patternLen, textLen int, ok bool) {
	if pattern == "" {
		return 0, 0, false
	}
	c, textLen := utf8.DecodeRuneInString(text)
	switch pattern[0] {
	case '?':
		return 1, textLen, true
	case '[':
		if n, in, closed := matchSet(pattern, c); closed {
			return n, textLen, in
		}
	case '\\':
		if len(pattern) > 1 {
			want, n := utf8.DecodeRuneInString(pattern[1:])
			return 1 + n, textLen, want == c && pattern[1:1+n] == text[:textLen]
		}
	}
	_, n := utf8.DecodeRuneInString(pattern)
	return n, textLen, pattern[:n] == text[:textLen]
}

// matchSet tells whether c is in the bracket expression pattern begins with,
// and how long that expression is.
func matchSet(pattern string, c rune) (n int, in, closed bool) {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return i + 1, in != negated, true
		}
		low, size := setRune(pattern[i:])
		i += size
		high := low
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			high, size = setRune(pattern[i+1:])
			i += 1 + size
		}
		in = in || low <= c && c <= high
	}
	return 0, false, false
}

func setRune(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, 1 + n
	}
	return utf8.DecodeRuneInString(s)
}
