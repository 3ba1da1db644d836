package move

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Versions compares the providers that are installed on both sides: one line
// each, with the version of the source and that of the target.
func Versions(ctx context.Context, source, target Cluster) (string, error) {
	lines := map[string][2]string{}
	for i, c := range []Cluster{source, target} {
		s, err := open([]string{"source", "target"}[i], c, queryPatience)
		if err != nil {
			return "", err
		}
		k, err := s.kind(ctx, providerKind)
		if err != nil {
			return "", err
		}
		if k == nil {
			continue
		}
		list, err := s.providers(ctx, kinds{providerKind: *k})
		if err != nil {
			return "", err
		}
		for _, p := range list {
			name := p.kind + " " + p.name
			both := lines[name]
			both[i] = p.version
			lines[name] = both
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "%-40s source %-10s target %s\n", name, cmp.Or(lines[name][0], "-"), cmp.Or(lines[name][1], "-"))
	}
	return b.String(), nil
}
