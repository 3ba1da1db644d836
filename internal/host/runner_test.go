package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

func sh(script string) host.Cmd { return host.Cmd{Argv: []string{"/bin/sh", "-c", script}} }

// gone waits for a process to be no more, not even a zombie.
func gone(t *testing.T, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := retry.Until(ctx, retry.Policy{Interval: 10 * time.Millisecond}, func(context.Context) (bool, error) {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid), nil
	})
	if err != nil {
		t.Errorf("process %d still runs: %v", pid, err)
	}
}

// zombie tells a process which has ended and that pid 1 of a bare container
// may never reap.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pid := 0
	err := retry.Until(ctx, retry.Policy{Interval: 5 * time.Millisecond}, func(context.Context) (bool, error) {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || (err == nil && !bytes.HasSuffix(text, []byte("\n"))) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return true, err
	})
	if err != nil {
		t.Fatalf("no pid in %s: %v", file, err)
	}
	return pid
}

func TestACommandGivesBothItsOutputs(t *testing.T) {
	t.Parallel()

	out, err := host.NewRunner().Run(t.Context(), sh("echo out; echo err >&2"))

	if err != nil || string(out.Stdout) != "out\n" || string(out.Stderr) != "err\n" {
		t.Errorf("got %q, %q, %v", out.Stdout, out.Stderr, err)
	}
}

func TestAFailedCommandSaysHow(t *testing.T) {
	t.Parallel()

	out, err := host.NewRunner().Run(t.Context(), sh("echo partial; echo 'disk on fire' >&2; exit 7"))

	exit, ok := errors.AsType[*host.ExitError](err)
	if !ok || exit.Code != 7 || exit.Signal != 0 {
		t.Fatalf("got %v, want exit status 7", err)
	}
	if !strings.HasSuffix(err.Error(), "exit status 7: disk on fire") {
		t.Errorf("message %q", err)
	}
	if string(out.Stdout) != "partial\n" {
		t.Errorf("the output of a failed command is lost: %q", out.Stdout)
	}
}

func TestAKilledCommandSaysWhichSignal(t *testing.T) {
	t.Parallel()

	_, err := host.NewRunner().Run(t.Context(), sh("kill -USR1 $$"))

	exit, ok := errors.AsType[*host.ExitError](err)
	if !ok || exit.Code != -1 || exit.Signal != syscall.SIGUSR1 {
		t.Errorf("got %v, want a death by USR1", err)
	}
}

func TestACommandThatCannotRunSaysWhy(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := host.NewRunner()
	for name, c := range map[string]struct {
		cmd  host.Cmd
		is   error
		text string
	}{
		"no command":     {host.Cmd{}, nil, "no command given"},
		"not found":      {host.Cmd{Argv: []string{"no-such-command"}}, exec.ErrNotFound, "run no-such-command: executable file not found in $PATH"},
		"no such file":   {host.Cmd{Argv: []string{"/no/such/file"}}, os.ErrNotExist, "/no/such/file"},
		"not executable": {host.Cmd{Argv: []string{plain}}, os.ErrPermission, plain},
		"no such folder": {host.Cmd{Argv: []string{"/bin/true"}, Dir: "/no/such/dir"}, os.ErrNotExist, "/no/such/dir"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, runErr := run.Run(t.Context(), c.cmd)
			_, startErr := run.Start(c.cmd)

			for _, err := range []error{runErr, startErr} {
				if err == nil || !strings.Contains(err.Error(), c.text) || (c.is != nil && !errors.Is(err, c.is)) {
					t.Errorf("got %v, want %v with %q", err, c.is, c.text)
				}
			}
		})
	}
}

func TestACommandGetsItsFolderEnvironmentAndInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := sh("pwd; echo $A; echo $HOME; cat")
	c.Dir, c.Env, c.Stdin = dir, []string{"A=1"}, []byte("input")

	out, err := host.NewRunner().Run(t.Context(), c)

	if want := dir + "\n1\n\ninput"; err != nil || string(out.Stdout) != want {
		t.Errorf("got %q, %v, want %q", out.Stdout, err, want)
	}
}

func TestACommandWithoutInputReadsNothing(t *testing.T) {
	t.Parallel()

	out, err := host.NewRunner().Run(t.Context(), host.Cmd{Argv: []string{"cat"}})

	if err != nil || len(out.Stdout) != 0 {
		t.Errorf("got %q, %v", out.Stdout, err)
	}
}

