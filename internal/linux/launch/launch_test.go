package launch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/linux/launch"
)

// TestMain makes the test binary act as `om exec` when told by the environment:
// what replaces its process cannot be tested in the process of the test.
func TestMain(m *testing.M) {
	if os.Getenv("LAUNCH_TEST") == "" { //nolint:forbidigo // how a test binary is told to be a command
		os.Exit(m.Run()) //nolint:forbidigo // as above
	}
	var o launch.Options
	flags := pflag.NewFlagSet("exec", pflag.ContinueOnError)
	o.Bind(flags)
	err := flags.Parse(os.Args[1:])
	if err == nil {
		o.Argv = flags.Args()
		err = launch.Exec(o, os.Environ())
	}
	_, _ = os.Stderr.WriteString(err.Error())
	os.Exit(1) //nolint:forbidigo // as above
}

// run executes the options as `om exec` would.
func run(t *testing.T, o launch.Options) (stdout, stderr string, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, o.Args()...) //nolint:forbidigo // the test binary itself
	cmd.Env = append(os.Environ(), "LAUNCH_TEST=1")
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func TestExec(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()

	t.Run("the command finds its directory, umask and limits", func(t *testing.T) {
		t.Parallel()
		out, errs, err := run(t, launch.Options{
			Dir: dir, Umask: "027", Limits: []string{"nofile=111", "core=0"},
			Argv: []string{"sh", "-c", "pwd; umask; ulimit -n; ulimit -c; echo \"$@\"", "sh", "a b", "c"},
		})
		if want := dir + "\n0027\n111\n0\na b c\n"; err != nil || out != want {
			t.Errorf("printed %q, %s, %v, want %q", out, errs, err, want)
		}
	})

	t.Run("the record names the process that became the command", func(t *testing.T) {
		t.Parallel()
		record := filepath.Join(dir, "state", "process")
		out, errs, err := run(t, launch.Options{Record: record, Argv: []string{"sh", "-c", "cat '" + record + "'; echo $$; exec cat /proc/self/stat"}})
		if err != nil {
			t.Fatal(errs, err)
		}
		lines := strings.Split(out, "\n")
		var r launch.Record
		if err := json.Unmarshal([]byte(lines[0]), &r); err != nil {
			t.Fatal(err)
		}
		pid, _, _ := strings.Cut(lines[2], " ")
		if got := strings.Fields(lines[2]); pid != lines[1] || r.Pid == 0 || got[21] != jsonNumber(t, r.StartTime) {
			t.Errorf("record %+v of a process %s that says %q", r, lines[1], lines[2])
		}
	})

	t.Run("the command gets the signals that whoever launches it ignores", func(t *testing.T) {
		t.Parallel()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		o := launch.Options{Argv: []string{"sh", "-c", "trap 'echo reload' HUP; kill -HUP $$; grep SigIgn /proc/$$/status"}}
		args := append([]string{"-c", "trap '' HUP INT TSTP; exec \"$@\"", "sh", self}, o.Args()...)
		cmd := exec.CommandContext(t.Context(), "sh", args...) //nolint:forbidigo // it ignores signals first
		cmd.Env = append(os.Environ(), "LAUNCH_TEST=1")

		out, err := cmd.CombinedOutput()

		heard, ignored, _ := strings.Cut(strings.TrimSpace(string(out)), "\nSigIgn:\t")
		mask, parseErr := strconv.ParseUint(ignored, 16, 64)
		const them = 1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGINT-1) | 1<<(syscall.SIGTSTP-1)
		if err != nil || parseErr != nil || heard != "reload" || mask&them != 0 {
			t.Errorf("printed %q, %v, %v", out, err, parseErr)
		}
	})

	t.Run("a live record refuses a second launch", func(t *testing.T) {
		t.Parallel()
		record := filepath.Join(dir, "live", "process")
		gate := filepath.Join(dir, "gate")
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		var first sync.WaitGroup
		first.Go(func() {
			_, _, _ = run(t, launch.Options{Record: record, Argv: []string{"sh", "-c", "read x < '" + gate + "'"}})
		})
		f, err := os.OpenFile(gate, os.O_WRONLY, 0) // returns once the first has executed
		if err != nil {
			t.Fatal(err)
		}

		_, errs, err := run(t, launch.Options{Record: record, Argv: []string{"true"}})

		if err == nil || !strings.Contains(errs, "already running as process ") {
			t.Errorf("second launch: %q, %v", errs, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		first.Wait()
		if _, errs, err := run(t, launch.Options{Record: record, Argv: []string{"true"}}); err != nil {
			t.Errorf("launch after the end of the first: %q, %v", errs, err)
		}
	})

	t.Run("of many launches at once, one runs", func(t *testing.T) {
		t.Parallel()
		record := filepath.Join(dir, "many", "process")
		gate := filepath.Join(dir, "many.gate")
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		results := make(chan error, 5)
		for range cap(results) {
			go func() {
				_, _, err := run(t, launch.Options{Record: record, Argv: []string{"sh", "-c", "read x < '" + gate + "'"}})
				results <- err
			}()
		}
		for range cap(results) - 1 {
			var exit *exec.ExitError
			if err := <-results; !errors.As(err, &exit) {
				t.Errorf("a launch too many ended with %v, want a refusal", err)
			}
		}
		f, err := os.OpenFile(gate, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("go\n"); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Close(), <-results); err != nil {
			t.Error("the one that ran:", err)
		}
	})

	for name, c := range map[string]struct {
		options launch.Options
		want    string
	}{
		"a missing command is named":        {launch.Options{Argv: []string{"no-such-command"}}, `command "no-such-command": not found in `},
		"a missing directory is named":      {launch.Options{Dir: "/no/such", Argv: []string{"true"}}, "working directory: chdir /no/such"},
		"an unknown limit is named":         {launch.Options{Limits: []string{"x=1"}, Argv: []string{"true"}}, `limit "x=1": write name=value`},
		"an unknown user is named":          {launch.Options{User: "nobody-of-that-name", Argv: []string{"true"}}, `user "nobody-of-that-name": not found`},
		"a bad umask is named":              {launch.Options{Umask: "9", Argv: []string{"true"}}, `umask "9": write octal digits`},
		"a file that is not a program is":   {launch.Options{Argv: []string{"/etc/passwd"}}, "command /etc/passwd: is not executable"},
		"no command at all is an error":     {launch.Options{}, "no command to execute"},
		"a directory is not a command":      {launch.Options{Argv: []string{"/etc"}}, "command /etc: is a directory"},
		"a group is searched by its name":   {launch.Options{Group: "nobody-of-that-name", Argv: []string{"true"}}, `group "nobody-of-that-name": not found`},
		"a number too large is not a limit": {launch.Options{Limits: []string{"as=ten"}, Argv: []string{"true"}}, `limit as: "ten" is not a number`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, errs, err := run(t, c.options)
			if err == nil || !strings.Contains(errs, c.want) {
				t.Errorf("launch: %q, %v, want %q", errs, err, c.want)
			}
			_, err = watched(t, c.options)
			var failed *launch.Error
			if !errors.As(err, &failed) || !strings.Contains(failed.Reason, c.want) {
				t.Errorf("who watches sees %v, want %q", err, c.want)
			}
		})
	}

	t.Run("a failure of the command is none of the launch", func(t *testing.T) {
		t.Parallel()
		ended, err := watched(t, launch.Options{Argv: []string{"sh", "-c", "test ! -e /proc/self/fd/3 && exit 126"}})
		var exit *exec.ExitError
		if err != nil || !errors.As(ended, &exit) || exit.ExitCode() != 126 {
			t.Errorf("executed: %v, ended: %v", err, ended)
		}
	})

	t.Run("a file that the kernel cannot execute is told", func(t *testing.T) {
		t.Parallel()
		name := filepath.Join(dir, "noise")
		if err := os.WriteFile(name, []byte("\x00\x01"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := watched(t, launch.Options{Argv: []string{name}}); err == nil || !strings.Contains(err.Error(), "exec format error") {
			t.Error(err)
		}
	})

	t.Run("a launch that never began is told", func(t *testing.T) {
		t.Parallel()
		if _, err := watched(t, launch.Options{Argv: []string{"true"}}, "--no-such-flag"); err == nil || !strings.Contains(err.Error(), "ended before") {
			t.Error(err)
		}
	})

	t.Run("the command is executed although who watched was killed", func(t *testing.T) {
		t.Parallel()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		watch, err := launch.NewWatch()
		if err != nil {
			t.Fatal(err)
		}
		nobody, err := syscall.Dup(int(watch.File().Fd()))
		if err != nil {
			t.Fatal(err)
		}
		if err := watch.Close(); err != nil {
			t.Fatal(err)
		}
		end := os.NewFile(uintptr(nobody), "a pipe nobody reads")
		o := launch.Options{Report: launch.ReportFD, Argv: []string{"echo", "here"}}
		cmd := exec.CommandContext(t.Context(), self, o.Args()...) //nolint:forbidigo // the test binary itself
		cmd.Env = append(os.Environ(), "LAUNCH_TEST=1")
		cmd.ExtraFiles = []*os.File{end}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "here\n" {
			t.Errorf("%s, %v", out, err)
		}
		if err := end.Close(); err != nil {
			t.Error(err)
		}
	})

	t.Run("who waits can be interrupted", func(t *testing.T) {
		t.Parallel()
		watch, err := launch.NewWatch()
		if err != nil {
			t.Fatal(err)
		}
		held, err := syscall.Dup(int(watch.File().Fd()))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := watch.Executed(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := errors.Join(watch.Close(), syscall.Close(held)); err != nil {
			t.Error(err)
		}
	})
}

// watched launches as the agent does: err tells whether the command was executed,
// ended how the process ended.
func watched(t *testing.T, o launch.Options, flags ...string) (ended, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	watch, err := launch.NewWatch()
	if err != nil {
		t.Fatal(err)
	}
	o.Report = launch.ReportFD
	cmd := exec.CommandContext(t.Context(), self, append(flags, o.Args()...)...) //nolint:forbidigo // the test binary itself
	cmd.Env = append(os.Environ(), "LAUNCH_TEST=1")
	cmd.ExtraFiles = []*os.File{watch.File()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	executed := watch.Executed(t.Context())
	ended = cmd.Wait()
	if err := watch.Close(); err != nil {
		t.Error(err)
	}
	return ended, executed
}

func TestRootExec(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	out, errs, err := run(t, launch.Options{Record: filepath.Join(t.TempDir(), "process"), User: "daemon", Argv: []string{"sh", "-c", "id -u; id -g; id -G"}})
	if want := "1\n1\n1\n"; err != nil || out != want {
		t.Errorf("ids %q, %s, %v, want %q", out, errs, err, want)
	}

	t.Run("a failure after the change of user is told all the same", func(t *testing.T) {
		t.Parallel()
		if _, err := watched(t, launch.Options{User: "daemon", Group: "adm", Argv: []string{"no-such-command"}}); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Error(err)
		}
	})
}

func jsonNumber(t *testing.T, n uint64) string {
	t.Helper()
	b, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestArgs(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[a-z/=#, -]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		want := launch.Options{
			Cgroup: text.Draw(t, "pg"), Record: text.Draw(t, "record"), Lock: rapid.IntRange(0, 9).Draw(t, "lock"), Report: rapid.IntRange(0, 9).Draw(t, "report"), Dir: text.Draw(t, "dir"), User: text.Draw(t, "user"),
			Group: text.Draw(t, "group"), Umask: text.Draw(t, "umask"),
			Limits: rapid.SliceOfN(rapid.StringMatching(`[a-z]+=[0-9]`), 0, 3).Draw(t, "limits"),
			Argv:   rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "argv"),
		}

		var got launch.Options
		flags := pflag.NewFlagSet("exec", pflag.ContinueOnError)
		got.Bind(flags)
		if err := flags.Parse(want.Args()); err != nil {
			t.Fatal(err)
		}
		got.Argv = flags.Args()

		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b []string) bool { return strings.Join(a, "\x00") == strings.Join(b, "\x00") })); diff != "" {
			t.Error(diff)
		}
	})
}
