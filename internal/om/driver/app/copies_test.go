package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

// A resource never runs twice, whatever was killed, lost or left behind. What runs
// is a program of a name of its own, by which the tests find it, without anything
// the driver knows.
func copying(t *testing.T, config string, log *strings.Builder) *drivertest.Fixture {
	t.Helper()
	f := drivertest.New(t, simple(config), log)
	if err := os.Symlink("/bin/sleep", filepath.Join(f.Dir, "copy")); err != nil {
		t.Fatal(err)
	}
	return f
}

// copies are the processes of the program, those about to become it included.
func copies(t *testing.T, f *drivertest.Fixture) []int {
	t.Helper()
	return commands(t, func(line string) bool { return strings.Contains(line, filepath.Join(f.Dir, "copy")) })
}

// awaitCopy returns once the program runs.
func awaitCopy(t *testing.T, f *drivertest.Fixture) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if len(commands(t, func(line string) bool { return strings.HasPrefix(line, filepath.Join(f.Dir, "copy")) })) > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the copy did not come")
		}
	}
}

func commands(t *testing.T, match func(line string) bool) []int {
	t.Helper()
	table, err := proc.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, p := range table {
		if !p.Ended() && match(commandLine(t, p.Pid)) {
			pids = append(pids, p.Pid)
		}
	}
	return pids
}

// commandLine is empty for a thread of the kernel and for who ended. That of a
// process being executed is waited for.
func commandLine(t *testing.T, pid int) string {
	t.Helper()
	for {
		env, err := proc.Environ(t.Context(), pid)
		if err != nil {
			return ""
		}
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil || len(b) > 0 || len(env) == 0 {
			return string(b)
		}
	}
}

func recordOf(f *drivertest.Fixture) string {
	return filepath.Join(f.Host.Paths.Var(), "namespaces/test/svc/svc/app#1/process")
}

// runs reports whether a process is there, and not only waits to be collected.
func runs(pid int) bool {
	p, err := proc.Stat(pid)
	return err == nil && !p.Ended()
}

// killMain ends the main process, if it has not ended by itself.
func killMain(t *testing.T, f *drivertest.Fixture) {
	t.Helper()
	r, err := launch.ReadRecord(recordOf(f))
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.Open()
	if err != nil {
		return
	}
	_ = h.Signal(syscall.SIGKILL)
	if err := h.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

// endMain has the main process end by itself, when it waits for {dir}/over.
func endMain(t *testing.T, f *drivertest.Fixture) {
	t.Helper()
	r, err := launch.ReadRecord(recordOf(f))
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.Open()
	if err != nil {
		t.Fatal(err)
	}
	over := filepath.Join(f.Dir, "over")
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.WaitGone(t.Context()), h.Close(), os.Remove(over)); err != nil {
		t.Fatal(err)
	}
}

func TestLeftoversAreEndedBeforeAStart(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"of a main process killed":                  "start = true; {dir}/copy 400 & exec sleep 401\n",
		"that left the session":                     "start = setsid {dir}/copy 402 & until test -e {dir}/over; do sleep 0.05; done; exit 0\n",
		"that wrote over their environment":         "start = true; env -i {dir}/copy 403 & exec sleep 404\n",
		"that hide where they come from":            "start = true; setsid {dir}/copy 405 & exec sleep 406\nenvironment = OPENSVC_RID=x OPENSVC_SVCPATH=y OPENSVC_ACTION=status OPENSVC_ID=z\n",
		"that ignore the signal, killed in the end": "start = trap '' TERM; ({dir}/copy 407; sleep 408) & exec sleep 409\nstop_timeout = 300ms\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			f := copying(t, config, &log)
			for range 2 {
				f.Must(instance.Start)
				awaitCopy(t, f)
				if strings.Contains(config, "/over") {
					endMain(t, f)
				}
				killMain(t, f)
				left := copies(t, f)
				if len(left) == 0 {
					t.Fatal("nothing is left")
				}
				if s := f.Resource(); s.Status != cluster.Down || len(s.Log) != 1 || !strings.Contains(s.Log[0].Message, strconv.Itoa(left[0])) {
					t.Errorf("status %s %v, want down, and %v named", s.Status, s.Log, left)
				}

				f.Must(instance.Start)

				for _, pid := range left {
					if runs(pid) {
						t.Errorf("%d is left beside the new copy", pid)
					}
				}
				if want := " of a former run still there: ended before the start"; !strings.Contains(log.String(), want) {
					t.Errorf("no %q in:\n%s", want, log.String())
				}
				f.Must(instance.Stop)
				if left := copies(t, f); len(left) > 0 {
					t.Errorf("left by the stop: %v", left)
				}
			}
		})
	}
}

