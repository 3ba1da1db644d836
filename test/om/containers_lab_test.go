//go:build lab

package om_test

import (
	"archive/tar"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
)

// isolated is set in the environment of the test that runs in name spaces of its own.
const isolated = "HOLDFAST_LAB_ISOLATED"

// TestContainers has real engines run containers of objects. They have name spaces of
// their own, in which this test runs itself: nothing stays on the host.
func TestContainers(t *testing.T) {
	t.Parallel()
	inEngines(t, "lab/container.txtar")
}

// TestSidecars has processes of containers call the agent.
func TestSidecars(t *testing.T) {
	t.Parallel()
	inEngines(t, "lab/sidecar.txtar")
}

// inEngines runs a script with each engine, in name spaces in which the calling test
// runs itself.
func inEngines(t *testing.T, script string) {
	t.Helper()
	if dir := os.Getenv(isolated); dir != "" {
		for _, engine := range []string{"podman", "docker"} {
			t.Run(engine, func(t *testing.T) {
				t.Parallel()
				testscript.Run(t, testscript.Params{
					Files: []string{script},
					Setup: func(env *testscript.Env) error {
						env.Setenv("IMAGE", filepath.Join(dir, "image.tar"))
						env.Setenv("ENGINE", engine)
						return setup(env)
					},
					Cmds: commands(), Condition: condition, RequireExplicitExec: true,
				})
			})
		}
		return
	}
	for _, program := range []string{"podman", "conmon", "runc", "catatonit", "docker", "dockerd", "unshare", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			hosttest.Skip(t, "%s is not installed: see lab/packages.txt", program)
		}
	}
	dir := t.TempDir()
	image(t, dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child",
		"lab/isolate", dir, self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), isolated+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// image makes the archive of an image that has one static program.
func image(t *testing.T, dir string) {
	t.Helper()
	program := filepath.Join(dir, "inside")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, "./lab/inside")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "inside", Mode: 0o755, Size: int64(len(text))})
	if err == nil {
		_, err = w.Write(text)
	}
	err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/sh", Linkname: "/inside", Mode: 0o777}), w.Close(), f.Close())
	if err != nil {
		t.Fatal(err)
	}
}
