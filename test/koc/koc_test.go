// Package koc_test runs koc as a program, and compares its commands with what the
// openstack client has and with the pages of the reference.
package koc_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/koc"
	"github.com/holdfast-ops/holdfast/internal/koc/cloudtest"
)

var update = flag.Bool("update", false, "rewrite the reference pages and the expectations of the scripts")

// run is koc, started as a program by the scripts.
func run() {
	program.Main("koc", func(p program.Process, signals func() context.Context) int {
		return koc.New("test").Start(p, signals)
	})
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"koc": run, "openstack": run})
}

// realCloud is the variable that makes the scripts of testdata/cloud run on the
// cloud that OS_CLIENT_CONFIG_FILE and OS_CLOUD name, as the lab does: what passes
// on the cloud in memory must pass there.
const realCloud = "HOLDFAST_REAL_CLOUD"

// TestScripts runs the scripts of testdata. A script that needs a cloud begins with
// the command cloud, which starts one in memory and sets OS_* to it. P begins the
// names of what a script makes.
func TestScripts(t *testing.T) {
	t.Parallel()
	own, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	shared, err := filepath.Glob("testdata/cloud/*.txtar")
	if err != nil || len(own) == 0 || len(shared) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	files := slices.Concat(own, shared)
	if os.Getenv(realCloud) != "" {
		files = shared
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TERM", "dumb")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cloud": startCloud,
			"code":  exitCode,
		},
	})
}

// startCloud is the command cloud.
func startCloud(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: cloud")
	}
	ts.Setenv("P", "script-"+strconv.FormatInt(time.Now().UnixNano()%1e9, 36))
	if os.Getenv(realCloud) != "" {
		for _, name := range []string{"OS_CLIENT_CONFIG_FILE", "OS_CLOUD", "PASSWORD"} {
			ts.Setenv(name, os.Getenv(name))
		}
		return
	}
	c, err := cloudtest.Start()
	ts.Check(err)
	ts.Setenv("PASSWORD", cloudtest.Password)
	ts.Defer(func() { _ = c.Close() })
	for _, pair := range c.Env() {
		name, value, _ := strings.Cut(pair, "=")
		ts.Setenv(name, value)
	}
}

// exitCode runs a program and compares its exit code: code 2 koc server lst.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code <code> program [arguments]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Check(err)
		}
		got = ended.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}
