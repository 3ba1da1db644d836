package instance_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestFiltersThatSelectNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action instance.Action
		change func(*instance.Request)
		want   string
	}{
		"an empty rid is not every resource":      {instance.Stop, func(r *instance.Request) { r.RID = []string{""} }, "--rid is empty"},
		"a blank among several is refused":        {instance.Stop, func(r *instance.Request) { r.RID = []string{"app#1", " "} }, "--rid is empty"},
		"an empty tag is not every resource":      {instance.Start, func(r *instance.Request) { r.Tag = []string{""} }, "--tag is empty"},
		"an empty subset is not every resource":   {instance.Start, func(r *instance.Request) { r.Subset = []string{""} }, "--subset is empty"},
		"what is no task is not run":              {instance.Run, rid("app#1"), "no task to run: --rid=app#1 selects none: the object has task#1"},
		"nothing is run up to what is before all": {instance.Run, func(r *instance.Request) { r.To = "app" }, "no task to run: --to=app selects none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := faked(t, "[app#1]\n[task#1]\n")
			f.fails(c.action, c.want, c.change)
			if did := f.fake.history(); len(did) > 0 {
				t.Error("done:", did)
			}
			if f.out.text() != "" {
				t.Errorf("logged: %s", f.out.text())
			}
		})
	}
}

func TestAnObjectWithoutTasksSaysSo(t *testing.T) {
	t.Parallel()
	f := faked(t, "[app#1]\n")
	f.fails(instance.Run, "no task to run: --rid=app#1 selects none: the object has no task", rid("app#1"))
}

func TestWhatIsLeftAloneIsLogged(t *testing.T) {
	t.Parallel()
	f := faked(t, "[app#1]\n[app#2]\ndisable = true\n")
	f.run(instance.Stop)
	f.run(instance.Start)
	f.out.reset()
	f.run(instance.Start)
	if log := f.out.text(); !strings.Contains(log, "app#1: already up\n") || strings.Contains(log, "app#2") {
		t.Errorf("logged:\n%s", log)
	}
	f.run(instance.Stop)
	f.out.reset()
	f.run(instance.Stop)
	if log := f.out.text(); !strings.Contains(log, "app#1: already down\n") {
		t.Errorf("logged:\n%s", log)
	}
	f.out.reset()
	f.run(instance.Start, rid("app#2"))
	if log := f.out.text(); !strings.Contains(log, "app#2: disabled\n") {
		t.Errorf("logged:\n%s", log)
	}
}

func TestABrokenConfigurationIsDeleted(t *testing.T) {
	t.Parallel()
	for name, conf := range map[string]string{
		"text that does not parse":        "[zzz\n",
		"a value that means nothing":      "[DEFAULT]\norchestrate = xx\n",
		"a subset that cannot be read":    "[subset#app:a]\nparallel = maybe\n",
		"nodes that do not hold this one": "[DEFAULT]\nnodes = elsewhere\n",
		"nothing at all":                  "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := native(t, "")
			f.write(web, conf)
			f.run(instance.Delete)
			if _, err := os.Stat(filepath.Join(f.Host.Paths.Etc(), web.ConfigFile())); !errors.Is(err, os.ErrNotExist) {
				t.Error("still there:", err)
			}
			var missing *object.NotFoundError
			if err := f.try(instance.Delete); !errors.As(err, &missing) {
				t.Errorf("deleted twice: %v", err)
			}
		})
	}
}

func TestNoWaitForTheLock(t *testing.T) {
	t.Parallel()
	f := faked(t, "[app#1]\n")
	name := filepath.Join(f.Host.Paths.Var(), web.StateDir(), "lock", "generic")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for _, wait := range []string{"0", "0s"} {
		r, err := instance.RequestOf(instance.Start, api.InstanceAction{WaitLock: wait})
		if err != nil || r.WaitLock != instance.NoWait {
			t.Fatalf("--waitlock %s is %s, %v", wait, r.WaitLock, err)
		}
		began := time.Now()
		f.fails(instance.Start, "another action is in progress", func(to *instance.Request) { to.WaitLock = r.WaitLock })
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("waited %s", took)
		}
	}
	if err := errors.Join(unix.Flock(int(file.Fd()), unix.LOCK_UN), file.Close()); err != nil {
		t.Fatal(err)
	}
	f.run(instance.Start, func(r *instance.Request) { r.WaitLock = instance.NoWait })
	if args := (instance.Request{WaitLock: instance.NoWait}).Args(); strings.Join(args, " ") != "--waitlock=0s" {
		t.Errorf("arguments %v", args)
	}
}

// Exit status 2 is for a target that does not exist: a secret is none.
func TestWhatAnActionMissesIsNotItsTarget(t *testing.T) {
	t.Parallel()
	f := native(t, "[app#1]\ntype = forking\nstart = /bin/true\ninfo = /bin/true\nsecrets_environment = A=db/password\n")
	f.Data = func(p object.Path, _ string) ([]byte, error) { return nil, &object.NotFoundError{What: p.String()} }
	_, infoErr := f.Info(t.Context(), web, instance.Request{}, true)
	for what, err := range map[string]error{"start": f.try(instance.Start), "info": infoErr} {
		var coded interface {
			error
			ExitCode() int
		}
		if !errors.As(err, &coded) || coded.ExitCode() != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
}
