//go:build lab

package trial_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/test/om/bed"
	"github.com/holdfast-ops/holdfast/test/om/trial"
)

// number reads a number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestChaosOfAQuorum breaks three nodes at random, half of HOLDFAST_CHAOS_FAULTS times
// (200), from HOLDFAST_CHAOS_SEED. Only the quorum decides who may act.
func TestChaosOfAQuorum(t *testing.T) {
	t.Parallel()
	chaos(t, false)
}

// TestChaosOfFences breaks them as often where the cluster fences: a service lives once,
// whatever happens.
func TestChaosOfFences(t *testing.T) {
	t.Parallel()
	chaos(t, true)
}

func chaos(t *testing.T, fenced bool) {
	t.Helper()
	faults := int(number(t, "HOLDFAST_CHAOS_FAULTS", 200)+1) / 2
	seed := number(t, "HOLDFAST_CHAOS_SEED", rand.Uint64())
	t.Logf("%d faults from seed %d", faults, seed)
	// Nodes come back when they are mended, which may take longer than the grace of a trial.
	conf := strings.Replace(quorum+trial.Short, "rejoin_grace_period = 5s", "rejoin_grace_period = 60s", 1)
	web := trial.Failover("web")
	if fenced {
		conf += fences("node1") + fences("node2") + fences("node3")
		web = strings.Replace(web, "[DEFAULT]\n", "[DEFAULT]\nstonith = true\n", 1)
	}
	s := tellOf(t, bed.Options{VarSize: "64m", Seed: seed}, conf, web)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(faults)*10*time.Second+2*time.Minute)
	defer cancel()
	well := func(ctx context.Context) error { return s.well(ctx) }
	err := trial.Chaos{Seed: seed, Faults: faults, Rounds: 10, Hold: 2 * time.Second, Fenced: fenced, Well: well}.Run(ctx, s.Trial)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	s.alone()
	t.Logf("%d outages, %d starts", len(s.client.Since()), s.starts())
}

// fences is the part of a configuration that has the power of a node cut.
func fences(node string) string {
	return "\n[stonith#" + node + "]\ncommand = /mnt/bin/service fence " + node + "\n"
}

// well waits until one instance of web is up and answers. Where two were started, as
// is possible while something excuses it, it does what an operator has to.
func (s *story) well(ctx context.Context) error {
	return s.Await(ctx, time.Minute, "web is up once, and answers", func(ctx context.Context) (bool, error) {
		who := s.client.Who()
		if _, other, two := strings.Cut(who, ","); two {
			if len(s.Windows(trial.Free)) == 0 {
				return false, fmt.Errorf("%s answer", who)
			}
			other, _, _ = strings.Cut(other, ",")
			s.Say("an operator stops the instance on %s", other)
			_, _ = s.Node(other).Run(ctx, "om", "web", "instance", "stop")
			return false, nil
		}
		if who == "" {
			return false, nil
		}
		for _, n := range s.Nodes() {
			v, err := s.View(ctx, n)
			if err != nil || v.Cluster.Object["web"].Avail != "up" {
				return false, nil //nolint:nilerr // not yet
			}
		}
		return true, nil
	})
}
