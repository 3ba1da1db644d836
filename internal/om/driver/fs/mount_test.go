package fs_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/driver/fs"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

func TestAMountThatCannotBeIsRefusedBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec         resource.Spec
		config, want string
	}{
		{fs.Tmpfs, "mnt = /etc", "directory of the system"},
		{fs.Tmpfs, "mnt = srv", "is not absolute"},
		{fs.Tmpfs, "mnt = {dir}/x\nmnt_opt = remount,rw", "option remount"},
		{fs.Tmpfs, "mnt = {dir}/x\nmnt_opt = size=1m\nsize = 2m", "the size is set twice"},
		{fs.Tmpfs, "size = 2m", "mnt"},
		{fs.Bind, "mnt = {dir}/x", "dev"},
		{fs.Bind, "mnt = {dir}/x\ndev = data", "not an absolute path"},
		{fs.Ext4, "mnt = {dir}/x\ndev = vdb", "not a device"},
		{fs.Ext4, "mnt = {dir}/x\ndev = /dev/null", "/dev/null is not a block device"},
		{fs.Ext4, "mnt = {dir}/x\ndev = /dev/no-such-disk", "no such file"},
		{fs.XFS, "mnt = {dir}/x\ndev = UUID=0e745444-6724-48f9-8167-e865b4f9ec94", "/dev/disk/by-uuid/0e745444-6724-48f9-8167-e865b4f9ec94"},
	} {
		t.Run(c.spec.Name+" "+c.config, func(t *testing.T) {
			t.Parallel()
			f := drivertest.New(t, drivertest.Case{Spec: c.spec, Config: c.config}, nil)

			err := f.Do(instance.Start)

			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("start: %v, want %q", err, c.want)
			}
		})
	}
}

func TestWhatIsNotMountedIsDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec   resource.Spec
		config string
	}{
		{fs.Tmpfs, "mnt = {dir}/x"},
		{fs.Bind, "mnt = {dir}/x\ndev = {dir}"},
		{fs.Ext4, "mnt = {dir}/x\ndev = /dev/no-such-disk"},
	} {
		f := drivertest.New(t, drivertest.Case{Spec: c.spec, Config: c.config}, nil)
		if s := f.Resource(); s.Status != cluster.Down || len(s.Log) > 0 {
			t.Errorf("%s: %s %v", c.spec.Name, s.Status, s.Log)
		}
	}
}
