package rbac_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "root", "guest:ns1 admin:prod*", "guest:[", "a:b:c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		grants, err := rbac.Parse(s)
		if err != nil {
			return
		}
		again, err := rbac.Parse(grants.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(grants, again); diff != "" {
			t.Error(diff)
		}
	})
}
