package instance_test

import (
	"os"
	"slices"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestABrokenClusterConfigurationDoesNotPreventStops(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string]string{"none": "", "a name": "nodes = n1\n", "all of them": "nodes = *\n"} {
		t.Run("nodes: "+name, func(t *testing.T) {
			t.Parallel()
			f := faked(t, nodes+"[app#1]\n[fs#1]\n")
			f.run(instance.Start)
			if err := os.WriteFile(f.Store.FileName(object.Cluster()), []byte("[cluster\n"), 0o600); err != nil {
				t.Fatal(err)
			}

			if s := f.status(); s.Avail != cluster.Up {
				t.Errorf("status is %s, want up", s.Avail)
			}
			f.run(instance.Stop)
			if s := f.status(); s.Avail != cluster.Down {
				t.Errorf("status is %s, want down", s.Avail)
			}
			f.fails(instance.Start, "repair it with om cluster config edit")
			c, err := f.Config(web)
			if err != nil || !slices.ContainsFunc(c.Issues, func(i string) bool { return len(i) > 0 }) {
				t.Errorf("the configuration of the instance has no issue: %v", err)
			}
		})
	}
}
