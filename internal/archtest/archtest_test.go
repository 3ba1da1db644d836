package archtest_test

import (
	"flag"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/archtest"
	"github.com/holdfast-ops/holdfast/internal/host"
)

var update = flag.Bool("update", false, "rewrite cmd/*/deps.txt")

const root = "../.."

func tree(t *testing.T) ([]archtest.Package, *token.FileSet) {
	t.Helper()
	packages, files, err := archtest.Load(os.DirFS(root), "cmd", "internal")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 10 {
		t.Fatalf("only %d packages found", len(packages))
	}
	return packages, files
}

func none(t *testing.T, found []string) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}

func TestEveryImportGoesDownTheLayers(t *testing.T) {
	t.Parallel()
	packages, _ := tree(t)

	none(t, archtest.Layers().Check(packages))
}

func TestEveryEdgeBesideALayerIsUsed(t *testing.T) {
	t.Parallel()
	packages, _ := tree(t)
	table := archtest.Layers()

	for i, edge := range table.Beside {
		without := table
		without.Beside = slices.Delete(slices.Clone(table.Beside), i, i+1)
		if len(without.Check(packages)) == len(table.Check(packages)) {
			t.Errorf("edge %s -> %s changes nothing: delete it", edge.From, edge.To)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	packages, _ := tree(t)

	none(t, archtest.Comments(packages))
}

func TestNoInitAndNoMutableGlobal(t *testing.T) {
	t.Parallel()
	packages, files := tree(t)

	none(t, archtest.Globals(packages, files))
}

func TestBinariesContainWhatTheirDepsFileSays(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob(filepath.Join(root, "cmd", "*", "*.go"))
	if err != nil || len(mains) == 0 {
		t.Fatalf("no commands found: %v", err)
	}
	var binaries []string
	for _, m := range mains {
		binaries = append(binaries, filepath.Base(filepath.Dir(m)))
	}
	slices.Sort(binaries)
	for _, binary := range slices.Compact(binaries) {
		t.Run(binary, func(t *testing.T) {
			t.Parallel()
			packages, err := archtest.Contents(t.Context(), host.NewRunner(), root, binary)
			if err != nil {
				t.Fatal(err)
			}
			none(t, archtest.Layers().CheckBinary(binary, packages))
			text := archtest.FormatDeps(packages)
			file := filepath.Join(root, "cmd", binary, "deps.txt")
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			committed, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; make docs writes it", err)
			}
			if diff := cmp.Diff(strings.Split(string(committed), "\n"), strings.Split(text, "\n")); diff != "" {
				t.Errorf("%s is not what the binary contains (make docs rewrites it):\n%s", file, diff)
			}
		})
	}
}

// module is a source tree in memory.
func module(t *testing.T, files map[string]string) ([]archtest.Package, *token.FileSet) {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	packages, positions, err := archtest.Load(tree, "internal")
	if err != nil {
		t.Fatal(err)
	}
	return packages, positions
}

const ours = `"` + archtest.Module + `/internal/`

func TestAWrongImportIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, imports, want string }{
		"the ground on the kit":        {"internal/retry/r.go", ours + `cli/app"`, "layer kit is above ground"},
		"the kit on a product":         {"internal/cli/app/a.go", ours + `om/object"`, "layer pure is above kit"},
		"linux on the agent":           {"internal/linux/proc/p.go", ours + `om/instance"`, "layer doers is above kit"},
		"a pure package on os":         {"internal/om/object/o.go", `"os"`, "act on nothing"},
		"a pure package on net":        {"internal/om/config/o.go", `"net"`, "act on nothing"},
		"a pure package on exec":       {"internal/om/keyword/o.go", `"os/exec"`, "act on nothing"},
		"a pure package on sync":       {"internal/om/cluster/o.go", `"sync"`, "act on nothing"},
		"a pure package on syscall":    {"internal/om/orchestrate/o.go", `"syscall"`, "act on nothing"},
		"a pure package on a library":  {"internal/om/event/o.go", `"github.com/google/uuid"`, "no library"},
		"a pure package on the ground": {"internal/om/event/o.go", ours + `host"`, "import each other only"},
		"a pure package upwards":       {"internal/om/object/o.go", ours + `om/cluster"`, "listed before them"},
		"a pure package on a contract": {"internal/om/orchestrate/o.go", ours + `om/api"`, "layer contract is above pure"},
		"a driver on another":          {"internal/om/driver/fs/f.go", ours + `om/driver/app"`, "no edge in Beside"},
		"a contract on a doer":         {"internal/om/resource/r.go", ours + `om/instance"`, "layer doers is above contract"},
		"the client on the store":      {"internal/om/client/c.go", ours + `om/store"`, "no edge in Beside"},
		"a command on the daemon":      {"internal/om/command/c.go", ours + `om/daemon"`, "no edge in Beside"},
		"a subsystem on a neighbour":   {"internal/om/daemon/discover/d.go", ours + `om/daemon/httpd"`, "no edge in Beside"},
		"a package nobody placed":      {"internal/util/u.go", `"fmt"`, "in no layer"},
		"an import of a lost package":  {"internal/om/daemon/d.go", ours + `om/misc"`, "in no layer"},
		"a file of another platform":   {"internal/om/object/o_darwin.go", `"os"`, "act on nothing"},
		"a file behind a build tag":    {"internal/om/object/lab.go", `"net"`, "act on nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packages, _ := module(t, map[string]string{c.file: "//go:build lab\n\npackage p\n\nimport _ " + c.imports + "\n"})

			found := archtest.Layers().Check(packages)

			if len(found) != 1 || !strings.Contains(found[0], c.want) {
				t.Errorf("found %q, want one saying %q", found, c.want)
			}
		})
	}
}

