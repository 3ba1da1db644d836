//go:build lab

package bed_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
	"github.com/holdfast-ops/holdfast/test/om/bed"
)

func TestMain(m *testing.M) {
	bed.Main()
	os.Exit(m.Run())
}

func start(t *testing.T, o bed.Options) *bed.Bed {
	t.Helper()
	o.Dir = t.TempDir()
	b, err := bed.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := retry.Until(ctx, retry.Policy{Interval: 10 * time.Millisecond}, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("until %s: %v", what, err)
	}
}

func run(t *testing.T, n *bed.Node, argv ...string) string {
	t.Helper()
	out, err := n.Run(t.Context(), argv...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func TestNodesHaveNamesProcessesAndBootsOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := start(t, bed.Options{})
	n := b.Node("node2")
	if got := run(t, n, "hostname"); got != "node2" {
		t.Errorf("the host name is %q", got)
	}
	first := run(t, n, "cat", "/proc/sys/kernel/random/boot_id")
	if other := run(t, b.Node("node1"), "cat", "/proc/sys/kernel/random/boot_id"); other == first {
		t.Error("two nodes have the same boot")
	}
	run(t, n, "sh", "-c", "echo kept >/var/lib/kept; echo lost >/run/lost")
	if err := n.PowerOff(); err != nil {
		t.Fatal(err)
	}
	if err := n.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if run(t, n, "cat", "/proc/sys/kernel/random/boot_id") == first {
		t.Error("the boot has the id of the former one")
	}
	if got := run(t, n, "sh", "-c", "cat /var/lib/kept; test ! -e /run/lost && echo gone"); got != "kept\ngone" {
		t.Errorf("after the boot: %q", got)
	}
}

const reboot = `import ctypes; ctypes.CDLL(None).reboot(0x01234567)`

// The trigger of the kernel is the end of the node, not of the host.
func TestACrashEndsTheNode(t *testing.T) {
	t.Parallel()
	b := start(t, bed.Options{Nodes: []string{"n1"}})
	n := b.Node("n1")
	_, _ = n.Run(t.Context(), "sh", "-c", "echo b >/proc/sysrq-trigger || exec python3 -c '"+reboot+"'; sleep 60")
	until(t, "the node is down", func() bool { return !n.Up() })
	if n.Up() || strings.Join(n.Fell(), " ") != "b" {
		t.Errorf("up: %v, fell: %v", n.Up(), n.Fell())
	}
}

func ping(ctx context.Context, from *bed.Node, to string) bool {
	_, err := from.Run(ctx, "bash", "-c", "timeout 1 bash -c 'exec 3<>/dev/tcp/"+to+"/7' 2>&1 | grep -q refused")
	return err == nil
}

func TestFramesTravelAsTheFaultsLetThem(t *testing.T) {
	t.Parallel()
	b := start(t, bed.Options{})
	one, two := b.Node("node1"), b.Node("node2")
	if !ping(t.Context(), one, "node2") || !ping(t.Context(), b.Client(), "node1") {
		t.Fatal("nodes do not reach one another")
	}
	b.Network().Cut([]string{"node1"}, []string{"node2"})
	if ping(t.Context(), one, "node2") || ping(t.Context(), two, "node1") {
		t.Error("a cut lets frames pass")
	}
	if !ping(t.Context(), one, "node3") {
		t.Error("a cut stops the frames of others")
	}
	b.Network().Heal()
	if !ping(t.Context(), two, "node1") {
		t.Error("nodes do not reach one another once healed")
	}
	if c := b.Network().Sent("node1"); c.Frames == 0 || c.Bytes < c.Frames {
		t.Errorf("node1 sent %v", c)
	}
}

// Whatever ends the process that made a bed, nothing stays.
func TestNothingOutlivesAKilledTest(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("BED_TO_LEAVE"); dir != "" {
		b, err := bed.New(t.Context(), bed.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		run(t, b.Node("node1"), "sh", "-c", "exec sleep 987654 >/dev/null 2>&1 &")
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		_ = self.Kill()
		select {}
	}
	dir := t.TempDir() + "/bed"
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "BED_TO_LEAVE="+dir)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%v\n%s", err, out)
	}
	until(t, "files and processes are gone", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err) && len(running("987654")) == 0
	})
}

// running are the processes whose last argument is the given one.
func running(last string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.HasSuffix(string(b), "\x00"+last+"\x00") {
			found = append(found, f)
		}
	}
	return found
}

func TestADiskFillsAndSurvivesALossOfPower(t *testing.T) {
	t.Parallel()
	b := start(t, bed.Options{Nodes: []string{"n1"}, VarSize: "16m"})
	n := b.Node("n1")
	run(t, n, "sh", "-c", "echo kept >/var/lib/kept")
	if err := n.FillDisk(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := n.Run(t.Context(), "sh", "-c", "head -c 8192 /dev/zero >/var/lib/more"); err == nil || !strings.Contains(out, "No space left") {
		t.Errorf("a full disk takes more: %v, %s", err, out)
	}
	if err := n.PowerOff(); err != nil {
		t.Fatal(err)
	}
	if err := n.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.EmptyDisk(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := run(t, n, "sh", "-c", "echo more >/var/lib/more && cat /var/lib/kept"); got != "kept" {
		t.Errorf("after the boot: %q", got)
	}
}
