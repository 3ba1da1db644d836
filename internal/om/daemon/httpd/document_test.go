package httpd_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

var (
	update = flag.Bool("update", false, "rewrite docs/reference/openapi.json and the golden files")
	breaks = flag.Bool("break", false, "with -update: accept a document that breaks clients")
)

const committed = "../../../../docs/reference/openapi.json"

func TestEveryOperationIsWhole(t *testing.T) {
	t.Parallel()
	server := httpd.New(httpd.Options{})
	ids, routes := map[string]bool{}, map[string]bool{}
	for _, endpoint := range api.All() {
		d := endpoint.Describe()
		route := d.Method + " " + d.Path
		if ids[d.ID] || routes[route] {
			t.Errorf("%s, %s: declared twice", d.ID, route)
		}
		ids[d.ID], routes[route] = true, true
		if !server.Handles(d.ID) {
			t.Errorf("%s has no handler", d.ID)
		}
		if d.Need == rbac.Undeclared {
			t.Errorf("%s does not say what it needs", d.ID)
		}
		if !strings.HasSuffix(d.Doc, ".") {
			t.Errorf("%s is not documented: %q", d.ID, d.Doc)
		}
		if d.Tag == "" {
			t.Errorf("%s is in no chapter", d.ID)
		}
		if !d.HasExample {
			t.Errorf("%s has no example", d.ID)
		} else if _, err := json.Marshal(d.ExampleOut()); err != nil {
			t.Errorf("%s: the example does not encode: %v", d.ID, err)
		}
		if d.Need == rbac.Public && d.Tag != "public" {
			t.Errorf("%s is open to the world and not said to be", d.ID)
		}
	}
}

// The whole list of what a stranger may call.
func TestOnlyTheseOperationsAreOpenToTheWorld(t *testing.T) {
	t.Parallel()
	var open []string
	for _, endpoint := range api.All() {
		if d := endpoint.Describe(); d.Need == rbac.Public {
			open = append(open, d.Path)
		}
	}
	if diff := cmp.Diff([]string{"/api/auth/info", "/api/health", "/api/openapi"}, open); diff != "" {
		t.Error(diff)
	}
}

func TestTheDocumentIsTheCommittedOne(t *testing.T) {
	t.Parallel()
	got, err := httpd.New(httpd.Options{}).Document()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(committed)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if broken := incompatible(t, want, got); len(broken) > 0 && !*breaks {
		t.Fatalf("clients of the committed document would break:\n%s", strings.Join(broken, "\n"))
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(committed), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(committed, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the API changed: review, then run with -update:\n%s", diff)
	}
}

func TestTheDocumentIsValid(t *testing.T) {
	t.Parallel()
	data, err := httpd.New(httpd.Options{}).Document()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.DisableExamplesValidation()); err != nil {
		t.Error(err)
	}
}

func TestWhatBreaksAClientIsSeen(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(committed)
	if err != nil {
		t.Skip("no committed document yet")
	}
	change := func(edit func(doc map[string]any)) []byte {
		var doc map[string]any
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		edit(doc)
		changed, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	properties := func(doc map[string]any, schema string) map[string]any {
		return at(doc, "components", "schemas", schema, "properties")
	}
	for name, edit := range map[string]func(map[string]any){
		"a field removed":     func(doc map[string]any) { delete(properties(doc, "InstanceMeta"), "node") },
		"a field retyped":     func(doc map[string]any) { at(properties(doc, "InstanceMeta"), "node")["type"] = "integer" },
		"a path removed":      func(doc map[string]any) { delete(at(doc, "paths"), "/api/object") },
		"a method removed":    func(doc map[string]any) { delete(at(doc, "paths", "/api/cluster/config"), "patch") },
		"a parameter removed": func(doc map[string]any) { at(doc, "paths", "/api/object", "get")["parameters"] = []any{} },
		"an answer retyped": func(doc map[string]any) {
			at(doc, "paths", "/api/object", "get", "responses")["200"] = map[string]any{}
		},
		"a parameter now asked": func(doc map[string]any) { parameter(doc, "/api/object", "get", 0)["required"] = true },
	} {
		if len(incompatible(t, data, change(edit))) == 0 {
			t.Errorf("%s is not seen", name)
		}
	}
	grown := change(func(doc map[string]any) {
		properties(doc, "InstanceMeta")["colour"] = map[string]any{"type": "string"}
		at(doc, "paths")["/api/colour/{name}"] = map[string]any{"get": map[string]any{"parameters": []any{
			map[string]any{"name": "name", "in": "path", "required": true, "schema": map[string]any{"type": "string"}},
		}}}
	})
	if broken := incompatible(t, data, grown); len(broken) > 0 {
		t.Errorf("growing is said to break clients: %s", broken)
	}
}

func at(m map[string]any, keys ...string) map[string]any {
	for _, k := range keys {
		m, _ = m[k].(map[string]any)
	}
	return m
}

func parameter(doc map[string]any, path, method string, i int) map[string]any {
	list, _ := at(doc, "paths", path, method)["parameters"].([]any)
	p, _ := list[i].(map[string]any)
	return p
}

// incompatible lists what clients written for the document was would miss in is.
func incompatible(t *testing.T, was, is []byte) []string {
	t.Helper()
	before, after := promises(t, was), promises(t, is)
	var broken []string
	for _, promise := range slices.Sorted(maps.Keys(before)) {
		if before[promise] != after[promise] {
			broken = append(broken, fmt.Sprintf("%s: was %q, is %q", promise, before[promise], after[promise]))
		}
	}
	for _, demand := range slices.Sorted(maps.Keys(after)) {
		operation, _, _ := strings.Cut(demand, " parameter ")
		if _, known := before[demand]; !known && before[operation] != "" && strings.HasSuffix(demand, " must be given") {
			broken = append(broken, demand)
		}
	}
	return broken
}

// promises flattens a document into what a client relies on.
func promises(t *testing.T, data []byte) map[string]string {
	t.Helper()
	flat := map[string]string{}
	if len(data) == 0 {
		return flat
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range at(doc, "paths") {
		methods, _ := methods.(map[string]any)
		for method, operation := range methods {
			operation, _ := operation.(map[string]any)
			name := method + " " + path
			flat[name] = "operation"
			for status, response := range at(operation, "responses") {
				if status < "300" {
					response, _ := response.(map[string]any)
					flat[name+" answer "+status] = typeOf(at(response, "content"))
				}
			}
			flat[name+" body"] = typeOf(at(operation, "requestBody", "content"))
			list, _ := operation["parameters"].([]any)
			for _, p := range list {
				p, _ := p.(map[string]any)
				parameter := fmt.Sprintf("%s parameter %v in %v", name, p["name"], p["in"])
				flat[parameter] = typeOf(at(p, "schema"))
				if p["required"] == true {
					flat[parameter+" must be given"] = "true"
				}
			}
		}
	}
	for schema, s := range at(doc, "components", "schemas") {
		s, _ := s.(map[string]any)
		for property, p := range at(s, "properties") {
			flat[schema+"."+property] = typeOf(p)
		}
	}
	return flat
}

// typeOf is a schema without its documentation.
func typeOf(schema any) string {
	var strip func(v any) any
	strip = func(v any) any {
		m, ok := v.(map[string]any)
		if !ok {
			return v
		}
		kept := map[string]any{}
		for k, v := range m {
			if !slices.Contains([]string{"description", "example", "examples", "enum"}, k) {
				kept[k] = strip(v)
			}
		}
		return kept
	}
	text, err := json.Marshal(strip(schema))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
