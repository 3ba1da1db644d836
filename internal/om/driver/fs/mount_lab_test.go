//go:build lab

package fs_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/linux/loop"
	"github.com/holdfast-ops/holdfast/internal/linux/mount"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/driver/fs"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// TestMounts runs itself where its mounts are seen by nobody else.
func TestMounts(t *testing.T) {
	t.Parallel()
	if !hosttest.Isolate(t, ":") {
		return
	}
	t.Run("the laws", func(t *testing.T) {
		t.Parallel()
		drivertest.Run(t, drivertest.Case{Spec: fs.Tmpfs, Real: true, Config: "mnt = {dir}/a/b\nsize = 1m\nmnt_opt = nosuid\nperm = 2750\n"})
		drivertest.Run(t, drivertest.Case{Spec: fs.Bind, Real: true, Config: "mnt = {dir}/b\ndev = {dir}\nmnt_opt = ro\n"})
	})
	t.Run("a tmpfs is of the size and the mode that were asked", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, drivertest.Case{Spec: fs.Tmpfs, Real: true, Config: "mnt = {dir}/a\nsize = 64k\nperm = 2750\n"}, nil)
		f.Must(instance.Start)
		a := filepath.Join(f.Dir, "a")
		if err := os.WriteFile(filepath.Join(a, "big"), make([]byte, 1<<20), 0o600); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("a file of 1 MiB: %v", err)
		}
		if info, err := os.Stat(a); err != nil || info.Mode() != os.ModeDir|os.ModeSetgid|0o750 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		f.Must(instance.Stop)
		if left, err := os.ReadDir(a); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
	t.Run("a filesystem in use is not unmounted, and who uses it is named", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, drivertest.Case{Spec: fs.Tmpfs, Real: true, Config: "mnt = {dir}/a\n"}, nil)
		f.Must(instance.Start)
		file := filepath.Join(f.Dir, "a", "log")
		user, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}

		err = f.Do(instance.Stop)

		if want := " is busy: process " + strconv.Itoa(os.Getpid()) + " (fs.test): " + file; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("stop: %v, want %q", err, want)
		}
		if err := user.Close(); err != nil {
			t.Fatal(err)
		}
		f.Must(instance.Stop)
	})
	t.Run("another filesystem at the directory is neither hidden nor unmounted", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, drivertest.Case{Spec: fs.Tmpfs, Real: true, Config: "mnt = {dir}/a\ndev = ours\n"}, nil)
		dir := filepath.Join(f.Dir, "a")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := mount.Mount(t.Context(), "theirs", dir, "tmpfs", mount.Options{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { hosttest.Sh(t, "umount", dir) })

		if err := f.Do(instance.Start); err == nil || !strings.Contains(err.Error(), "holds another filesystem, tmpfs of theirs") {
			t.Errorf("start: %v", err)
		}
		if s := f.Resource(); s.Status != cluster.Down || len(s.Log) != 1 {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
		f.Must(instance.Stop)
		if points, err := mount.At(dir); err != nil || len(points) != 1 {
			t.Errorf("mounted: %v, %v", points, err)
		}
	})
	for spec, size := range map[*resource.Spec]int64{&fs.Ext4: 8 << 20, &fs.XFS: 300 << 20} {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			formatted(t, *spec, size)
		})
	}
}

