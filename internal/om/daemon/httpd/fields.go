package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// fieldsDoc documents the parameter every list takes.
const fieldsDoc = "Only these fields of each item, as meta.object,data.avail; a star stands for every key of a map, as data.instances.*.status.avail."

// selection is what a reader asked of the items of a list.
type selection struct {
	text string
	root *branch
}

// branch is a part of a selection. A branch without children is taken whole.
type branch struct{ children map[string]*branch }

// errField is for fields that an item does not have.
var errField = errors.New("no such field")

// parseFields reads a list of fields of the items of type t.
func parseFields(text string, t reflect.Type) (*selection, error) {
	s := &selection{root: &branch{}}
	words := map[string]bool{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		parts := strings.Split(word, ".")
		if err := checkField(parts, t); err != nil {
			return nil, fmt.Errorf("query.fields: %q: %w", word, err)
		}
		words[word] = true
		s.root.add(parts)
	}
	if len(words) == 0 {
		return nil, errors.New("query.fields: no field: write them as meta.object,data.avail")
	}
	s.text = strings.Join(slices.Sorted(maps.Keys(words)), ",")
	return s, nil
}

// add grows the branch. What is taken whole stays so, whatever part of it is
// asked for too.
func (b *branch) add(parts []string) {
	for i, part := range parts {
		if b.children == nil {
			b.children = map[string]*branch{}
		}
		next, ok := b.children[part]
		if ok && next.children == nil {
			return
		}
		if !ok {
			next = &branch{}
			b.children[part] = next
		}
		if i == len(parts)-1 {
			next.children = nil
		}
		b = next
	}
}

// checkField refuses fields that values of type t cannot have.
func checkField(parts []string, t reflect.Type) error {
	for i, part := range parts {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch {
		case part == "":
			return errors.New("a name is missing between two dots")
		case t.Kind() == reflect.Map:
			t = t.Elem()
		case t.Kind() == reflect.Interface:
			return nil
		case t.Kind() == reflect.Struct && t.NumField() > 0 && !isText(t):
			names := jsonFields(t)
			next, ok := names[part]
			if !ok {
				return fmt.Errorf("%w: %s has %s", errField, where(parts[:i]), strings.Join(slices.Sorted(maps.Keys(names)), ", "))
			}
			t = next
		default:
			return fmt.Errorf("%w: %s has no fields", errField, where(parts[:i]))
		}
	}
	return nil
}

func where(parts []string) string {
	if len(parts) == 0 {
		return "an item"
	}
	return strings.Join(parts, ".")
}

// isText tells the types that are written as a text, such as a time.
func isText(t reflect.Type) bool {
	_, ok := reflect.PointerTo(t).MethodByName("MarshalText")
	return ok
}

// jsonFields are the fields of a struct, by the names they travel under.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	names := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			maps.Copy(names, jsonFields(f.Type))
		} else if name != "" && name != "-" {
			names[name] = f.Type
		}
	}
	return names
}

// item keeps the fields of an encoded item.
func (s *selection) item(data []byte) ([]byte, error) {
	out, err := s.root.keep(data)
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", s.text, err)
	}
	return out, nil
}

func (b *branch) keep(data json.RawMessage) (json.RawMessage, error) {
	if b.children == nil || len(data) == 0 {
		return data, nil
	}
	switch data[0] {
	case '{':
		var all map[string]json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil {
			return nil, err
		}
		kept := map[string]json.RawMessage{}
		for name, value := range all {
			next := b.next(name)
			if next == nil {
				continue
			}
			var err error
			if kept[name], err = next.keep(value); err != nil {
				return nil, err
			}
		}
		return json.Marshal(kept)
	case '[':
		var all []json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil {
			return nil, err
		}
		for i := range all {
			var err error
			if all[i], err = b.keep(all[i]); err != nil {
				return nil, err
			}
		}
		return json.Marshal(all)
	}
	return data, nil // null: what is not known has no fields
}

// next returns what is kept of a field; nil when nothing is. A name and the star
// may both ask for parts of it.
func (b *branch) next(name string) *branch {
	named, star := b.children[name], b.children["*"]
	switch {
	case named == nil:
		return star
	case star == nil || named.children == nil:
		return named
	case star.children == nil:
		return star
	}
	both := &branch{children: maps.Clone(named.children)}
	for part := range star.children {
		if one := both.children[part]; one != nil {
			both.children[part] = (&branch{children: map[string]*branch{part: one, "*": star.children[part]}}).next(part)
		} else {
			both.children[part] = star.children[part]
		}
	}
	return both
}

// itemType returns the type of the items of a list; nil for what is no list.
func itemType(out reflect.Type) reflect.Type {
	if out.Kind() != reflect.Struct {
		return nil
	}
	f, ok := out.FieldByName("Items")
	if !ok || f.Type.Kind() != reflect.Slice || f.Tag.Get("json") != "items" {
		return nil
	}
	return f.Type.Elem()
}

// fieldsContext is a request whose fields parameter was read.
type fieldsContext struct {
	wrapped

	url url.URL
}

// URL implements [huma.Context].
func (c fieldsContext) URL() url.URL { return c.url }

// Unwrap gives adapters their own context.
func (c fieldsContext) Unwrap() huma.Context { return c.wrapped }

// selectFields reads the fields parameter, that every list takes, and hides it
// from the operation.
func selectFields(c huma.Context, next func(huma.Context)) {
	d, _ := c.Operation().Metadata[descriptionKey].(api.Description)
	u := c.URL()
	query := u.Query()
	of := itemType(d.Out)
	if d.Method != http.MethodGet || of == nil || !query.Has("fields") {
		next(c)
		return
	}
	s, err := parseFields(strings.Join(query["fields"], ","), of)
	if err != nil {
		writeProblem(c, api.NewProblem(http.StatusBadRequest, err.Error()))
		return
	}
	query.Del("fields")
	u.RawQuery = query.Encode()
	next(fieldsContext{huma.WithValue(c, fieldsKey, s), u})
}

// fields is the selection of fields of a request; nil when it has none.
func fields(ctx context.Context) *selection {
	s, _ := ctx.Value(fieldsKey).(*selection)
	return s
}

// list keeps the fields of an encoded list.
func (s *selection) list(data []byte) ([]byte, error) {
	var whole struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, err
	}
	for i := range whole.Items {
		var err error
		if whole.Items[i], err = s.item(whole.Items[i]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(whole)
}
