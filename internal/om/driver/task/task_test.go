package task_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/driver/task"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

func host(config string) drivertest.Case {
	return drivertest.Case{Spec: task.Host, Real: true, Config: config}
}

func TestHost(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, host("command = /bin/true\n"))

	t.Run("a run leaves its result, which is the status on demand", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			config       string
			before, want cluster.Status
			fails        bool
		}{
			{"command = /bin/true\n", cluster.NotApplicable, cluster.NotApplicable, false},
			{"command = /bin/true\ncheck = last_run\n", cluster.NotApplicable, cluster.Up, false},
			{"command = /bin/false\ncheck = last_run\n", cluster.NotApplicable, cluster.Down, true},
			{"command = /bin/false\ncheck = last_run_warn\n", cluster.NotApplicable, cluster.Warn, true},
			{"command = /bin/sh -c 'exit 3'\ncheck = last_run\nretcodes = 0:up 3:warn\n", cluster.NotApplicable, cluster.Warn, true},
		} {
			f := drivertest.New(t, host(c.config), nil)
			if s := f.Resource(); s.Status != c.before {
				t.Errorf("%q: never run: %s", c.config, s.Status)
			}
			if err := f.Do(instance.Run); (err != nil) != c.fails {
				t.Errorf("%q: run: %v", c.config, err)
			}
			s := f.Resource()
			if s.Status != c.want || s.Info["last_run_session_id"] == "" || s.Running {
				t.Errorf("%q: after a run: %s %v", c.config, s.Status, s.Info)
			}
			f.Must(instance.Start) // a task does not make an instance up or down
			f.Must(instance.Stop)
		}
	})

	t.Run("output is logged unless told otherwise", func(t *testing.T) {
		t.Parallel()
		var log strings.Builder
		f := drivertest.New(t, host("command = echo hello; echo oops >&2\n"), &log)
		f.Must(instance.Run)
		if text := log.String(); !strings.Contains(text, "INF test/svc/svc: task#1: hello") || !strings.Contains(text, "ERR test/svc/svc: task#1: oops") {
			t.Errorf("logged:\n%s", text)
		}
		f.Configure(host("command = echo quiet; exit 0\nlog = false\n"))
		f.Must(instance.Run)
		if strings.Contains(log.String(), "task#1: quiet") {
			t.Errorf("logged:\n%s", log.String())
		}
	})

	t.Run("a task that asks for a confirmation is refused without one", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, host("command = /bin/true\nconfirmation = true\n"), nil)
		if err := f.Do(instance.Run); err == nil || !strings.Contains(err.Error(), "run it with --confirm") {
			t.Errorf("run: %v", err)
		}
		if err := f.Run(t.Context(), drivertest.Path(), instance.Request{Action: instance.Run, Confirm: true}); err != nil {
			t.Error(err)
		}
	})

	t.Run("on_error runs when the task fails", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, host("command = /bin/false\non_error = /bin/touch {dir}/failed\n"), nil)
		if err := f.Do(instance.Run); err == nil || !strings.Contains(err.Error(), "/bin/false: exit status 1") {
			t.Errorf("run: %v", err)
		}
		if _, err := os.Stat(filepath.Join(f.Dir, "failed")); err != nil {
			t.Error(err)
		}
	})

	t.Run("a run that takes too long is ended, and is a failure", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, host("command = /bin/sleep 60\nrun_timeout = 30ms\ncheck = last_run_warn\n"), nil)
		if err := f.Do(instance.Run); err == nil || !strings.Contains(err.Error(), "still running after 30ms") {
			t.Errorf("run: %v", err)
		}
		if s := f.Resource(); s.Status != cluster.Warn {
			t.Errorf("status %s", s.Status)
		}
	})

	t.Run("no more runs than max_parallel go on at once, each seen while it does", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, host("command = echo > {dir}/begun; read x < {dir}/gate; exit 0\n"), nil)
		gate := filepath.Join(f.Dir, "gate")
		mkfifo(t, gate)
		first := make(chan error, 1)
		go func() { first <- f.Do(instance.Run) }()
		open, err := os.OpenFile(gate, os.O_WRONLY, 0) // the command has begun
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Status(t.Context(), drivertest.Path(), instance.StatusOptions{Refresh: true})
		if err != nil || !s.Resources["task#1"].Running || len(s.Running) != 1 || s.Running[0].Pid != os.Getpid() {
			t.Errorf("running %v, %v", s.Running, err)
		}
		if err := f.Do(instance.Run); err == nil || !strings.Contains(err.Error(), "already running as many times as max_parallel = 1 allows: process ") {
			t.Errorf("second run: %v", err)
		}
		if err := open.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-first; err != nil {
			t.Error("first run:", err)
		}
		s, err = f.Status(t.Context(), drivertest.Path(), instance.StatusOptions{Refresh: true})
		if err != nil || len(s.Running) != 0 {
			t.Errorf("still running: %v, %v", s.Running, err)
		}
	})

	t.Run("a task without a command says what to set", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, host(""), nil)
		if err := f.Do(instance.Run); err == nil || !strings.Contains(err.Error(), "set the command keyword") {
			t.Errorf("run: %v", err)
		}
	})
}

func TestValuesThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"schedule", "garbage", "no time range"},
		{"schedule", "04:00-06:00@120m mon-fri", ""},
		{"retcodes", "1:foo", `retcodes: "1:foo"`},
		{"command", "echo 'x", "not closed"},
		{"on_error", "echo 'x", "not closed"},
		{"max_parallel", "0", "too small: write 1 or more"},
		{"on", "FileInstalled,rid=fs#1 NodeFrozen ObjectStatusUpdated,path=ns1/svc/web", ""},
		{"on", "Zork", `unknown kind "Zork"`},
		{"on", ",rid=fs#1", "no kind of event"},
		{"on", "ObjectStatusUpdated,path=../..", `"ObjectStatusUpdated,path=../..": `},
		{"on", "ObjectStatusUpdated,.data.path=../..", `"ObjectStatusUpdated,.data.path=../..": `},
		{"on", "FileInstalled,rid=fs", `"fs" is no resource: write its group and its index, as fs#1`},
	} {
		k := resource.Table(&resource.Common{}, task.Host.New(resource.Env{})).Find(c[0])
		if err := k.Convert(c[1], keyword.Context{}); c[2] == "" && err != nil || c[2] != "" && (err == nil || !strings.Contains(err.Error(), c[2])) {
			t.Errorf("%s = %s: %v, want %q", c[0], c[1], err, c[2])
		}
	}
}
