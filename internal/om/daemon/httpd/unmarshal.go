package httpd

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// unmarshal reads a body of JSON. What it says of one that is none tells the place
// and the reason, and nothing that is in it: it may be a secret.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("no JSON at %s, %s", place(data, wrong.Offset), syntaxReason(wrong))
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(wrong.Value, " ") // "number 12"
		return fmt.Errorf("field %q at %s does not take this %s", wrong.Field, place(data, wrong.Offset), kind)
	}
	if _, ok := errors.AsType[base64.CorruptInputError](err); ok {
		var read any
		if err := json.Unmarshal(data, &read); err == nil {
			return errors.New("no base64 at " + misencoded(reflect.TypeOf(v), read))
		}
	}
	return errors.New("a value is not of the kind its field takes")
}

// misencoded returns where a value that was read for the type t has text that is no
// base64; empty when it is nowhere.
func misencoded(t reflect.Type, v any) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case string:
		var wrong base64.CorruptInputError
		if _, err := base64.StdEncoding.DecodeString(v); t == reflect.TypeFor[[]byte]() && errors.As(err, &wrong) {
			return fmt.Sprintf(", byte %d", int64(wrong))
		}
	case []any:
		for i, one := range v {
			if t.Kind() != reflect.Slice {
				break
			}
			if found := misencoded(t.Elem(), one); found != "" {
				return fmt.Sprintf("[%d]%s", i, found)
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			break
		}
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if found := misencoded(field.Type, v[name]); found != "" {
				return "." + name + found
			}
		}
	}
	return ""
}

// syntaxReason is the reason of a syntax error, without the character it is about.
func syntaxReason(err *json.SyntaxError) string {
	reason := err.Error()
	if i := strings.LastIndex(reason, "' "); i >= 0 && strings.HasPrefix(reason, "invalid character") {
		return "invalid character " + reason[i+len("' "):]
	}
	return reason
}

// place tells where an offset of a text is.
func place(data []byte, offset int64) string {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}
