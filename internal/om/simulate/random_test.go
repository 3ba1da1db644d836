package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/simulate"
)

// story is a cluster, and what happens to it.
type story struct {
	files map[string]string
	nodes []string
	lines []string
	seed  uint64
	loss  float64
}

// String is the story as a scenario, to be replayed with om cluster simulate. What
// is random in it, the delays and the losses, comes from the seed.
func (s story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "A story found by a random search, seed %d, loss %g.\n", s.seed, s.loss)
	for _, name := range []string{"cluster.conf", "a.conf", "b.conf", "c.conf"} {
		if text, ok := s.files[name]; ok {
			fmt.Fprintf(&b, "-- %s --\n%s", name, text)
		}
	}
	b.WriteString("-- script --\n" + strings.Join(s.lines, "\n") + "\n")
	return b.String()
}

// tale says what stories are made of.
type tale struct {
	largest int  // number of nodes
	quorum  bool // and an exclusive arbitrator when it is of use
	long    int  // number of lines
}

func (o tale) draw(t *rapid.T) story {
	s := story{files: map[string]string{}, seed: rapid.Uint64Range(0, 1<<20).Draw(t, "seed")}
	size := rapid.IntRange(2, o.largest).Draw(t, "nodes")
	for i := range size {
		s.nodes = append(s.nodes, fmt.Sprintf("n%d", i+1))
	}
	s.loss = rapid.SampledFrom([]float64{0, 0, 0.05, 0.3}).Draw(t, "loss")
	s.files["cluster.conf"] = "[cluster]\nnodes = " + strings.Join(s.nodes, " ") + "\n"
	if o.quorum {
		s.files["cluster.conf"] += "quorum = true\n[arbitrator#v]\nuri = https://arbitrator.example.com\nexclusive = true\n"
	}
	objects := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "objects")]
	for _, name := range objects {
		s.files[name+".conf"] = drawObject(t, name, s.nodes)
	}
	for range rapid.IntRange(1, o.long).Draw(t, "length") {
		s.lines = append(s.lines, o.line(t, s.nodes, objects))
	}
	return s
}

func drawObject(t *rapid.T, name string, nodes []string) string {
	text := "[DEFAULT]\norchestrate = " + rapid.SampledFrom([]string{"ha", "ha", "ha", "no", "start"}).Draw(t, "orchestrate") + "\n"
	scope := rapid.SampledFrom([]int{2, 3, 3, 5, len(nodes)}).Draw(t, "scope")
	first := rapid.IntRange(0, len(nodes)-1).Draw(t, "first")
	var in []string
	for i := range min(scope, len(nodes)) {
		in = append(in, nodes[(first+i)%len(nodes)])
	}
	text += "nodes = " + strings.Join(in, " ") + "\nplacement = " + rapid.SampledFrom([]string{"nodes order", "nodes order", "spread", "score", "load avg", "last start", "none"}).Draw(t, "placement") + "\n"
	if rapid.IntRange(0, 3).Draw(t, "flex") == 0 {
		text += "topology = flex\nflex_min = 1\nflex_target = 2\n"
	}
	if name != "a" && rapid.IntRange(0, 3).Draw(t, "parent") == 0 {
		text += "parents = a\n"
	}
	text += "monitor_action = " + rapid.SampledFrom([]string{"none", "switch", "freezestop"}).Draw(t, "monitor action") + "\n"
	return text + "[app#1]\nmonitor = true\nrestart = " + rapid.SampledFrom([]string{"0", "1"}).Draw(t, "restart") + "\n"
}