func TestACommandMayIgnoreItsInput(t *testing.T) {
	t.Parallel()
	c := sh("exit 0")
	c.Stdin = make([]byte, 4<<20)

	if _, err := host.NewRunner().Run(t.Context(), c); err != nil {
		t.Error(err)
	}
}

func TestLinesComeOneAtATimeWithTheirStream(t *testing.T) {
	t.Parallel()
	var out, errs []string
	c := sh(`printf 'a\nb\r\n\nlast'; printf 'e\n' >&2`)
	c.OnLine = func(stderr bool, line string) {
		if stderr {
			errs = append(errs, line)
		} else {
			out = append(out, line)
		}
	}

	collected, err := host.NewRunner().Run(t.Context(), c)

	if err != nil || string(collected.Stdout) != "a\nb\r\n\nlast" {
		t.Errorf("collected %q, %v", collected.Stdout, err)
	}
	if diff := cmp.Diff([]string{"a", "b", "", "last"}, out); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"e"}, errs); diff != "" {
		t.Error(diff)
	}
}

func TestLinesComeWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := sh("echo ready; read x < " + fifo + "; echo $x")
	var lines []string
	c.OnLine = func(_ bool, line string) {
		lines = append(lines, line)
		if line == "ready" { // only now does the command get what it waits for
			if err := os.WriteFile(fifo, []byte("go\n"), 0o600); err != nil {
				t.Error(err)
			}
		}
	}

	_, err := host.NewRunner().Run(ctx, c)

	if diff := cmp.Diff([]string{"ready", "go"}, lines); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestALongLineComesInPieces(t *testing.T) {
	t.Parallel()
	var sizes []int
	c := sh("head -c 150000 /dev/zero | tr '\\0' x; echo; echo end")
	c.OnLine = func(_ bool, line string) { sizes = append(sizes, len(line)) }

	_, err := host.NewRunner().Run(t.Context(), c)

	if diff := cmp.Diff([]int{65536, 65536, 18928, 3}, sizes); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestASlowListenerLosesNothing(t *testing.T) {
	t.Parallel()
	// All of it fits in the pipe: the command ends before it is read.
	c := sh("head -c 60000 /dev/zero | tr '\\0' '\\n'; echo end")
	count, last := 0, ""
	c.OnLine = func(_ bool, line string) {
		if count == 0 {
			<-time.NewTimer(400 * time.Millisecond).C // longer than output is awaited
		}
		count++
		last = line
	}

	out, err := host.NewRunner().Run(t.Context(), c)

	if err != nil || count != 60001 || last != "end" || len(out.Stdout) != 60004 {
		t.Errorf("%d lines, the last %q, %d bytes, %v", count, last, len(out.Stdout), err)
	}
}

func TestOfMuchOutputTheEndIsKept(t *testing.T) {
	t.Parallel()

	out, err := host.NewRunner().Run(t.Context(), sh("head -c 5000000 /dev/zero; printf END"))

	if err != nil || len(out.Stdout) != 1<<20 || !bytes.HasSuffix(out.Stdout, []byte("\x00END")) {
		t.Errorf("kept %d bytes, %v", len(out.Stdout), err)
	}

	all := sh("head -c 5000000 /dev/zero; printf END")
	all.Keep = 8 << 20
	if out, err := host.NewRunner().Run(t.Context(), all); err != nil || len(out.Stdout) != 5000003 {
		t.Errorf("kept %d bytes, %v", len(out.Stdout), err)
	}
}

func TestTheEndOfTheContextEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := host.NewPatientRunner(10*time.Minute).Run(ctx, sh("sleep 600 & echo $! > "+dir+"/child; wait"))
		done <- err
	}()
	child := pidIn(t, dir+"/child")

	began := time.Now()
	cancel()
	err := <-done

	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want a cancellation", err)
	}
	if exit, ok := errors.AsType[*host.ExitError](err); !ok || exit.Signal != syscall.SIGTERM {
		t.Errorf("got %v, want a death by TERM", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v: what ends on TERM needs no grace", took)
	}
	gone(t, child)
}