func TestARecordLost(t *testing.T) {
	t.Parallel()
	const config = "start = {dir}/copy 410\n"
	lose := func(t *testing.T, f *drivertest.Fixture) {
		t.Helper()
		if err := os.Remove(recordOf(f)); err != nil {
			t.Fatal(err)
		}
	}
	empty := func(t *testing.T, f *drivertest.Fixture) {
		t.Helper()
		if err := os.WriteFile(recordOf(f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("gone, the process is seen all the same, and a start leaves one", func(t *testing.T) {
		t.Parallel()
		f := copying(t, config, nil)
		f.Must(instance.Start)
		lose(t, f)
		before := copies(t, f)
		if s := f.Resource(); s.Status != cluster.Warn || len(s.Log) != 1 || !strings.Contains(s.Log[0].Message, strconv.Itoa(before[0])) {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
		f.Must(instance.Start)
		if now := copies(t, f); len(now) != 1 || now[0] == before[0] {
			t.Errorf("copies %v, before %v", now, before)
		}
		lose(t, f)
		f.Must(instance.Stop)
		if left := copies(t, f); len(left) > 0 {
			t.Errorf("left by the stop: %v", left)
		}
	})

	t.Run("emptied, it is named, a start is refused and undoes nothing, a stop ends what runs", func(t *testing.T) {
		t.Parallel()
		f := copying(t, config, nil)
		f.Must(instance.Start)
		empty(t, f)
		before := copies(t, f)
		if s := f.Resource(); s.Status != cluster.Warn || len(s.Log) != 1 || !strings.Contains(s.Log[0].Message, recordOf(f)) {
			t.Errorf("status %s %v, want warn, and the file named", s.Status, s.Log)
		}
		err := f.Do(instance.Start)
		if err == nil || !strings.Contains(err.Error(), recordOf(f)) || !strings.Contains(err.Error(), "process "+strconv.Itoa(before[0])) || !strings.Contains(err.Error(), "`om test/svc/svc instance stop --rid app#1` ends them") {
			t.Errorf("start: %v", err)
		}
		if now := copies(t, f); len(now) != 1 || now[0] != before[0] {
			t.Errorf("after the refused start: %v, before: %v", now, before)
		}
		f.Must(instance.Stop)
		if left := copies(t, f); len(left) > 0 {
			t.Errorf("left by the stop: %v", left)
		}
		if s := f.Resource(); s.Status != cluster.Down || len(s.Log) > 0 {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
	})

	t.Run("emptied, and nothing runs: it is told, and does not prevent a start", func(t *testing.T) {
		t.Parallel()
		f := copying(t, config, nil)
		f.Must(instance.Start)
		killMain(t, f)
		empty(t, f)
		if s := f.Resource(); s.Status != cluster.Down || len(s.Log) != 1 || !strings.Contains(s.Log[0].Message, recordOf(f)) {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
		f.Must(instance.Start)
		if s := f.Resource(); s.Status != cluster.Up || len(s.Log) > 0 {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
	})
}

func TestWhatRunsOfAFormerObject(t *testing.T) {
	t.Parallel()
	const config = "start = {dir}/copy 411\n"
	f := copying(t, config, nil)
	f.Must(instance.Start)
	before := copies(t, f)
	if err := f.Run(t.Context(), drivertest.Path(), instance.Request{Action: instance.Delete, Force: true}); err != nil {
		t.Fatal(err)
	}
	f.Configure(simple(config))
	conf := filepath.Join(f.Host.Paths.Etc(), drivertest.Path().ConfigFile())
	b, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte(strings.Replace(string(b), "0e745444", "1e745444", 1)), 0o600); err != nil {
		t.Fatal(err)
	}

	if s := f.Resource(); s.Status != cluster.Warn || len(s.Log) != 1 || !strings.Contains(s.Log[0].Message, strconv.Itoa(before[0])) {
		t.Errorf("status %s %v", s.Status, s.Log)
	}
	err = f.Do(instance.Start)
	if err == nil || !strings.Contains(err.Error(), "process "+strconv.Itoa(before[0])+" of a former object of the same name still there: `om test/svc/svc instance stop --rid app#1` ends them") {
		t.Errorf("start: %v", err)
	}
	if now := copies(t, f); len(now) != 1 || now[0] != before[0] {
		t.Errorf("after the refused start: %v, before: %v", now, before)
	}
	f.Must(instance.Stop)
	if left := copies(t, f); len(left) > 0 {
		t.Errorf("left by the stop: %v", left)
	}
	f.Must(instance.Start)
	if now := copies(t, f); len(now) != 1 {
		t.Errorf("started again: %v", now)
	}
}

func TestWhatRunsIsNotDeletedByHand(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(f *drivertest.Fixture){
		"a main process": func(*drivertest.Fixture) {},
		"what a main process left": func(f *drivertest.Fixture) {
			killMain(t, f)
		},
		"a resource the configuration does not have any more": func(f *drivertest.Fixture) {
			conf := filepath.Join(f.Host.Paths.Etc(), drivertest.Path().ConfigFile())
			if err := os.WriteFile(conf, []byte("[DEFAULT]\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a configuration that cannot be read": func(f *drivertest.Fixture) {
			conf := filepath.Join(f.Host.Paths.Etc(), drivertest.Path().ConfigFile())
			if err := os.WriteFile(conf, []byte("[zzz\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const config = "start = true; {dir}/copy 413 & exec sleep 414\n"
			f := copying(t, config, nil)
			f.Must(instance.Start)
			awaitCopy(t, f)
			prepare(f)
			err := f.Do(instance.Delete)
			if err == nil || !strings.Contains(err.Error(), "delete is refused: app#1") || !f.Store.Exists(drivertest.Path()) {
				t.Errorf("delete: %v", err)
			}
			f.Configure(simple(config))
			f.Must(instance.Stop)
			f.Must(instance.Delete)
		})
	}
}

func TestAFailedStartEndsWhatItStarted(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	f := copying(t, "start = true; setsid {dir}/copy 412 & exit 0\nstart_grace = 10s\n", &log)
	for range 3 {
		err := f.Run(t.Context(), drivertest.Path(), instance.Request{Action: instance.Start, DisableRollback: true})
		if err == nil || !strings.Contains(err.Error(), "ended within 10s of its start") {
			t.Errorf("start: %v", err)
		}
		if left := copies(t, f); len(left) > 0 {
			t.Fatalf("left: %v\n%s", left, log.String())
		}
	}
}

// Who launches between the look of a start and its lock is seen once the lock is held.
func TestAStartOvertaken(t *testing.T) {
	t.Parallel()
	const config = "start = {dir}/copy 415\n"
	f, other := copying(t, config, nil), copying(t, config, nil)
	other.Must(instance.Start)
	f.Must(instance.Start)
	f.Must(instance.Stop)
	// Shared with who only looks, and not with who launches.
	lock, err := os.Open(recordOf(f) + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() { started <- f.Do(instance.Start) }()
	for deadline := time.Now().Add(time.Minute); !opened(t, lock.Name(), os.O_RDWR); {
		if time.Now().After(deadline) {
			t.Fatal("the start takes no lock")
		}
	}

	if err := errors.Join(os.Rename(recordOf(other), recordOf(f)), lock.Close()); err != nil {
		t.Fatal(err)
	}

	if err := <-started; err != nil {
		t.Error(err)
	}
	if all := copies(t, f); len(all) > 0 {
		t.Errorf("copies %v beside what was launched", all)
	}
}

// opened reports whether this process holds a file open in that way.
func opened(t *testing.T, name string, flag int) bool {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		info, err := os.ReadFile(strings.Replace(link, "fd", "fdinfo", 1))
		if to, _ := os.Readlink(link); to != name || err != nil {
			continue
		}
		_, flags, _ := strings.Cut(string(info), "flags:\t")
		flags, _, _ = strings.Cut(flags, "\n")
		if n, err := strconv.ParseInt(flags, 8, 64); err == nil && int(n)&syscall.O_ACCMODE == flag {
			return true
		}
	}
	return false
}
