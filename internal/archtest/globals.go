package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// declaring lists the packages whose variables may be built by calls of their
// own functions, and what they declare that way.
func declaring() map[string]string {
	return map[string]string{
		"internal/om/api": "operations",
	}
}

// Globals returns the init functions, and the package-level variables that are
// not one of these, never written to:
//
//   - an error, a compiled regular expression, an embedded file
//   - an interface assertion, var _ I = T{}
//   - a declaration: a composite literal of values; slices and maps only when
//     no other package can reach them
//   - the version of a main package, which the linker sets
func Globals(packages []Package, files *token.FileSet) []string {
	var found []string
	for _, p := range packages {
		g := &globals{Package: p, files: files, vars: map[types.Object]bool{}}
		g.resolve()
		for _, f := range p.Files {
			g.declarations(f)
		}
		for _, f := range p.Files {
			ast.Inspect(f, g.writes)
		}
		found = append(found, g.found...)
	}
	return found
}

type globals struct {
	Package
	files *token.FileSet
	info  types.Info
	vars  map[types.Object]bool
	found []string
}

// resolve finds what each identifier means. Imports stay unknown, which leaves
// errors nobody needs: only the scopes of the package itself matter here.
func (g *globals) resolve() {
	g.info = types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImporter{}, Error: func(error) {}, IgnoreFuncBodies: false}
	_, _ = config.Check(g.Dir, g.files, g.Files, &g.info)
}

type noImporter struct{}

// Import implements [types.Importer].
func (noImporter) Import(string) (*types.Package, error) { return nil, errors.New("not loaded") }

func (g *globals) report(at token.Pos, format string, a ...any) {
	p := g.files.Position(at)
	g.found = append(g.found, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, a...)))
}

func (g *globals) declarations(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				g.report(d.Pos(), "init function: build it where it is used")
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					g.variable(d, v)
				}
			}
		}
	}
}

func (g *globals) variable(d *ast.GenDecl, v *ast.ValueSpec) {
	for i, name := range v.Names {
		if name.Name == "_" {
			continue
		}
		g.vars[g.info.Defs[name]] = true
		switch {
		case embedded(d.Doc) || embedded(v.Doc):
		case g.Name == "main" && name.Name == "version":
		case i >= len(v.Values):
			g.report(name.Pos(), "variable %s: without a value it is there to be changed", name.Name)
		default:
			if why := g.refuse(name, v.Values[i]); why != "" {
				g.report(name.Pos(), "variable %s: %s", name.Name, why)
			}
		}
	}
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// refuse says why a value may not be that of a package-level variable.
func (g *globals) refuse(name *ast.Ident, value ast.Expr) string {
	switch value := value.(type) {
	case *ast.CallExpr:
		fun := types.ExprString(unindexed(value.Fun))
		if slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile"}, fun) {
			return ""
		}
		if _, ok := declaring()[g.Dir]; ok && !strings.Contains(fun, ".") {
			return ""
		}
		return "a call of " + fun + ": only errors and regular expressions are made by calls"
	case *ast.CompositeLit:
		return refuseLiteral(name, value)
	}
	return "neither an error, a regular expression, an embed, an assertion nor a declaration"
}

func refuseLiteral(name *ast.Ident, value *ast.CompositeLit) string {
	switch kind := value.Type.(type) {
	case *ast.MapType:
		if name.IsExported() {
			return "a map that other packages can change"
		}
	case *ast.ArrayType:
		if kind.Len == nil && name.IsExported() {
			return "a slice that other packages can change"
		}
	default:
		named := types.ExprString(unindexed(value.Type))
		if strings.HasPrefix(named, "sync.") || strings.HasPrefix(named, "atomic.") {
			return named + " is state"
		}
	}
	return ""
}

// unindexed strips type arguments.
func unindexed(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return e.X
	case *ast.IndexListExpr:
		return e.X
	}
	return e
}

// writes reports what changes a variable of the package, or could: assignments
// to it or into it, and taking its address.
func (g *globals) writes(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, target := range n.Lhs {
			g.written(target, "assigned")
		}
	case *ast.IncDecStmt:
		g.written(n.X, "assigned")
	case *ast.RangeStmt:
		g.written(n.Key, "assigned")
		g.written(n.Value, "assigned")
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			g.written(n.X, "its address taken")
		}
	case *ast.CallExpr:
		if fun, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && slices.Contains([]string{"delete", "clear", "copy"}, fun.Name) {
			g.written(n.Args[0], "changed by "+fun.Name)
		}
	}
	return true
}

func (g *globals) written(target ast.Expr, how string) {
	for {
		switch e := target.(type) {
		case *ast.Ident:
			if object := g.info.Uses[e]; object != nil && g.vars[object] {
				g.report(e.Pos(), "variable %s of the package: %s", e.Name, how)
			}
			return
		case *ast.IndexExpr:
			target = e.X
		case *ast.SelectorExpr:
			target = e.X
		case *ast.ParenExpr:
			target = e.X
		case *ast.StarExpr:
			target = e.X
		default:
			return
		}
	}
}
