package output_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
)

func TestAStreamHasOneHeader(t *testing.T) {
	t.Parallel()
	type item struct {
		Kind string `json:"kind"`
		N    int    `json:"size"`
	}
	columns := []output.Column[item]{{Name: "KIND", Value: func(i item) any { return i.Kind }}, {Name: "N", Value: func(i item) any { return i.N }}}
	for format, want := range map[string]string{
		"":                   "KIND  N\na     1\nb     2\n",
		"csv":                "KIND,N\na,1\nb,2\n",
		"value":              "a\t1\nb\t2\n",
		"tab=K:kind":         "K\na\nb\n",
		"json":               `{"kind":"a","size":1}` + "\n" + `{"kind":"b","size":2}` + "\n",
		"yaml":               "---\nkind: a\nsize: 1\n---\nkind: b\nsize: 2\n",
		"flat":               "kind = \"a\"\nsize = 1\nkind = \"b\"\nsize = 2\n",
		"template={{.kind}}": "a\nb\n",
	} {
		s, _, out, _ := iostreams.Test()
		stream := output.Stream[item]{Streams: s, Format: format, Columns: columns}
		for _, i := range []item{{"a", 1}, {"b", 2}} {
			if err := stream.Write(i, i); err != nil {
				t.Errorf("%s: %v", format, err)
			}
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s\n%s", format, diff)
		}
	}
	s, _, _, _ := iostreams.Test()
	bad := output.Stream[item]{Streams: s, Format: "nosuch", Columns: columns}
	if bad.Write(item{}, item{}) == nil {
		t.Error("a format that does not exist is taken")
	}
}
