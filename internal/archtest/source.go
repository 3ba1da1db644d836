package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the module under test.
const Module = "github.com/holdfast-ops/holdfast"

// Package is the source of one package, tests left out.
type Package struct {
	Dir     string // below the root of the module, slash separated
	Name    string
	Files   []*ast.File
	Imports []string // sorted; those of the module without its path
}

// Load parses every package below the given folders of a module.
func Load(module fs.FS, folders ...string) ([]Package, *token.FileSet, error) {
	files := token.NewFileSet()
	byDir := map[string]*Package{}
	for _, folder := range folders {
		err := fs.WalkDir(module, folder, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), "_")):
				return fs.SkipDir
			case entry.IsDir(), path.Ext(name) != ".go", strings.HasSuffix(name, "_test.go"):
				return nil
			}
			return load(module, name, files, byDir)
		})
		if err != nil {
			return nil, nil, fmt.Errorf("read the sources of %s: %w", folder, err)
		}
	}
	packages := make([]Package, 0, len(byDir))
	for _, p := range byDir {
		slices.Sort(p.Imports)
		p.Imports = slices.Compact(p.Imports)
		packages = append(packages, *p)
	}
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Dir, b.Dir) })
	return packages, files, nil
}

func load(module fs.FS, name string, files *token.FileSet, byDir map[string]*Package) error {
	text, err := fs.ReadFile(module, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	p := byDir[dir]
	if p == nil {
		p = &Package{Dir: dir, Name: file.Name.Name}
		byDir[dir] = p
	}
	p.Files = append(p.Files, file)
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		p.Imports = append(p.Imports, strings.TrimPrefix(imported, Module+"/"))
	}
	return nil
}

// ours tells whether an import is of the module.
func ours(imported string) bool {
	return strings.HasPrefix(imported, "internal/") || strings.HasPrefix(imported, "cmd/")
}

// standard tells whether an import is of the standard library.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !ours(imported) && !strings.Contains(first, ".")
}

// within tells whether a folder matches a pattern: itself, or with a final
// "/..." also everything below.
func within(dir, pattern string) bool {
	if above, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == above || strings.HasPrefix(dir, above+"/")
	}
	return dir == pattern
}
