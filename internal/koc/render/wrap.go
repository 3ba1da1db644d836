package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wrap breaks a line so that its parts fit: between words, after hyphens inside
// words, and through a word that is longer than a whole part. It is how Python
// fills text. measure is what a part must not exceed: columns in koc's own voice,
// characters in the OpenStack voice.
func wrap(line string, limit int, measure func(string) int, part func(string)) {
	// The chunk at hand begins at next and ends at end; n is its measure.
	next, end, n := 0, 0, 0
	advance := func() {
		next = end
		if next < len(line) {
			end = next + chunk(line, next)
			n = measure(line[next:end])
		}
	}
	advance()
	first := true
	for next < len(line) {
		if !first && blank(line[next:end]) {
			advance()
		}
		start, last, used := next, next, 0 // last is where the last chunk taken begins
		for next < len(line) && used+n <= limit {
			last = next
			used += n
			advance()
		}
		if next < len(line) && n > limit {
			// Even a piece of no length counts as the last chunk: the blank before it stays.
			last = next
			next += cut(line[next:end], limit-used, used == 0, measure)
			if n = measure(line[next:end]); next == end {
				advance()
			}
		}
		stop := next
		if last < stop && blank(line[last:stop]) {
			stop = last
		}
		if start < stop {
			part(line[start:stop])
			first = false
		}
	}
}

// cut is how much of a long word fits, up to its last hyphen there when it has
// one. At the start of a line it is one character at least.
func cut(word string, limit int, start bool, measure func(string) int) int {
	end, used := 0, 0
	hyphen := 0
	letters := false
	for end < len(word) {
		_, size := utf8.DecodeRuneInString(word[end:])
		used += max(measure(word[end:end+size]), 0)
		if used > limit && (!start || end > 0) {
			break
		}
		if word[end] != '-' {
			letters = true
		} else if letters {
			hyphen = end + 1
		}
		end += size
	}
	if hyphen > 0 && end < len(word) {
		return hyphen
	}
	return end
}

// characters is the length of a text in characters.
func characters(s string) int { return utf8.RuneCountInString(s) }

func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }) == ""
}

func white(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// chunk is the length of the chunk that begins at a position: blanks, a word, a
// part of a word with hyphens, or a dash. A line may be broken between chunks.
func chunk(line string, at int) int {
	if white(line[at]) {
		end := at
		for end < len(line) && white(line[end]) {
			end++
		}
		return end - at
	}
	if at > 0 && punctuation(before(line, at)) {
		if n := dash(line[at:]); n > 0 {
			return n
		}
	}
	for end := at; ; {
		_, size := utf8.DecodeRuneInString(line[end:])
		end += size
		if end == len(line) || white(line[end]) {
			return end - at
		}
		if line[end] != '-' {
			continue
		}
		if hyphenated(line, end) {
			return end + 1 - at
		}
		if punctuation(before(line, end)) && dash(line[end:]) > 0 {
			return end - at
		}
	}
}

// hyphenated reports whether the hyphen at a position joins words.
func hyphenated(line string, at int) bool {
	r, size := utf8.DecodeLastRuneInString(line[:at])
	if !letter(r) {
		return false
	}
	q, qsize := utf8.DecodeLastRuneInString(line[:at-size])
	if q == '-' {
		q, _ = utf8.DecodeLastRuneInString(line[:at-size-qsize])
	}
	if !letter(q) {
		return false
	}
	rest := line[at+1:]
	r, size = utf8.DecodeRuneInString(rest)
	if !letter(r) {
		return false
	}
	rest = strings.TrimPrefix(rest[size:], "-")
	r, _ = utf8.DecodeRuneInString(rest)
	return letter(r)
}

// dash is the length of two or more hyphens that a word follows, else 0.
func dash(text string) int {
	n := 0
	for n < len(text) && text[n] == '-' {
		n++
	}
	if n < 2 || n == len(text) {
		return 0
	}
	if r, _ := utf8.DecodeRuneInString(text[n:]); !wordRune(r) {
		return 0
	}
	return n
}

func before(line string, at int) rune {
	r, _ := utf8.DecodeLastRuneInString(line[:at])
	return r
}

func wordRune(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

func letter(r rune) bool { return wordRune(r) && !unicode.IsDigit(r) }

func punctuation(r rune) bool { return wordRune(r) || strings.ContainsRune(`!"'&.,?`, r) }
