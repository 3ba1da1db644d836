package app_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

// starter is a start of the instance by a process of its own.
func starter(t *testing.T, f *drivertest.Fixture, said *strings.Builder) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), f.Host.Self, "start", f.Host.Paths.Root) //nolint:forbidigo // the test binary itself
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A start killed at any instant leaves at most one copy, and one that is known: the
// next status, start or stop takes the copy that is still being launched into account.
func TestStartersKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	f := copying(t, "start = {dir}/copy 420\n", nil)
	one := func(when string) {
		t.Helper()
		if all := copies(t, f); len(all) > 1 {
			t.Fatalf("%s: copies %v", when, all)
		}
	}

	// How long a start takes here and now, for the kills to fall all over it.
	began := time.Now()
	if err := starter(t, f, nil).Wait(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(began)
	f.Must(instance.Stop)

	tally := map[string]int{}
	const least, most = 10, 200 // however slow the machine is
	for deadline := time.Now().Add(8 * time.Second); tally["kills"] < least || tally["kills"] < most && time.Now().Before(deadline); tally["kills"]++ {
		cmd := starter(t, f, nil)
		lives := time.NewTimer(time.Duration(random.Int64N(int64(whole))))
		<-lives.C
		if err := errors.Join(cmd.Process.Kill()); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		one("killed")

		switch random.IntN(3) {
		case 0: // what the status says is what is there, then and later
			s := f.Resource()
			all := copies(t, f)
			if (s.Status == cluster.Up) != (len(all) == 1) || s.Status != cluster.Up && s.Status != cluster.Down || len(s.Log) > 0 {
				t.Fatalf("after a kill: status %s %v, copies %v", s.Status, s.Log, all)
			}
			if s.Status == cluster.Up && s.Info["pid"] != all[0] {
				t.Fatalf("after a kill: status %v, copies %v", s.Info, all)
			}
			tally["status "+s.Status.String()]++
		case 1: // the next start succeeds, and leaves alone the copy there is
			before := copies(t, f)
			said := &strings.Builder{}
			if err := starter(t, f, said).Wait(); err != nil {
				t.Fatalf("the start after a kill: %v: %s", err, said)
			}
			all := copies(t, f)
			if len(all) != 1 || len(before) == 1 && before[0] != all[0] {
				t.Fatalf("the start after a kill: copies %v, before %v", all, before)
			}
			tally["start"]++
		case 2: // two at once: at most one copy, whoever wins
			a, b := starter(t, f, nil), starter(t, f, nil)
			_ = a.Process.Signal(syscall.SIGKILL)
			_, _ = a.Wait(), b.Wait()
			if all := copies(t, f); len(all) != 1 {
				t.Fatalf("after two starts at once: copies %v", all)
			}
			tally["two"]++
		}
		one("in between")

		f.Must(instance.Stop)
		if left := copies(t, f); len(left) > 0 { // now, and for ever: nothing is being launched
			t.Fatalf("left by the stop: %v", left)
		}
	}
	t.Log(whole, tally)
}
