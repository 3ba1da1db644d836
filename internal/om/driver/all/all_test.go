package all_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, s := range all.Registry().Specs() {
		ids = append(ids, s.ID())
		t.Run("the keywords of "+s.ID()+" are documented", func(t *testing.T) {
			t.Parallel()
			drivertest.Documented(t, s)
		})
		if len(s.Kinds) == 0 {
			t.Errorf("driver %s is for no kind of object", s.ID())
		}
		// A schema asks for the keywords of a driver that has no surroundings.
		if k := resource.Table(&resource.Common{}, s.New(resource.Env{})); len(k.Keywords()) == 0 {
			t.Errorf("driver %s has no keyword", s.ID())
		}
	}
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"app.forking", "app.simple", "container.docker", "container.oci", "container.podman", "disk.loop", "fs.bind", "fs.directory", "fs.ext4", "fs.flag", "fs.tmpfs", "fs.xfs", "ip.host", "task.acme", "task.host"}, ids); diff != "" {
		t.Error(diff)
	}
}
