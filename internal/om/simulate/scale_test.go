package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/simulate"
)

// grid is a large cluster, its objects spread over it, three nodes each.
func grid(tb testing.TB, nodes, objects int) simulate.Setup {
	tb.Helper()
	var cluster strings.Builder
	cluster.WriteString("[cluster]\nnodes =")
	for i := range nodes {
		fmt.Fprintf(&cluster, " n%d", i)
	}
	cluster.WriteString("\n")
	files := map[string]string{"cluster.conf": cluster.String()}
	for i := range objects {
		a := i * 7 % nodes
		files[fmt.Sprintf("o%d.conf", i)] = fmt.Sprintf("[DEFAULT]\norchestrate = ha\nnodes = n%d n%d n%d\n[app#1]\n", a, (a+1)%nodes, (a+13)%nodes)
	}
	s, err := simulate.NewSetup(files)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// disaster boots a cluster, and kills a tenth of it at once. It returns how many
// objects do not run once on a node that is left.
func disaster(tb testing.TB, s simulate.Setup, nodes int) (w *simulate.World, lost int) {
	tb.Helper()
	w, err := simulate.New(s, simulate.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	w.Boot()
	w.Run(time.Minute)
	for i := 0; i < nodes; i += 10 {
		w.Crash(fmt.Sprintf("n%d", i))
	}
	w.Run(time.Minute)
	for _, v := range w.Violations() {
		tb.Error(v)
	}
	for _, n := range w.Running() {
		if n != 1 {
			lost++
		}
	}
	return w, lost
}

func TestATenthOfALargeClusterDies(t *testing.T) {
	t.Parallel()
	const nodes, objects = 200, 600
	w, lost := disaster(t, grid(t, nodes, objects), nodes)
	if lost > 0 {
		t.Errorf("%d of %d objects do not run once", lost, objects)
	}
	sent := w.Sent()
	w.Run(2 * time.Minute)
	if n := w.Sent() - sent; n > 0 {
		t.Errorf("%d messages in two quiet minutes", n)
	}
}

// Five thousand nodes, twenty thousand objects, a tenth killed.
func BenchmarkDisaster(b *testing.B) {
	const nodes, objects = 5000, 20000
	s := grid(b, nodes, objects)
	for b.Loop() {
		w, lost := disaster(b, s, nodes)
		if lost > 0 {
			b.Fatalf("%d of %d objects do not run once", lost, objects)
		}
		b.ReportMetric(float64(w.Events()), "events")
		b.ReportMetric(float64(w.Decided()), "decisions")
		b.ReportMetric(float64(w.Sent()), "messages")
	}
}
