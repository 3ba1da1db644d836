package archtest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// Contents lists the packages that a binary is made of, on linux/amd64: all of
// the module and of libraries, and of the standard library those that they
// import, so that the list does not change with the toolchain.
func Contents(ctx context.Context, run host.Runner, root, binary string) ([]string, error) {
	env := append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := run.Run(ctx, host.Cmd{
		Argv: []string{"go", "list", "-deps", "-f", `{{.Standard}} {{.ImportPath}} {{join .Imports " "}}`, "./cmd/" + binary},
		Dir:  root, Env: env,
	})
	if err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w", binary, err)
	}
	return contents(string(out.Stdout)), nil
}

func contents(listing string) []string {
	var packages []string
	for line := range strings.Lines(listing) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] == "true" {
			continue
		}
		packages = append(packages, fields[1])
		for _, imported := range fields[2:] {
			if standard(imported) {
				packages = append(packages, imported)
			}
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// FormatDeps is the text of a deps.txt.
func FormatDeps(packages []string) string {
	var b strings.Builder
	group := func(title string, member func(string) bool) {
		fmt.Fprintf(&b, "# %s\n", title)
		for _, p := range packages {
			if member(p) {
				b.WriteString(p + "\n")
			}
		}
	}
	mine := func(p string) bool { return strings.HasPrefix(p, Module+"/") }
	group("Ours", mine)
	group("Libraries", func(p string) bool { return !mine(p) && !standard(p) })
	group("Standard library, where we or a library import it", standard)
	return b.String()
}
