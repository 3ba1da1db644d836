package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// request is an input struct laid out as package api documents.
type request struct {
	path    string
	query   url.Values
	header  http.Header
	payload []byte
}

func (r *request) url() string {
	if len(r.query) == 0 {
		return r.path
	}
	return r.path + "?" + r.query.Encode()
}

func (r *request) body() io.Reader {
	if r.payload == nil {
		return nil
	}
	return bytes.NewReader(r.payload)
}

// longQuery is the length from which parameters no longer go into the target of a
// request: servers limit it.
const longQuery = 8 << 10

// shorten moves the parameters of a PATCH that are long to a form, as it takes them.
func (r *request) shorten(method string) {
	if query := r.query.Encode(); method == http.MethodPatch && r.payload == nil && len(query) > longQuery {
		r.payload, r.query = []byte(query), nil
		r.header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
}

func encode(path string, in any) (*request, error) {
	r := &request{path: path, query: url.Values{}, header: http.Header{}}
	if err := r.add(reflect.ValueOf(in)); err != nil {
		return nil, err
	}
	if i := strings.IndexByte(r.path, '{'); i >= 0 {
		return nil, fmt.Errorf("path parameter %s is not set", r.path[i:])
	}
	return r, nil
}

func (r *request) add(v reflect.Value) error {
	var errs []error
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		switch {
		case field.Anonymous:
			errs = append(errs, r.add(value))
		case field.Name == "Body":
			errs = append(errs, r.addJSON(value))
		case field.Name == "RawBody":
			r.payload = value.Bytes()
			if r.payload == nil {
				r.payload = []byte{}
			}
			r.header.Set("Content-Type", field.Tag.Get("contentType"))
		default:
			r.addParameter(field.Tag, value)
		}
	}
	return errors.Join(errs...)
}

func (r *request) addJSON(v reflect.Value) (err error) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	r.header.Set("Content-Type", "application/json")
	if r.payload, err = json.Marshal(v.Interface()); err != nil {
		return fmt.Errorf("encode the body: %w", err)
	}
	return nil
}

func (r *request) addParameter(tag reflect.StructTag, v reflect.Value) {
	if name := tag.Get("path"); name != "" {
		value := text(v)
		if value == "" && name == "nodename" {
			value = api.Localhost
		}
		if value != "" {
			r.path = strings.ReplaceAll(r.path, "{"+name+"}", url.PathEscape(value))
		}
		return
	}
	if name := tag.Get("header"); name != "" {
		if value := text(v); value != "" {
			r.header.Set(name, value)
		}
		return
	}
	name, _, _ := strings.Cut(tag.Get("query"), ",")
	if name == "" || v.IsZero() && tag.Get("default") == "" {
		return // not what the server makes something of when it is absent
	}
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			r.query.Add(name, text(v.Index(i)))
		}
		return
	}
	r.query.Set(name, text(v))
}

func text(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	default:
		return v.String()
	}
}

// decode fills the output struct out points to.
func decode(header http.Header, body []byte, out any) error {
	v := reflect.ValueOf(out).Elem()
	raw := false
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if name := field.Tag.Get("header"); name != "" {
				v.Field(i).SetString(header.Get(name))
			}
			if field.Name == "RawBody" {
				raw = true
				v.Field(i).SetBytes(body)
			}
		}
	}
	if raw || len(body) == 0 {
		return nil
	}
	return json.Unmarshal(body, out)
}