func TestARightImportPasses(t *testing.T) {
	t.Parallel()
	packages, _ := module(t, map[string]string{
		"internal/om/object/o.go":          "package object\nimport (\n_ \"io/fs\"\n_ \"fmt\"\n)",
		"internal/om/config/c.go":          "package config\nimport _ " + ours + `om/object"`,
		"internal/om/instance/i.go":        "package instance\nimport _ " + ours + `om/config"`,
		"internal/om/driver/all/a.go":      "package all\nimport _ " + ours + `om/driver/app"`,
		"internal/om/object/o_test.go":     "package object_test\nimport _ \"os\"",
		"internal/om/object/testdata/x.go": "package x\nimport _ \"os\"",
	})

	none(t, archtest.Layers().Check(packages))
}

func TestABannedPackageInABinaryIsFound(t *testing.T) {
	t.Parallel()
	table := archtest.Layers()

	found := table.CheckBinary("ox", []string{archtest.Module + "/internal/om/driver/fs", archtest.Module + "/internal/om/client", archtest.Module + "/internal/linux/socket"})

	if len(found) != 1 || !strings.Contains(found[0], "driver/fs") {
		t.Errorf("found %q, want the driver only", found)
	}
	none(t, table.CheckBinary("om", []string{archtest.Module + "/internal/om/driver/fs"}))
}

func TestABadPackageCommentIsFound(t *testing.T) {
	t.Parallel()
	packages, _ := module(t, map[string]string{
		"internal/good/a.go":    "// Package good is.\npackage good",
		"internal/good/b.go":    "package good",
		"internal/missing/a.go": "package missing",
		"internal/other/a.go":   "// Something else.\npackage other",
		"internal/twice/a.go":   "// Package twice is.\npackage twice",
		"internal/twice/b.go":   "// Package twice is.\npackage twice",
	})

	found := archtest.Comments(packages)

	want := []string{
		"internal/missing: no package comment",
		"internal/other: the package comment does not begin with Package other ",
		"internal/twice: more than one package comment",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

func TestABadGlobalIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"an init function":                 {"func init() {}", "init function"},
		"a variable without a value":       {"var count int", "without a value"},
		"a scalar":                         {"var limit = 3", "neither an error"},
		"a pointer":                        {"var table = &T{}\ntype T struct{}", "neither an error"},
		"a call":                           {"import \"os\"\nvar name = os.Getenv(\"X\")", "a call of os.Getenv"},
		"a call of its own function":       {"var table = build()\nfunc build() int { return 1 }", "a call of build"},
		"a map others can change":          {"var Names = map[string]int{}", "other packages can change"},
		"a slice others can change":        {"var Names = []string{\"a\"}", "other packages can change"},
		"state behind a lock":              {"import \"sync\"\nvar mu = sync.Mutex{}", "sync.Mutex is state"},
		"an assignment":                    {"var names = []string{}\nfunc f() { names = nil }", "names of the package: assigned"},
		"an assignment in a closure":       {"var names = [1]int{}\nfunc f() { g := func() { names[0]++ }; g() }", "names of the package: assigned"},
		"an assignment to a field":         {"type T struct{ n int }\nvar t = T{}\nfunc f() { t.n = 1 }", "t of the package: assigned"},
		"an assignment to a map":           {"var m = map[string]int{}\nfunc f() { m[\"a\"] = 1 }", "m of the package: assigned"},
		"a range that assigns":             {"var a = [1]int{}\nfunc f() { for a[0] = range 3 {} }", "a of the package: assigned"},
		"an address":                       {"type T struct{}\nvar t = T{}\nfunc f() *T { return &t }", "its address taken"},
		"a deletion":                       {"var m = map[string]int{}\nfunc f() { delete(m, \"a\") }", "changed by delete"},
		"a version outside a main package": {"var version = \"devel\"", "neither an error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packages, files := module(t, map[string]string{"internal/p/p.go": "package p\n" + c.text})

			found := archtest.Globals(packages, files)

			if len(found) != 1 || !strings.Contains(found[0], c.want) {
				t.Errorf("found %q, want one saying %q", found, c.want)
			}
		})
	}
}

func TestAGoodGlobalPasses(t *testing.T) {
	t.Parallel()
	packages, files := module(t, map[string]string{
		"internal/p/a.go": `package p

import (
	_ "embed"
	"errors"
	"io"
	"regexp"
	"example.com/spec"
)

// ErrGone is an error.
var ErrGone = errors.New("gone")

var pattern = regexp.MustCompile("a")

//go:embed a.txt
var text string

var _ io.Reader = (*reader)(nil)

var Spec = spec.Spec[int]{Name: "a"}

var names = [...]string{"a"}

var table = map[string]int{"a": 1}

type reader struct{}

func (*reader) Read([]byte) (int, error) {
	names := []string{}
	names = append(names, "a local variable of the same name")
	for table := range 3 {
		_ = table
	}
	return len(names), ErrGone
}
`,
		"internal/om/api/a.go": "package api\nvar Get = operation()\nfunc operation() int { return 1 }",
		"internal/p/main/m.go": "package main\nvar version = \"devel\"",
		"internal/p/a_test.go": "package p_test\nvar anything = 3",
	})

	none(t, archtest.Globals(packages, files))
}