func formatted(t *testing.T, spec resource.Spec, size int64) {
	t.Helper()
	blank := func(t *testing.T) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "disk.img")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
		dev, err := loop.Attach(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := loop.Detach(context.WithoutCancel(t.Context()), dev, file); err != nil {
				t.Error(err)
			}
		})
		return dev
	}
	t.Run("a blank device is formatted, mounted, and wiped again", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, drivertest.Case{Spec: spec, Real: true, Config: "mnt = {dir}/a\ndev = " + blank(t) + "\nmkfs_opt = -L shop\n"}, nil)
		for range 2 {
			if s := f.Resource(); s.Status != cluster.Down || s.Provisioned.State != cluster.ProvisionedFalse {
				t.Fatalf("at first: %s %s %v", s.Status, s.Provisioned.State, s.Log)
			}
			f.Must(instance.Provision)
			if s := f.Resource(); s.Status != cluster.Up || s.Provisioned.State != cluster.ProvisionedTrue || len(s.Log) > 0 {
				t.Fatalf("provisioned: %s %s %v", s.Status, s.Provisioned.State, s.Log)
			}
			file := filepath.Join(f.Dir, "a", "kept")
			if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			f.Must(instance.Stop)
			if _, err := os.Stat(file); !os.IsNotExist(err) {
				t.Error("stopped, and the file is there:", err)
			}
			f.Must(instance.Provision) // it formats nothing now
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
			f.Must(instance.Restart)
			f.Must(instance.Unprovision)
		}
	})
	for name, content := range map[string]string{
		"another filesystem": "mkfs.ext4 -q $0 || true; test $1 != ext4 || mkfs.xfs -q -f -d size=16m $0 2>/dev/null || mkswap $0",
		"swap":               "mkswap $0",
		"a partition table":  `printf '\000\000\002\000\203\000\000\000\010\000\000\000\000\010\000\000' | dd of=$0 bs=1 seek=446 conv=notrunc status=none && printf '\125\252' | dd of=$0 bs=1 seek=510 conv=notrunc status=none`,
		"a heartbeat disk":   `printf '\075\301\074\207\300\133\343\266' | dd of=$0 conv=notrunc status=none`,
	} {
		t.Run("a device that holds "+name+" is not formatted", func(t *testing.T) {
			t.Parallel()
			dev := blank(t)
			hosttest.Sh(t, "sh", "-c", content, dev, spec.Name)
			before := hosttest.Sh(t, "sha256sum", dev)
			f := drivertest.New(t, drivertest.Case{Spec: spec, Real: true, Config: "mnt = {dir}/a\ndev = " + dev + "\nmkfs_opt = -f\n"}, nil)

			err := f.Run(t.Context(), drivertest.Path(), instance.Request{Action: instance.Provision, Leader: true, Force: true})

			if err == nil || !strings.Contains(err.Error(), dev+" is not formatted: it holds ") {
				t.Errorf("provision: %v", err)
			}
			if after := hosttest.Sh(t, "sha256sum", dev); after != before {
				t.Error("the device was written")
			}
		})
	}
	t.Run("a filesystem that was made by somebody else is taken, and not wiped", func(t *testing.T) {
		t.Parallel()
		dev := blank(t)
		hosttest.Sh(t, "mkfs."+spec.Name, "-q", dev)
		f := drivertest.New(t, drivertest.Case{Spec: spec, Real: true, Config: "mnt = {dir}/a\ndev = " + dev + "\n"}, nil)
		f.Must(instance.Provision)
		f.Must(instance.Unprovision)
		if got := strings.TrimSpace(hosttest.Sh(t, "blkid", "-p", "-o", "value", "-s", "TYPE", dev)); got != spec.Name {
			t.Errorf("the device holds %q", got)
		}
	})
	t.Run("a filesystem that was made read-only by an error is a warning", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, drivertest.Case{Spec: spec, Real: true, Config: "mnt = {dir}/a\ndev = " + blank(t) + "\ncheck_read = true\n"}, nil)
		f.Must(instance.Provision)
		hosttest.Sh(t, "mount", "-o", "remount,ro", filepath.Join(f.Dir, "a"))
		if s := f.Resource(); s.Status != cluster.Up || len(s.Log) != 1 || !strings.Contains(s.Log[0].Message, "read-only") {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
		f.Must(instance.Unprovision)
	})
	t.Run("a device that is read-only is made writable when that is asked", func(t *testing.T) {
		t.Parallel()
		dev := blank(t)
		f := drivertest.New(t, drivertest.Case{Spec: spec, Real: true, Config: "mnt = {dir}/a\ndev = " + dev + "\npromote_rw = true\n"}, nil)
		f.Must(instance.Provision)
		f.Must(instance.Stop)
		hosttest.Sh(t, "blockdev", "--setro", dev)
		f.Must(instance.Start)
		if err := os.WriteFile(filepath.Join(f.Dir, "a", "x"), nil, 0o600); err != nil {
			t.Error(err)
		}
		f.Must(instance.Unprovision)
	})
}
