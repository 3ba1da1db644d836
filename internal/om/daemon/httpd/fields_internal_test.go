package httpd

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// A document of maps, so that any name may be asked for.
func document(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if depth == 0 || rapid.Bool().Draw(t, "leaf") {
			return rapid.SampledFrom([]any{nil, true, "text", 1.5}).Draw(t, "value")
		}
		if rapid.Bool().Draw(t, "list") {
			return rapid.SliceOfN(document(depth-1), 0, 3).Draw(t, "items")
		}
		return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), document(depth-1), 0, 3).Draw(t, "fields")
	})
}

func drawFields(t *rapid.T) []string {
	name := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "*"}), 1, 4)
	var all []string
	for _, parts := range rapid.SliceOfN(name, 1, 4).Draw(t, "names") {
		all = append(all, strings.Join(parts, "."))
	}
	return all
}

func kept(t *rapid.T, fields []string, data []byte) string {
	s, err := parseFields(strings.Join(fields, ","), reflect.TypeFor[any]())
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.item(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// keep is what a selection of fields does to a document.
type keep func(t *rapid.T, fields []string, data []byte) string

// broken returns the law that keep breaks.
func broken(t *rapid.T, keep keep) string {
	data, err := json.Marshal(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), document(3), 0, 3).Draw(t, "document"))
	if err != nil {
		t.Fatal(err)
	}
	fields := drawFields(t)
	once := keep(t, fields, data)
	switch {
	case keep(t, fields, []byte(once)) != once:
		return "what was kept is kept again"
	case keep(t, append(fields, fields[0]), data) != once:
		return "a field asked for twice is asked for once"
	case keep(t, append(fields, "*"), data) != keep(t, []string{"*"}, data):
		return "a star asks for all"
	}
	reversed := make([]string, 0, len(fields))
	for i := range fields {
		reversed = append(reversed, fields[len(fields)-1-i])
	}
	if keep(t, reversed, data) != once {
		return "the order of the fields is of no matter"
	}
	return ""
}

func TestLawsOfFields(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if law := broken(t, kept); law != "" {
			t.Error(law)
		}
	})
}

// Each law can fail: a mutant breaks it.
func TestTheLawsOfFieldsCatchMutants(t *testing.T) {
	t.Parallel()
	for law, mutant := range map[string]keep{
		"what was kept is kept again": func(t *rapid.T, fields []string, data []byte) string {
			return strings.ReplaceAll(kept(t, fields, data), "text", "texttext")
		},
		"a field asked for twice is asked for once": func(t *rapid.T, fields []string, data []byte) string {
			if len(fields) > 1 && fields[0] == fields[len(fields)-1] {
				fields = fields[:1]
			}
			return kept(t, fields, data)
		},
		"the order of the fields is of no matter": func(t *rapid.T, fields []string, data []byte) string {
			return kept(t, fields[:1], data)
		},
	} {
		caught := false
		rapid.Check(t, func(t *rapid.T) { caught = caught || broken(t, mutant) == law })
		if !caught {
			t.Errorf("the mutant of %q was not caught", law)
		}
	}
}

func FuzzFields(f *testing.F) {
	for _, text := range []string{"meta.object,data.avail", "data.instances.*.status.avail", "a..b", ",", "*", "data.flex.min,data.flex"} {
		f.Add(text, []byte(`{"kind":"ObjectItem","meta":{"object":"web"},"data":{"avail":"up","instances":{"node1":{"status":null}}}}`))
	}
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		s, err := parseFields(text, reflect.TypeFor[api.ObjectItem]())
		if err != nil || !json.Valid(data) {
			return
		}
		if out, err := s.item(data); err == nil && !json.Valid(out) {
			t.Errorf("%s of %s is %s", text, data, out)
		}
	})
}
