package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/driver/fs"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

func TestFlag(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Case{Spec: fs.Flag})

	t.Run("the file is where scripts look for it, and named in the log", func(t *testing.T) {
		t.Parallel()
		var log strings.Builder
		f := drivertest.New(t, drivertest.Case{Spec: fs.Flag}, &log)
		f.Must(instance.Start)
		file := filepath.Join(f.Host.Paths.Shm(), "namespaces/test/svc/svc/fs#1.flag")
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
		if f.Resource().Label != file {
			t.Errorf("label %q", f.Resource().Label)
		}
		f.Must(instance.Stop)
		if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
			t.Error("something is left:", err)
		}
		for _, want := range []string{"fs#1: install flag file " + file, "fs#1: uninstall flag file " + file} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %q in:\n%s", want, log.String())
			}
		}
	})
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	c := drivertest.Case{
		Spec: fs.Directory, Config: "path = {dir}/a/b\nperm = 2750\n",
		Up: cluster.NotApplicable, Stopped: cluster.NotApplicable,
	}
	drivertest.Run(t, c)

	t.Run("mode and owner are set, and a difference is a warning", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, c, nil)
		f.Must(instance.Start)
		dir := filepath.Join(f.Dir, "a/b")
		info, err := os.Stat(dir)
		if err != nil || info.Mode() != os.ModeDir|os.ModeSetgid|0o750 {
			t.Fatalf("mode %v, %v", info.Mode(), err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if log := f.Resource().Log; len(log) != 1 || log[0].Level != "warn" || log[0].Message != "mode is 700, should be 2750" {
			t.Errorf("log %v", log)
		}
	})

	t.Run("an unprovision removes the tree, and follows no link out of it", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, c, nil)
		precious := filepath.Join(f.Dir, "precious")
		if err := os.WriteFile(precious, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f.Must(instance.Provision)
		if err := os.Symlink(f.Dir, filepath.Join(f.Dir, "a/b/link")); err != nil {
			t.Fatal(err)
		}
		f.Must(instance.Unprovision)
		if _, err := os.Stat(precious); err != nil {
			t.Error("the link was followed:", err)
		}
		if _, err := os.Stat(filepath.Join(f.Dir, "a/b")); !os.IsNotExist(err) {
			t.Error("the directory is still there:", err)
		}
	})

	t.Run("a link to the directory goes with it", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, drivertest.Case{Spec: fs.Directory, Config: "path = {dir}/link\n"}, nil)
		if err := os.Mkdir(filepath.Join(f.Dir, "real"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("real", filepath.Join(f.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		f.Must(instance.Provision)
		f.Must(instance.Unprovision)
		for _, name := range []string{"real", "link"} {
			if _, err := os.Lstat(filepath.Join(f.Dir, name)); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", name, err)
			}
		}
	})

	t.Run("a directory of the system is never removed, even through a link", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, drivertest.Case{Spec: fs.Directory, Config: "path = {dir}/etc\n"}, nil)
		if err := os.Symlink("/etc", filepath.Join(f.Dir, "etc")); err != nil {
			t.Fatal(err)
		}
		f.Must(instance.Provision)
		if err := f.Do(instance.Unprovision); err == nil || !strings.Contains(err.Error(), "/etc is a directory of the system") {
			t.Errorf("unprovision: %v", err)
		}
	})

	t.Run("a directory that vanished is not provisioned any more", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, c, nil)
		f.Must(instance.Provision)
		if err := os.Remove(filepath.Join(f.Dir, "a/b")); err != nil {
			t.Fatal(err)
		}
		if s := f.Resource(); s.Provisioned.State != cluster.ProvisionedFalse || s.Status != cluster.Down {
			t.Errorf("%s, provisioned %s", s.Status, s.Provisioned.State)
		}
		f.Must(instance.Provision)
	})

	for config, want := range map[string]string{
		"path = relative":                      `path "relative" is not absolute`,
		"path = {dir}/x\nuser = nobody-at-all": `user "nobody-at-all": not found on this host`,
		"path = {dir}/x\nperm = 9":             "perm",
		"path =":                               "path",
	} {
		t.Run("a wrong configuration fails the start: "+config, func(t *testing.T) {
			t.Parallel()
			f := drivertest.New(t, drivertest.Case{Spec: fs.Directory, Config: config}, nil)
			if err := f.Do(instance.Start); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("start: %v, want %q", err, want)
			}
		})
	}
}

func TestProtected(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/": true, "/etc": true, "/usr": true, "/srv": true, "/usr/bin/": true, "/var/lib": true,
		"/srv/data": false, "/var/lib/shop": false, "/home/x": false,
	} {
		if got := fs.Protected(path); got != want {
			t.Errorf("Protected(%s) = %v", path, got)
		}
	}
}
