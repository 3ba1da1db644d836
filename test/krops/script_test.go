package krops_test

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

var update = flag.Bool("update", false, "rewrite the expectations of the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"krops-bootstrap": func() {
		program.Main("krops-bootstrap", func(p program.Process, signals func() context.Context) int {
			p.Version, p.Hostname = "test", "box"
			return krops.Run(signals(), p)
		})
	}})
}

// TestScripts runs the scripts of testdata. There is no container engine: where the
// socket of one should be is nothing, or what the command silent put there.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			site, err := os.ReadFile("../../examples/site-local/bootstrap.toml")
			if err != nil {
				return err
			}
			if err := os.WriteFile(env.Getenv("WORK")+"/bootstrap.toml", site, 0o600); err != nil {
				return err
			}
			for name, value := range map[string]string{
				"HOME": env.WorkDir, "TERM": "dumb", "CONTAINER_ENGINE": "docker", "DOCKER_HOST": "unix://" + env.WorkDir + "/engine.sock",
				"XDG_STATE_HOME": env.WorkDir + "/state",
			} {
				env.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":   exitCode,
			"hold":   hold,
			"silent": silent,
			"await":  await,
		},
	})
}

// exitCode is the command code N: the program that is run by the rest of the line
// ends with it.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, not %s", got, args[0])
	}
}

// hold is the command hold CLUSTER: another run works on it until the script ends.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hold CLUSTER")
	}
	lock, err := run.Acquire(ts.Getenv("XDG_STATE_HOME")+"/krops", args[0], run.Holder{
		PID: 4711, Host: "box", Command: "krops-bootstrap aws", Since: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
	})
	ts.Check(err)
	ts.Defer(func() { _ = lock.Release() })
}

// await is the command await FILE TEXT: it lasts until the file has the text.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE TEXT")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ts.Check(retry.Until(ctx, retry.Policy{Interval: 20 * time.Millisecond}, func(context.Context) (bool, error) {
		text, _ := os.ReadFile(ts.MkAbs(args[0]))
		return strings.Contains(string(text), args[1]), nil
	}))
}
