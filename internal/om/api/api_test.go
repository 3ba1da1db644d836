package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// An operation that is declared and not in All would be served by nobody.
func TestAllIsEveryOperationDeclared(t *testing.T) {
	t.Parallel()
	var declared, listed []string
	for _, file := range sources(t) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
						declared = append(declared, v.Names[0].Name)
					}
				}
			case *ast.FuncDecl:
				if d.Name.Name == "All" {
					listed = elements(d)
				}
			}
		}
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if diff := cmp.Diff(declared, listed); diff != "" {
		t.Error(diff)
	}
}

// elements are the names in the list a function returns.
func elements(f *ast.FuncDecl) []string {
	var names []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if list, ok := n.(*ast.CompositeLit); ok {
			for _, e := range list.Elts {
				if id, ok := e.(*ast.Ident); ok {
					names = append(names, id.Name)
				}
			}
		}
		return true
	})
	return names
}

func sources(t *testing.T) []*ast.File {
	t.Helper()
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// Every parameter of a path is a field of the input, and no field is lost.
func TestInputsFillTheirPaths(t *testing.T) {
	t.Parallel()
	for _, endpoint := range api.All() {
		d := endpoint.Describe()
		var placed []string
		fields(d.In, func(f reflect.StructField) {
			travels := 0
			for _, tag := range []string{"path", "query", "header"} {
				if f.Tag.Get(tag) != "" {
					travels++
				}
			}
			if name := f.Tag.Get("path"); name != "" {
				placed = append(placed, "{"+name+"}")
			}
			if f.Name == "Body" || f.Name == "RawBody" {
				travels++
			}
			if travels != 1 {
				t.Errorf("%s: field %s travels %d times", d.ID, f.Name, travels)
			}
			if f.Name != "Body" && f.Name != "RawBody" && f.Tag.Get("doc") == "" {
				t.Errorf("%s: field %s is not documented", d.ID, f.Name)
			}
		})
		for part := range strings.SplitSeq(d.Path, "/") {
			if strings.HasPrefix(part, "{") && !slices.Contains(placed, part) {
				t.Errorf("%s: nothing fills %s", d.ID, part)
			}
		}
		for _, name := range placed {
			if !strings.Contains(d.Path, name) {
				t.Errorf("%s: %s is not in %s", d.ID, name, d.Path)
			}
		}
	}
}

func fields(t reflect.Type, visit func(reflect.StructField)) {
	for f := range t.Fields() {
		if f.Anonymous {
			fields(f.Type, visit)
		} else {
			visit(f)
		}
	}
}

func TestNamesAreThoseOfPaths(t *testing.T) {
	t.Parallel()
	p := object.Path{Namespace: "ns1", Kind: object.KindSvc, Name: "web1"}
	got, err := api.Named(p).ObjectPath()
	if err != nil || got != p {
		t.Errorf("got %v, %v", got, err)
	}
	if p, err := (api.ObjectName{Namespace: "ns1", Kind: "svc", Name: "../x"}).ObjectPath(); err == nil {
		t.Errorf("read as %v", p)
	}
}
