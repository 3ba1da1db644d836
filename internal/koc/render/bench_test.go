package render_test

import (
	"fmt"
	"io"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// fleet is a listing of servers.
func fleet(n int) ([]render.Column, [][]any) {
	columns := titled("ID", "Name", "Status", "Networks", "Image", "Flavor", "VCPUs", "Created At")
	rows := make([][]any, n)
	for i := range rows {
		rows[i] = []any{
			fmt.Sprintf("7c0f6ab2-5bd1-4c69-9d0c-%012d", i), fmt.Sprintf("web-%d", i), "ACTIVE",
			render.DictListCell(render.Ordered{{"private", []any{"10.0.0.5", "fd00::5"}}}),
			"debian-12", nil, i % 64, "2026-03-04T06:27:59Z",
		}
	}
	return columns, rows
}

func BenchmarkList(b *testing.B) {
	columns, rows := fleet(10000)
	for _, voice := range []render.Voice{render.Own, render.OpenStack} {
		for _, o := range []render.Options{
			{Format: "table"},
			{Format: "table", MaxWidth: 100},
			{Format: "json"},
			{Format: "yaml"},
			{Format: "csv"},
			{Format: "value"},
			{Format: "json", SortBy: []string{"Name"}},
		} {
			o.Voice = voice
			name := fmt.Sprintf("voice=%d/%s", voice, o.Format)
			if o.MaxWidth > 0 {
				name += "-narrow"
			}
			if o.SortBy != nil {
				name += "-sorted"
			}
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				s := &iostreams.Streams{Out: io.Discard}
				before := cpu(b)
				for b.Loop() {
					if err := render.List(s, o, columns, render.Rows(rows)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(cpu(b)-before)/1e6/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// cpu is the time of the processors that the process took, collecting garbage
// included: other processes do not count.
func cpu(b *testing.B) int64 {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
