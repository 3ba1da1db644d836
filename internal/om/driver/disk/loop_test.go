package disk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/disk"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// A provision starts what it made, which takes root: what comes before does not.
func TestTheFileOfALoop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		before func(dir string) error
		want   string
	}{
		"is not made where its directory is not": {"file = {dir}/nosuch/disk\nsize = 1m", nil, "the directory of the file: "},
		"is not made of no size":                 {"file = {dir}/disk", nil, "size is not set"},
		"is not taken when it is too small":      {"file = {dir}/disk\nsize = 1m", func(dir string) error { return os.WriteFile(filepath.Join(dir, "disk"), nil, 0o600) }, "less than the size of 1048576"},
		"is not a link":                          {"file = {dir}/disk\nsize = 1m", func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "disk")) }, "not a regular file"},
		"has an absolute name":                   {"file = disk\nsize = 1m", nil, "not an absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := drivertest.New(t, drivertest.Case{Spec: disk.Loop, Config: c.config}, nil)
			if c.before != nil {
				if err := c.before(f.Dir); err != nil {
					t.Fatal(err)
				}
			}

			err := f.Do(instance.Provision)

			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("provision: %v, want %q", err, c.want)
			}
		})
	}

	t.Run("is down and not provisioned before it is made", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, drivertest.Case{Spec: disk.Loop, Config: "file = {dir}/disk\nsize = 1m"}, nil)
		s := f.Resource()
		if s.Status != cluster.Down || len(s.Log) > 0 || s.Provisioned.State != cluster.ProvisionedFalse {
			t.Errorf("%s %v %s", s.Status, s.Log, s.Provisioned.State)
		}
	})
}
