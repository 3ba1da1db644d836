package noun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// Object is a JSON object in the order of the service. Values are nil, bool,
// int64, float64, [json.Number] for what fits neither, string, []any and
// [render.Ordered] for objects inside.
type Object render.Ordered

// Get returns the value at a path of names joined by dots, nil when there is
// none. A name that has dots of its own is found as it is written first.
func (o Object) Get(path string) any {
	v, _ := o.Lookup(path)
	return v
}

// Lookup is Get that tells absent from null.
func (o Object) Lookup(path string) (any, bool) {
	for i := range o {
		if o[i].Name == path {
			return o[i].Value, true
		}
	}
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		return nil, false
	}
	for i := range o {
		if o[i].Name == head {
			if inner, ok := o[i].Value.(render.Ordered); ok {
				return Object(inner).Lookup(rest)
			}
		}
	}
	return nil, false
}

// Text is the value at a path as text, "" for null and absent.
func (o Object) Text(path string) string { return Text(o.Get(path)) }

// Text is a scalar as text, "" for null.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	default:
		return fmt.Sprint(v)
	}
}

// Bool is the value at a path, false when it is no boolean.
func (o Object) Bool(path string) bool {
	b, _ := o.Get(path).(bool)
	return b
}

// Int is the value at a path, 0 when it is no integer.
func (o Object) Int(path string) int64 {
	switch v := o.Get(path).(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	default:
		return 0
	}
}

// Object is the object at a path, nil when there is none.
func (o Object) Object(path string) Object {
	inner, _ := o.Get(path).(render.Ordered)
	return Object(inner)
}

// Objects are the objects of the list at a path.
func (o Object) Objects(path string) []Object {
	list, _ := o.Get(path).([]any)
	out := make([]Object, 0, len(list))
	for _, v := range list {
		if inner, ok := v.(render.Ordered); ok {
			out = append(out, Object(inner))
		}
	}
	return out
}

// Texts are the items of the list at a path as texts.
func (o Object) Texts(path string) []string {
	list, _ := o.Get(path).([]any)
	out := make([]string, 0, len(list))
	for _, v := range list {
		out = append(out, Text(v))
	}
	return out
}

// Set puts a value at a name, at the end when it is new.
func (o *Object) Set(name string, v any) {
	for i := range *o {
		if (*o)[i].Name == name {
			(*o)[i].Value = v
			return
		}
	}
	*o = append(*o, render.Field{Name: name, Value: v})
}

// MarshalJSON writes the object in its order.
func (o Object) MarshalJSON() ([]byte, error) { return appendJSON(nil, render.Ordered(o)) }

func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case Object:
		return appendJSON(b, render.Ordered(v))
	case render.Ordered:
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, f.Name)
			b = append(b, ':')
			var err error
			if b, err = appendJSON(b, f.Value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendJSON(b, item); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	default:
		text, err := json.Marshal(v)
		return append(b, text...), err
	}
}

// UnmarshalJSON reads an object.
func (o *Object) UnmarshalJSON(text []byte) error { return o.DecodeFrom(bytes.NewReader(text)) }

// DecodeFrom reads one object from a stream, as the session of koc does.
func (o *Object) DecodeFrom(r io.Reader) error {
	v, err := newDecoder(r).value(nil)
	if err != nil {
		return err
	}
	inner, ok := v.(render.Ordered)
	if !ok && v != nil {
		return fmt.Errorf("expected a JSON object, got %T", v)
	}
	*o = Object(inner)
	return nil
}