// line is something that happens.
func (o tale) line(t *rapid.T, nodes, objects []string) string {
	n := func() string { return rapid.SampledFrom(nodes).Draw(t, "node") }
	obj := func() string { return rapid.SampledFrom(objects).Draw(t, "object") }
	kinds := []string{"wait", "wait", "wait", "crash", "power", "reboot", "partition", "heal", "cut", "mend", "pause", "resume", "fail", "mind", "slow", "die", "break", "repair", "ask", "ask", "ask", "clear", "abort", "freeze", "kill", "launch", "clock", "load", "leave", "shutdown"}
	switch what := rapid.SampledFrom(kinds).Draw(t, "what"); what {
	case "wait":
		return "wait " + rapid.SampledFrom([]string{"1s", "10ms", "100ms", "3s", "6s", "11s", "14s", "20s", "1m"}).Draw(t, "wait")
	case "partition":
		groups := map[int][]string{}
		for _, name := range nodes {
			g := rapid.IntRange(0, 1).Draw(t, "side")
			groups[g] = append(groups[g], name)
		}
		return "partition " + strings.Join(groups[0], " ") + " | " + strings.Join(groups[1], " ")
	case "cut", "mend":
		a, b := n(), n()
		if a == b {
			return "wait 1s"
		}
		return what + " " + a + rapid.SampledFrom([]string{" ", " -> "}).Draw(t, "way") + b
	case "heal":
		return what
	case "fail", "mind":
		return what + " " + obj() + " " + rapid.SampledFrom([]string{"start", "stop"}).Draw(t, "action")
	case "slow":
		return "slow " + obj() + " " + rapid.SampledFrom([]string{"start 12s", "stop 12s", "start 1s", "stop 1s"}).Draw(t, "action")
	case "die", "break", "repair":
		return what + " " + obj() + " app#1"
	case "ask":
		return rapid.SampledFrom([]string{"start", "stop", "restart", "giveback", "switch", "switch"}).Draw(t, "goal") + " " + obj() + " at " + n()
	case "clear":
		return "clear " + obj()
	case "abort":
		return "abort " + obj() + " at " + n()
	case "freeze":
		return rapid.SampledFrom([]string{"freeze", "unfreeze"}).Draw(t, "freeze") + " " + rapid.SampledFrom([]string{"node " + n(), obj() + " at " + n(), "cluster at " + n()}).Draw(t, "of")
	case "clock":
		return "clock " + n() + " " + rapid.SampledFrom([]string{"+1h", "-1h", "+1s", "-1s"}).Draw(t, "step")
	case "load":
		return "load " + n() + " " + rapid.SampledFrom([]string{"0.1", "3", "9"}).Draw(t, "load")
	default:
		return what + " " + n()
	}
}

// mend makes every node and link well again, and every start work.
func mendAll(w *simulate.World, s story) {
	lines := []string{"heal"}
	for _, n := range s.nodes {
		lines = append(lines, "resume "+n, "power "+n, "launch "+n)
	}
	lines = append(lines, "wait 3m")
	for _, n := range s.nodes {
		lines = append(lines, "unfreeze node "+n)
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, ok := s.files[name+".conf"]; ok {
			lines = append(lines, "mind "+name+" start", "mind "+name+" stop", "repair "+name+" app#1", "unfreeze "+name, "wait 10s", "clear "+name)
		}
	}
	for _, l := range lines {
		_ = w.Do(l) // some have nothing to mend
	}
}

// broken runs a story, mends its world, and returns what breaks a law.
func (s story) broken(t interface{ Fatal(args ...any) }, o simulate.Options) error {
	setup, err := simulate.NewSetup(s.files)
	if err != nil {
		t.Fatal(err)
	}
	o.Seed, o.Jitter, o.Loss = s.seed, 40*time.Millisecond, max(o.Loss, s.loss)
	w, err := simulate.New(setup, o)
	if err != nil {
		t.Fatal(err)
	}
	w.Boot()
	w.Run(time.Minute)
	check := func() error {
		for _, v := range w.Violations() {
			return fmt.Errorf("%s", v)
		}
		return nil
	}
	for _, l := range s.lines {
		if strings.HasPrefix(l, "switch") { // to where it is asked
			l = strings.Replace(l, "switch", "takeover", 1)
		}
		_ = w.Do(l) // refusals are answers
		if err := check(); err != nil {
			return err
		}
	}
	mendAll(w, s)
	w.Run(10 * time.Minute)
	if err := check(); err != nil {
		return err
	}
	if amiss := w.Amiss(); len(amiss) > 0 {
		return fmt.Errorf("a healed world converges: ten minutes later: %s", strings.Join(amiss, "; "))
	}
	sent := w.Sent()
	w.Run(5 * time.Minute)
	if n := w.Sent() - sent; n > 0 {
		return fmt.Errorf("a converged world falls silent: %d messages in five minutes", n)
	}
	return check()
}

// tales are what the random stories are made of, small and large.
func tales(largest, long int) map[string]tale {
	return map[string]tale{
		"without quorum": {largest: largest, long: long},
		"with quorum":    {largest: largest, long: long, quorum: true},
	}
}

// Random stories of small clusters, always the same ones: the lab draws others,
// and shrinks what fails.
func TestStoriesBreakNoLaw(t *testing.T) {
	t.Parallel()
	for name, o := range tales(4, 12) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stories := rapid.Custom(o.draw)
			for seed := range 60 {
				s := stories.Example(seed)
				if err := s.broken(t, simulate.Options{}); err != nil {
					t.Fatalf("%v\n%s", err, s)
				}
			}
		})
	}
}
