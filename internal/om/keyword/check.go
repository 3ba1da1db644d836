package keyword

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Word is a rule for [Keyword.Check]: one word, or nothing.
func Word(text string) error {
	if len(strings.Fields(text)) > 1 {
		return errors.New("not one word: write it without blanks")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return strings.ContainsRune("[]{}=,", r) || unicode.IsControl(r) }) {
		return errors.New("not a plain word: write it without brackets, commas and equal signs")
	}
	return nil
}

// UUID is a rule for [Keyword.Check]: the text form of a uuid, or nothing.
func UUID(text string) error {
	const (
		model       = "00000000-0000-0000-0000-000000000000"
		hexadecimal = "0123456789abcdefABCDEF"
	)
	if text == "" {
		return nil
	}
	wrong := len(text) != len(model)
	for i := 0; i < len(text) && !wrong; i++ {
		if model[i] == '-' {
			wrong = text[i] != '-'
		} else {
			wrong = strings.IndexByte(hexadecimal, text[i]) < 0
		}
	}
	if wrong {
		return errors.New("not a uuid: write one as 0e745444-6724-48f9-8167-e865b4f9ec94")
	}
	return nil
}

// between is the rule of bounded integers, and of nothing: whether a value is
// needed is for the conversion to tell.
func between(low, high int) func(string) error {
	return func(text string) error {
		text = strings.TrimSpace(text)
		if text == "" {
			return nil
		}
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return err
		case n >= low && n <= high:
			return nil
		case high == math.MaxInt:
			return fmt.Errorf("too small: write %d or more", low)
		default:
			return fmt.Errorf("out of bounds: write a number from %d to %d", low, high)
		}
	}
}
