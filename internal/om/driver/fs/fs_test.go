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
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
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

	// The directories to keep are those of an agent in a directory of the test:
	// no test may have the power to harm the host, even without the guard.
	for name, place := range map[string]func(t *testing.T, f *drivertest.Fixture) (path, kept string){
		"a directory of the agent": func(_ *testing.T, f *drivertest.Fixture) (string, string) {
			return f.Host.Paths.Etc(), f.Host.Paths.Etc()
		},
		"a directory that holds those of the agent": func(_ *testing.T, f *drivertest.Fixture) (string, string) {
			return filepath.Dir(f.Host.Paths.Etc()) + "/", filepath.Dir(f.Host.Paths.Etc())
		},
		"a directory of the agent reached through a link": func(t *testing.T, f *drivertest.Fixture) (string, string) {
			t.Helper()
			link(t, filepath.Dir(f.Host.Paths.Etc()), filepath.Join(f.Dir, "way"))
			return filepath.Join(f.Dir, "way", filepath.Base(f.Host.Paths.Etc())), f.Host.Paths.Etc()
		},
		"a link": func(t *testing.T, f *drivertest.Fixture) (string, string) {
			t.Helper()
			link(t, "real", filepath.Join(f.Dir, "link"))
			return filepath.Join(f.Dir, "link"), filepath.Join(f.Dir, "real")
		},
		"a link, with a slash behind": func(t *testing.T, f *drivertest.Fixture) (string, string) {
			t.Helper()
			link(t, "real", filepath.Join(f.Dir, "link"))
			return filepath.Join(f.Dir, "link") + "/", filepath.Join(f.Dir, "real")
		},
	} {
		t.Run(name+" is neither changed nor removed", func(t *testing.T) {
			t.Parallel()
			f := drivertest.New(t, drivertest.Case{Spec: fs.Directory, Config: "path = {dir}/x\n"}, nil)
			path, kept := place(t, f)
			if err := os.MkdirAll(kept, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(kept, 0o755); err != nil {
				t.Fatal(err)
			}
			f.Configure(drivertest.Case{Spec: fs.Directory, Config: "path = " + path + "\nperm = 700\n"})
			for _, a := range []instance.Action{instance.Start, instance.Provision} {
				if err := f.Do(a); err == nil || !strings.Contains(err.Error(), path+" is a ") {
					t.Errorf("%s: %v", a, err)
				}
			}
			err := f.Run(t.Context(), drivertest.Path(), instance.Request{Action: instance.Provision, StateOnly: true})
			if err == nil {
				if err := f.Do(instance.Unprovision); err == nil {
					t.Error("unprovisioned")
				}
			}
			if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("the directory is now %v, %v", info, err)
			}
			if s := f.Resource(); len(s.Log) == 0 {
				t.Errorf("status %s says nothing", s.Status)
			}
		})
	}

	t.Run("a directory that was there before is not removed by a provision that fails", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, drivertest.Case{Spec: fs.Directory, Config: "path = {dir}\nuser = nobody-at-all\n"}, nil)
		if err := f.Run(t.Context(), drivertest.Path(), instance.Request{Action: instance.Provision}); err == nil {
			t.Fatal("no error")
		}
		if _, err := os.Stat(f.Dir); err != nil {
			t.Error(err)
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

// Asking the keyword touches nothing.
func TestGuard(t *testing.T) {
	t.Parallel()
	k := resource.Table(&resource.Common{}, fs.Directory.New(resource.Env{})).Find("path")
	for path, refused := range map[string]bool{
		"/": true, "//": true, "/etc": true, "/etc/": true, "/srv/../etc": true, "/usr": true, "/usr/bin": true, "/lib64": true, "/var": true,
		"/var/lib": true, "/var/lib/opensvc": true, "/etc/opensvc": true, "/home": true, "/tmp": true, "/root": true, "/proc": true, "/srv": true,
		"relative": true, "./x": true,
		"/srv/data": false, "/var/lib/shop": false, "/home/x": false, "/data": false, "/var/lib/opensvc/namespaces/test/svc/svc/data": false,
	} {
		if err := k.Convert(path, keyword.Context{}); (err != nil) != refused {
			t.Errorf("path = %s: %v", path, err)
		}
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}
