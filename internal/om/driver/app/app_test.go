package app_test

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/app"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// simple is a case with a real process.
func simple(config string) drivertest.Case {
	return drivertest.Case{Spec: app.Simple, Real: true, Config: "start_grace = 10ms\n" + config}
}

func TestSimple(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, simple("start = /bin/sleep 300\n"))

	record := func(t *testing.T, f *drivertest.Fixture) launch.Record {
		t.Helper()
		r, err := launch.ReadRecord(filepath.Join(f.Host.Paths.Var(), "namespaces/test/svc/svc/app#1/process"))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	t.Run("the record names the process, which leads a session", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, simple("start = /bin/sleep 300\n"), nil)
		f.Must(instance.Start)
		r := record(t, f)
		if line := commandLine(t, r.Pid); line != "/bin/sleep\x00300\x00" {
			t.Errorf("process %d is %q", r.Pid, line)
		}
		if f.Resource().Info["pid"] != r.Pid {
			t.Errorf("info %v, want pid %d", f.Resource().Info, r.Pid)
		}
	})

	for name, c := range map[string]struct{ config, want string }{
		"a command that fails at once is a failed start, with its exit status": {
			"start = /bin/sh -c 'exit 7'\nstart_grace = 10s\n", "ended within 10s of its start: /bin/sh -c 'exit 7': exit status 7",
		},
		"a command that ends at once is a failed start, even with status 0": {
			"start = /bin/true\nstart_grace = 10s\n", "/bin/true: ended within 10s of its start, with exit status 0: a simple app stays in the foreground",
		},
		"a command killed at once says by what": {
			"start = /bin/sh -c 'kill -9 $$'\nstart_grace = 10s\n", "killed by signal",
		},
		"a command that does not exist is named": {"start = no-such-command\nstart_grace = 10s\n", `command "no-such-command": not found in`},
		"an unknown user is named":               {"start = /bin/sleep 300\nuser = nobody-at-all\nstart_grace = 10s\n", `user "nobody-at-all": not found`},
		"a directory that is not there is named": {"start = /bin/sleep 300\ncwd = /no/such\nstart_grace = 10s\n", "working directory: chdir /no/such"},
		"true without a script says what to set": {"start = true\n", "start = true needs a script"},
		"a secret that is not there is named":    {"start = /bin/sleep 300\nsecrets_environment = A=db/password\n", "secrets_environment: A=db/password: no data store"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := drivertest.New(t, drivertest.Case{Spec: app.Simple, Real: true, Config: c.config}, nil)
			if err := f.Do(instance.Start); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("start: %v, want %q", err, c.want)
			}
			if s := f.Resource(); s.Status != cluster.Down {
				t.Errorf("status %s", s.Status)
			}
		})
	}

	t.Run("a process that ends later is seen down", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, simple("start = /bin/sleep 300\n"), nil)
		f.Must(instance.Start)
		kill(t, record(t, f))
		if s := f.Resource(); s.Status != cluster.Down {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
		f.Must(instance.Start)
		if s := f.Resource(); s.Status != cluster.Up {
			t.Errorf("started again: status %s", s.Status)
		}
	})

	t.Run("what a dead process left running is named, and a stop ends it", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, simple("start = sleep 302 & echo $! > {dir}/child; wait\n"), nil)
		f.Must(instance.Start)
		child := readPid(t, filepath.Join(f.Dir, "child"))
		kill(t, record(t, f))
		s := f.Resource()
		want := "process " + strconv.Itoa(record(t, f).Pid) + " has ended but left process " + strconv.Itoa(child) + " running"
		if s.Status != cluster.Down || len(s.Log) != 1 || s.Log[0].Level != "warn" || s.Log[0].Message != want {
			t.Errorf("status %s %v, want down and %q", s.Status, s.Log, want)
		}
		f.Must(instance.Stop)
		if runs(child) {
			t.Errorf("process %d is still there", child)
		}
	})

	t.Run("a process whose check says down is not started twice, and is stopped", func(t *testing.T) {
		t.Parallel()
		var log strings.Builder
		f := drivertest.New(t, simple("start = : > {dir}/up; exec sleep 310\nstart_grace = 200ms\ncheck = test -e {dir}/up && true\n"), &log)
		f.Must(instance.Start)
		r := record(t, f)
		awaitFile(t, filepath.Join(f.Dir, "up"))
		if err := os.Remove(filepath.Join(f.Dir, "up")); err != nil {
			t.Fatal(err)
		}
		if err := f.Do(instance.Start); err == nil || !r.Alive() {
			t.Errorf("start: %v, alive: %v", err, r.Alive())
		}
		if want := "app#1: already up: process " + strconv.Itoa(r.Pid); !strings.Contains(log.String(), want) {
			t.Errorf("no %q in:\n%s", want, log.String())
		}
		f.Must(instance.Stop)
		if r.Alive() {
			t.Error("still alive")
		}
	})

	t.Run("a start without a command says what to set, unless a check alone tells the status", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, simple(""), nil)
		if err := f.Do(instance.Start); err == nil || !strings.Contains(err.Error(), "start is not set") {
			t.Errorf("start: %v", err)
		}
		f.Configure(simple("check = /bin/sh -c 'exit 5'\nretcodes = 0:up 5:n/a\n"))
		f.Must(instance.Start)
	})

	t.Run("a stop signals every process of the session, and waits for them", func(t *testing.T) {
		t.Parallel()
		var log strings.Builder
		f := drivertest.New(t, simple("start = sleep 303 & echo $! > {dir}/child; wait\n"), &log)
		f.Must(instance.Start)
		child := readPid(t, filepath.Join(f.Dir, "child"))
		f.Must(instance.Stop)
		for _, want := range []string{"send termination signal to process ", "process " + strconv.Itoa(child) + " is now terminated"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %q in:\n%s", want, log.String())
			}
		}
	})

	t.Run("a process that ignores the signal is killed after stop_timeout, and the log says so", func(t *testing.T) {
		t.Parallel()
		var log strings.Builder
		f := drivertest.New(t, simple("start = trap '' TERM; : > {dir}/deaf; while :; do sleep 1; done\nstop_timeout = 200ms\n"), &log)
		f.Must(instance.Start)
		awaitFile(t, filepath.Join(f.Dir, "deaf"))
		began := time.Now()
		f.Must(instance.Stop)
		if took := time.Since(began); took < 100*time.Millisecond || took > time.Minute {
			t.Errorf("the stop took %s", took)
		}
		pid := strconv.Itoa(recordedPid(log.String()))
		if !strings.Contains(log.String(), "WRN test/svc/svc: app#1: process "+pid+" did not end in 200ms: killed") ||
			!strings.Contains(log.String(), "process "+pid+" is now terminated") {
			t.Errorf("logged:\n%s", log.String())
		}
	})

	t.Run("a process that ends at the signal does not hold the stop", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, simple("start = /bin/sleep 300\nstop_timeout = 10m\n"), nil)
		f.Must(instance.Start)
		began := time.Now()
		f.Must(instance.Stop)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the stop took %s", took)
		}
	})

	t.Run("the stop command runs first, and its failure does not spare the process", func(t *testing.T) {
		t.Parallel()
		var log strings.Builder
		f := drivertest.New(t, simple("start = /bin/sleep 300\nstop = echo bye; exit 3\n"), &log)
		f.Must(instance.Start)
		f.Must(instance.Stop)
		if text := log.String(); !strings.Contains(text, "app#1: bye") || !strings.Contains(text, "WRN test/svc/svc: app#1: stop command: /bin/sh -c 'echo bye; exit 3': exit status 3") {
			t.Errorf("logged:\n%s", text)
		}
	})

	t.Run("two agents of one host do not see each other", func(t *testing.T) {
		t.Parallel()
		a := drivertest.New(t, simple("start = /bin/sleep 300\n"), nil)
		b := drivertest.New(t, simple("start = /bin/sleep 300\n"), nil)
		a.Must(instance.Start)
		if s := b.Resource(); s.Status != cluster.Down {
			t.Errorf("the other agent sees %s", s.Status)
		}
		b.Must(instance.Start)
		b.Must(instance.Stop)
		if s := a.Resource(); s.Status != cluster.Up {
			t.Errorf("after the stop by the other agent: %s", s.Status)
		}
	})

	t.Run("the process finds its environment, limits, umask and directory", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, simple(`cwd = {dir}
umask = 027
limit_nofile = 123
limit_core = 0
environment = COLOR=blue "TITLE=a b"
configs_environment = PORT=front/port front/logo.url
secrets_environment = PASSWORD=db/password
start = echo "$COLOR|$TITLE|$PORT|$LOGO_URL|$PASSWORD|$OPENSVC_RID|$OPENSVC_SVCPATH|$OPENSVC_ID|$OPENSVC_ACTION"  > out.tmp; umask >> out.tmp; ulimit -n >> out.tmp; ulimit -c >> out.tmp; pwd >> out.tmp; mv out.tmp out; exec sleep 300
`), nil)
		f.Data = func(p object.Path, key string) ([]byte, error) {
			return []byte(p.String() + ":" + key), nil
		}
		f.Must(instance.Start)
		awaitFile(t, filepath.Join(f.Dir, "out"))
		b, err := os.ReadFile(filepath.Join(f.Dir, "out"))
		want := "blue|a b|test/cfg/front:port|test/cfg/front:logo.url|test/sec/db:password|app#1|test/svc/svc|0e745444-6724-48f9-8167-e865b4f9ec94|start\n0027\n123\n0\n" + f.Dir + "\n"
		if diff := cmp.Diff(want, string(b)); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})

	t.Run("a relative command is searched in the directory of the object first", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, simple("script = serve\nstart = true\n"), nil)
		dir := filepath.Join(f.Host.Paths.Etc(), "namespaces/test/svc/svc.d")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "serve"), []byte("#!/bin/sh\necho $1 > "+f.Dir+"/verb\nexec sleep 300\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		f.Must(instance.Start)
		awaitFile(t, filepath.Join(f.Dir, "verb"))
	})

	t.Run("check decides the status when it is set", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, simple("start = /bin/sleep 300\ncheck = test -f {dir}/ready || exit 1; exit 0\n"), nil)
		if err := f.Do(instance.Start); err == nil {
			t.Error("the start succeeded although the check says down")
		}
		if err := os.WriteFile(filepath.Join(f.Dir, "ready"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if s := f.Resource(); s.Status != cluster.Up {
			t.Errorf("status %s", s.Status)
		}
	})

	t.Run("a process runs as the user it is told", func(t *testing.T) {
		t.Parallel()
		me, err := user.Current()
		if err != nil {
			t.Fatal(err)
		}
		f := drivertest.New(t, simple("start = /bin/sleep 300\nuser = "+me.Username+"\n"), nil)
		f.Must(instance.Start)
		info, err := os.Stat("/proc/" + strconv.Itoa(record(t, f).Pid))
		if err != nil {
			t.Fatal(err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || strconv.Itoa(int(st.Uid)) != me.Uid {
			t.Errorf("owner %v, want %s", st.Uid, me.Uid)
		}
	})
}

func TestForking(t *testing.T) {
	t.Parallel()
	forking := func(config string) drivertest.Case {
		return drivertest.Case{Spec: app.Forking, Real: true, Config: config}
	}
	const files = "start = touch {dir}/up && true\nstop = rm {dir}/up && true\ncheck = test -f {dir}/up\n"
	drivertest.Run(t, forking(files))

	t.Run("commands are launched as om exec, and named as they are written", func(t *testing.T) {
		t.Parallel()
		var log strings.Builder
		f := drivertest.New(t, drivertest.Case{
			Spec: app.Forking, Config: "script = /srv/app\nstart = true\nstop = false\n",
			Script: "-- $ om exec --report 3 -- /srv/app start --\nhello\n",
		}, &log)
		f.Must(instance.Start)
		f.Must(instance.Stop)
		for _, want := range []string{"app#1: run: om exec -- /srv/app start\n", "app#1: hello\n"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %q in:\n%s", want, log.String())
			}
		}
	})

	t.Run("without a check the status is n/a, and says why", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, forking("start = /bin/true\n"), nil)
		s := f.Resource()
		want := []cluster.ResourceLogEntry{{Level: "info", Message: "check is not set"}}
		if diff := cmp.Diff(want, s.Log); s.Status != cluster.NotApplicable || diff != "" {
			t.Error(s.Status, diff)
		}
	})

	for name, c := range map[string]struct {
		config string
		want   cluster.Status
		log    string
	}{
		"exit statuses are mapped":            {"check = /bin/sh -c 'exit 3'\nretcodes = 0:up 1:down 3:n/a\n", cluster.NotApplicable, ""},
		"one that is not mapped is a warning": {"check = /bin/sh -c 'exit 9'\n", cluster.Warn, "exit status 9 is not in retcodes"},
		"a check that takes too long is told": {"check = /bin/sleep 60\ncheck_timeout = 20ms\n", cluster.Warn, "still running after 20ms"},
		"a check that is not there is told":   {"check = /no/such/check\nretcodes = 0:down 1:up\n", cluster.Warn, "check: command: stat /no/such/check: no such file"},
		"a check that cannot run is told":     {"check = /bin/true\nuser = nobody-at-all\nretcodes = 0:down 1:up\n", cluster.Warn, `check: user "nobody-at-all": not found`},
		"what it prints is kept on demand":    {"check = echo all well; exit 0\nstatus_log = true\n", cluster.Up, "all well"},
		"a false check is none":               {"check = false\n", cluster.NotApplicable, "check is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := drivertest.New(t, forking(c.config), nil)
			s := f.Resource()
			if s.Status != c.want {
				t.Errorf("status %s, want %s", s.Status, c.want)
			}
			if c.log != "" && (len(s.Log) != 1 || !strings.Contains(s.Log[0].Message, c.log)) {
				t.Errorf("log %v, want %q", s.Log, c.log)
			}
		})
	}

	t.Run("a start that fails says how", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, forking("start = echo no space >&2; exit 5\n"), nil)
		if err := f.Do(instance.Start); err == nil || !strings.Contains(err.Error(), "exit status 5: no space") {
			t.Errorf("start: %v", err)
		}
	})

	t.Run("a start that takes too long is ended", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, forking("start = /bin/sleep 60\nstart_timeout = 30ms\n"), nil)
		if err := f.Do(instance.Start); err == nil || !strings.Contains(err.Error(), "30ms") {
			t.Errorf("start: %v", err)
		}
	})

	t.Run("info adds what the command prints, well formed lines only", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, forking("start = /bin/true\ninfo = echo version:4.2.1; echo url:http://x; echo nothing; echo 'schema: 19'\n"), nil)
		list, err := f.Info(t.Context(), drivertest.Path(), instance.Request{}, true)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, i := range list {
			got[i.Key] = i.Value
		}
		for key, want := range map[string]string{"driver": "app.forking", "version": "4.2.1", "schema": "19", "start": "/bin/true", "url": ""} {
			if got[key] != want {
				t.Errorf("%s is %q, want %q", key, got[key], want)
			}
		}
	})

	t.Run("an info command that fails aborts the refresh", func(t *testing.T) {
		t.Parallel()
		f := drivertest.New(t, forking("info = echo no >&2; exit 2\n"), nil)
		_, err := f.Info(t.Context(), drivertest.Path(), instance.Request{}, true)
		if err == nil || !strings.Contains(err.Error(), "exit status 2: no") {
			t.Errorf("info: %v", err)
		}
	})
}