func TestWhatIgnoresTermIsKilledAfterTheGrace(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"the command":            "trap '' TERM; echo $$ > DIR/child; while :; do sleep 1; done",
		"a child of it":          "(trap '' TERM; sh -c 'echo $PPID > DIR/child'; while :; do sleep 1; done) & wait",
		"a child that is silent": "(trap '' TERM; exec >/dev/null 2>&1; sh -c 'echo $PPID > DIR/child'; while :; do sleep 1; done) & wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := host.NewRunner().Run(ctx, sh(strings.ReplaceAll(script, "DIR", dir)))
				done <- err
			}()
			child := pidIn(t, dir+"/child")

			began := time.Now()
			cancel()
			err := <-done

			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want a cancellation", err)
			}
			if took := time.Since(began); took < 1900*time.Millisecond || took > time.Minute {
				t.Errorf("took %v, want the grace of 2 s", took)
			}
			gone(t, child)
		})
	}
}

func TestNothingRunsOnceTheContextHasEnded(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err := host.NewRunner().Run(ctx, sh("touch "+mark))

	if _, statErr := os.Stat(mark); !errors.Is(err, context.Canceled) || !errors.Is(statErr, os.ErrNotExist) {
		t.Errorf("got %v, %v", err, statErr)
	}
}

func TestWhatACommandLeavesBehindDoesNotHoldItsCaller(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	began := time.Now()

	out, err := host.NewRunner().Run(t.Context(), sh("sleep 600 & echo $! > "+dir+"/child; echo started"))

	if err != nil || string(out.Stdout) != "started\n" {
		t.Errorf("got %q, %v", out.Stdout, err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
	child := pidIn(t, dir+"/child")
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Errorf("the process left behind is gone: %v", err)
	}
}

func TestAStartedCommandHasASessionAndNoOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()

	p, err := host.NewRunner().Start(sh(`ls -l /proc/self/fd > ` + dir + `/fds; cut -d' ' -f6 /proc/self/stat > ` + dir + `/session; exec sleep 600`))
	if err != nil {
		t.Fatal(err)
	}

	if session := pidIn(t, dir+"/session"); session != p.Pid() {
		t.Errorf("session %d, want that of the command itself, %d", session, p.Pid())
	}
	fds, err := os.ReadFile(dir + "/fds")
	if err != nil || !bytes.Contains(fds, []byte(" 0 -> /dev/null")) || !bytes.Contains(fds, []byte(" 2 -> /dev/null")) {
		t.Errorf("open files:\n%s%v", fds, err)
	}
	if err := syscall.Kill(-p.Pid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range 2 { // as often as one asks
		if exit, ok := errors.AsType[*host.ExitError](p.Wait()); !ok || exit.Signal != syscall.SIGTERM {
			t.Errorf("got %v, want a death by TERM", p.Wait())
		}
	}
}

func TestAStartedCommandIsReapedWithoutAWait(t *testing.T) {
	t.Parallel()

	p, err := host.NewRunner().Start(host.Cmd{Argv: []string{"/bin/true"}})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = retry.Until(ctx, retry.Policy{Interval: 5 * time.Millisecond}, func(context.Context) (bool, error) {
		return errors.Is(syscall.Kill(p.Pid(), 0), syscall.ESRCH), nil
	})
	if err != nil {
		t.Error("a zombie is left")
	}
}

func TestAStartedCommandTakesNeitherInputNorListener(t *testing.T) {
	t.Parallel()
	c := sh("true")
	c.OnLine = func(bool, string) {}

	if _, err := host.NewRunner().Start(c); err == nil {
		t.Error("started a command whose output nobody would ever see")
	}
}

func TestPathsOfARootStayUnderIt(t *testing.T) {
	t.Parallel()
	rooted, installed := host.Paths{Root: "/r"}, host.Paths{}

	for want, got := range map[string]string{
		"/r/etc": rooted.Etc(), "/r/var/lsnr/http.sock": rooted.Socket(), "/r/shm": rooted.Shm(),
		"/etc/opensvc": installed.Etc(), "/var/lib/opensvc/lock": installed.Locks(), "/run/opensvc": installed.Run(),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestACommandStartsWhateverItsControlGroup(t *testing.T) {
	t.Parallel()
	for _, group := range []string{t.TempDir(), "/no/such/group"} {
		p, err := host.NewRunner().Start(host.Cmd{Argv: []string{"/bin/true"}, Cgroup: group})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
}
