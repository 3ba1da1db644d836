package api_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// fact is a line of testdata/operations.tsv: an operation clients know, whether it
// is served here, and why not.
type fact struct {
	id, route, state, reason string
	query                    []string
}

func facts(t *testing.T) []fact {
	t.Helper()
	data, err := os.ReadFile("testdata/operations.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var all []fact
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "")
		if len(columns) < 6 {
			t.Fatalf("%q: six columns are wanted", line)
		}
		f := fact{id: columns[0], route: columns[1] + " " + columns[2], state: columns[4], reason: columns[5]}
		if columns[3] != "-" {
			f.query = strings.Split(columns[3], ",")
		}
		all = append(all, f)
	}
	return all
}

// Clients written for this API find what they know, under the same names, or are
// told in one place why not.
func TestEveryKnownOperationIsServedOrSaidNotToBe(t *testing.T) {
	t.Parallel()
	declared := map[string]api.Description{}
	for _, endpoint := range api.All() {
		d := endpoint.Describe()
		declared[d.Method+" "+d.Path] = d
	}
	for _, f := range facts(t) {
		d, ok := declared[f.route]
		switch {
		case f.state != "served" && f.state != "cluster" && f.state != "later":
			t.Errorf("%s: state %q: use served, cluster or later", f.id, f.state)
		case f.state != "served" && f.reason == "":
			t.Errorf("%s is not served: say why", f.id)
		case f.state != "served" && ok:
			t.Errorf("%s is served: say so in testdata/operations.tsv", f.id)
		case f.state == "served" && !ok:
			t.Errorf("%s, %s: no such operation", f.id, f.route)
		case f.state == "served" && d.ID != f.id:
			t.Errorf("%s is called %s", f.id, d.ID)
		}
		if !ok {
			continue
		}
		for _, name := range f.query {
			name, refused := strings.CutPrefix(name, "!")
			switch taken := slices.Contains(queries(d.In), name); {
			case !taken && !refused:
				t.Errorf("%s does not take the parameter %s", f.id, name)
			case refused && f.reason == "":
				t.Errorf("%s does not take the parameter %s: say why", f.id, name)
			case taken && refused:
				t.Errorf("%s takes the parameter %s: say so in testdata/operations.tsv", f.id, name)
			}
		}
	}
}

func queries(in reflect.Type) []string {
	var names []string
	fields(in, func(f reflect.StructField) {
		name, _, _ := strings.Cut(f.Tag.Get("query"), ",")
		names = append(names, name)
	})
	return names
}
