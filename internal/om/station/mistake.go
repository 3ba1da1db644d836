package station

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// wordError is a word of the file that is not what goes there.
type wordError struct {
	word string
	err  error
}

// Error says why.
func (e *wordError) Error() string { return e.err.Error() }

// Unwrap returns the reason.
func (e *wordError) Unwrap() error { return e.err }

// located says what the decoder means, and where it is. at is how far it read.
func located(data []byte, err error, at int64) error {
	reason, at := meant(data, err, at)
	line, column := position(data, at)
	return fmt.Errorf("line %d, column %d: %s", line, column, reason)
}

// meant is an error of the decoder in plain words, and where in the file it is.
func meant(data []byte, err error, at int64) (string, int64) {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the file ends before its last brace", int64(len(bytes.TrimSpace(data)))
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return err.Error(), syntax.Offset - 1
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s is %s, where %s goes", cmp.Or(kind.Field, "the file"), article(kind.Value), wanted(kind.Type)), kind.Offset - 1
	}
	if word, ok := errors.AsType[*wordError](err); ok {
		return err.Error(), whereIs(data, word.word, at)
	}
	reason := strings.TrimPrefix(err.Error(), "json: ")
	if field, ok := strings.CutPrefix(reason, "unknown field "); ok {
		at = whereIs(data, strings.Trim(field, `"`), at)
	}
	return reason, at
}

// whereIs is where a text is in a file of JSON, else otherwise.
func whereIs(data []byte, text string, otherwise int64) int64 {
	quoted, err := json.Marshal(text)
	if err != nil {
		return otherwise
	}
	if i := bytes.Index(data, quoted); i >= 0 {
		return int64(i)
	}
	return otherwise
}

// position counts from one, as editors do, a character being a column.
func position(data []byte, at int64) (line, column int) {
	before := data[:max(0, min(at, int64(len(data))))]
	line = 1 + bytes.Count(before, []byte("\n"))
	last := before[bytes.LastIndexByte(before, '\n')+1:]
	return line, 1 + len([]rune(string(last)))
}

// article puts one before what the decoder calls a value.
func article(value string) string {
	switch {
	case value == "array" || value == "object":
		return "an " + value
	case strings.HasPrefix(value, "number"):
		return "a number"
	case value == "bool":
		return "true or false"
	}
	return "a " + value
}

// wanted says what goes somewhere.
func wanted(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Duration]():
		return `a duration as "1h" or "1d12h"`
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return `a text in "quotes"`
	}
	return "an object in {braces}"
}
