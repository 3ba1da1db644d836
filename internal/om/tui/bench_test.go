package tui_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/om/tui"
)

// A screen of a cluster with many objects is drawn in the time of a key.
func BenchmarkView(b *testing.B) {
	s := lab()
	for i := range 5000 {
		s.Cluster.Object[fmt.Sprintf("ns%d/svc/web%d", i%50, i)] = s.Cluster.Object["web"]
	}
	m := tui.New(&world{status: s}, tui.Options{Now: at()})
	for _, msg := range []screen.Msg{screen.Size{Width: 120, Height: 40}, tui.Live(at()), tui.News(s, nil, at()), screen.Key("end")} {
		m, _ = m.Update(msg)
	}
	for b.Loop() {
		m.View()
	}
}