func kill(t *testing.T, r launch.Record) {
	t.Helper()
	h, err := r.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	if err := h.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := h.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func awaitFile(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if b, err := os.ReadFile(name); err == nil && (len(b) > 0 || !strings.HasSuffix(name, "child")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", name)
		}
	}
}

func readPid(t *testing.T, name string) int {
	t.Helper()
	awaitFile(t, name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// recordedPid is the first process the log says it signals.
func recordedPid(log string) int {
	_, after, _ := strings.Cut(log, "send termination signal to process ")
	number, _, _ := strings.Cut(after, "\n")
	pid, _ := strconv.Atoi(number)
	return pid
}

func TestValuesThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"start", "/bin/sleep '300", "command \"/bin/sleep '300\": the quote ' is not closed"},
		{"stop", `/bin/sleep 1 \`, "ends with a backslash"},
		{"check", `/bin/sleep "1`, `the quote " is not closed`},
		{"start", "echo 'a | cat", ""}, // for the shell to read
		{"start", "true", ""},
		{"stop", "", ""},
		{"retcodes", "0:up 1:foo x:y", `retcodes: "1:foo"`},
		{"retcodes", "0=up", `retcodes: "0=up" is not code:status`},
		{"environment", "FOO", `environment: "FOO" is not VAR=value`},
		{"environment", "=x", `environment: "=x" is not VAR=value`},
		{"environment", `A= "B=x y"`, ""},
		{"restart", "-1", "too small: write 0 or more"},
		{"subset", "a b", "not one word"},
		{"start_requires", "garbage (((", `cannot read "((("`},
		{"start_requires", "fs#2(foo)", "foo"},
		{"stop_requires", "fs#2(down,n/a)", ""},
	} {
		k := resource.Table(&resource.Common{}, app.Simple.New(resource.Env{})).Find(c[0])
		if err := k.Convert(c[1], keyword.Context{}); c[2] == "" && err != nil || c[2] != "" && (err == nil || !strings.Contains(err.Error(), c[2])) {
			t.Errorf("%s = %s: %v, want %q", c[0], c[1], err, c[2])
		}
	}
}
