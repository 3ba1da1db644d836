//go:build lab

package disk_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/linux/loop"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/disk"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

func TestLoop(t *testing.T) {
	t.Parallel()
	c := drivertest.Case{Spec: disk.Loop, Real: true, Config: "file = {dir}/disk.img\nsize = 1m\n"}
	t.Run("the laws of what is provisioned", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, c, nil)
		f.Must(instance.Provision)
		if s := f.Resource(); s.Status != cluster.Up || s.Provisioned.State != cluster.ProvisionedTrue {
			t.Fatalf("provisioned: %s %s %v", s.Status, s.Provisioned.State, s.Log)
		}
		for _, a := range []instance.Action{instance.Provision, instance.Stop, instance.Stop, instance.Start, instance.Start, instance.Restart, instance.Unprovision, instance.Unprovision} {
			f.Must(a)
		}
		if s := f.Resource(); s.Status != cluster.Down || s.Provisioned.State != cluster.ProvisionedFalse {
			t.Errorf("unprovisioned: %s %s %v", s.Status, s.Provisioned.State, s.Log)
		}
		if left, err := os.ReadDir(f.Dir); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
	t.Run("an unprovision leaves a file that no provision made", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, c, nil)
		file := filepath.Join(f.Dir, "disk.img")
		of := func(text string) {
			if err := os.WriteFile(file, append([]byte(text), make([]byte, 1<<20)...), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		left := func(text string) {
			if got, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(got), text) {
				t.Errorf("not left: %v", err)
			}
		}
		of("somebody's")
		f.Must(instance.Provision)
		f.Must(instance.Unprovision)
		left("somebody's")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		f.Must(instance.Provision)
		f.Must(instance.Stop)
		if err := os.Rename(file, file+".kept"); err != nil {
			t.Fatal(err)
		}
		of("another's") // in the place of the one that was made
		f.Must(instance.Unprovision)
		left("another's")
	})
	t.Run("a device is told by its file, and by no other of the same name", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		file := filepath.Join(dir, "disk.img")
		blank := func() {
			if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		blank()
		device, err := loop.Attach(file)
		if err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(dir, "kept.img")
		t.Cleanup(func() { _ = loop.Detach(t.Context(), device, kept) })
		if found, err := loop.Find(file); err != nil || !slices.Equal(found, []string{device}) {
			t.Errorf("found %v, %v, want %s", found, err, device)
		}

		if err := os.Rename(file, kept); err != nil {
			t.Fatal(err)
		}
		blank()

		if found, err := loop.Find(file); err != nil || len(found) > 0 {
			t.Errorf("another file: found %v, %v", found, err)
		}
		if found, err := loop.Find(kept); err != nil || !slices.Equal(found, []string{device}) {
			t.Errorf("renamed: found %v, %v, want %s", found, err, device)
		}
		if err := loop.Detach(t.Context(), device, kept); err != nil {
			t.Error(err)
		}
		if found, err := loop.Find(kept); err != nil || len(found) > 0 {
			t.Errorf("detached: found %v, %v", found, err)
		}
	})
	t.Run("a device whose file was removed is seen, and taken away by the stop", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, c, nil)
		file := filepath.Join(f.Dir, "disk.img")
		f.Must(instance.Provision)
		its, err := loop.Of(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			left, _ := loop.FindBacked(its)
			for _, device := range left {
				t.Errorf("%s is left", device)
				_ = loop.DetachBacked(context.Background(), device, its)
			}
		})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if s := f.Resource(); s.Status != cluster.Up || len(s.Log) == 0 || !strings.Contains(s.Log[0].Message, "removed") {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
		f.Must(instance.Stop)
		if s := f.Resource(); s.Status != cluster.Down {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
	})
	t.Run("a device in use is not taken away, and the stop says so", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, c, nil)
		f.Must(instance.Provision)
		found, err := loop.Find(filepath.Join(f.Dir, "disk.img"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		user, err := os.Open(found[0])
		if err != nil {
			t.Fatal(err)
		}

		err = f.Do(instance.Stop)

		if want := found[0] + " is in use"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("stop: %v, want %q", err, want)
		}
		if s := f.Resource(); s.Status != cluster.Up {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
		if err := user.Close(); err != nil {
			t.Fatal(err)
		}
		f.Must(instance.Stop)
		if s := f.Resource(); s.Status != cluster.Down {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
	})
}
