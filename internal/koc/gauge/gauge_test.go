package gauge_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/koc/gauge"
)

func hosts() []gauge.Host {
	return []gauge.Host{
		{Name: "cmp1", Aggregate: "az1", Type: "QEMU", VMs: 3, VCPU: gauge.Share{Used: 8, Total: 4}, RAM: gauge.Share{Used: 512, Total: 1024}, Disk: gauge.Share{Used: 95, Total: 100}, CPUModel: "Nehalem", State: "up", Status: "enabled"},
		{Name: "cmp2", Type: "QEMU", VMs: 12, VCPU: gauge.Share{Used: 20, Total: 4}, RAM: gauge.Share{Used: 768, Total: 1024}, Disk: gauge.Share{Used: 1, Total: 0}, State: "up", Status: "disabled"},
		{Name: "cmp3", State: "down", Status: "enabled"},
		{Name: "cmp4", State: "down", Status: "disabled"},
	}
}

func plain(t gauge.Table) [][]string {
	rows := [][]string{t.Titles}
	for _, row := range t.Rows {
		var texts []string
		for _, cell := range row {
			texts = append(texts, cell.Plain)
		}
		rows = append(rows, texts)
	}
	return rows
}

func TestHostsInEightyColumns(t *testing.T) {
	t.Parallel()
	got := plain(gauge.Draw(hosts(), gauge.Options{Width: 80, Warn: 70, Crit: 90}))

	want := [][]string{
		{"Name", "Health", "VMs", "OC", "RAM", "Disk"},
		{"cmp1", "● up", "3", "2.00x", "[████    ] 50%", "[████████] 95%"},
		{"cmp2", "⚠ DISABLED", "12", "5.00x", "[██████  ] 75%", "[        ] 0%"},
		{"cmp3", "✖ DOWN", "0", "0.00x", "·· stale ··", "·· stale ··"},
		{"cmp4", "✖ DOWN+DIS", "0", "0.00x", "·· stale ··", "·· stale ··"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHostsInPlainCharactersAndWide(t *testing.T) {
	t.Parallel()
	got := plain(gauge.Draw(hosts(), gauge.Options{Width: 160, Bar: 5, Warn: 70, Crit: 90, ASCII: true}))

	want := [][]string{
		{"Name", "Aggregate", "Type", "Health", "VMs", "vCPU(u/t)", "OC", "RAM", "RAM(u/t GiB)", "Disk", "Disk(u/t GiB)", "CPU Model"},
		{"cmp1", "az1", "QEMU", "up", "3", "8/4", "2.00x", "[###--] 50%", "0.5/1.0", "[#####] 95%", "95/100", "Nehalem"},
		{"cmp2", "", "QEMU", "DISABLED", "12", "20/4", "5.00x", "[####-] 75%", "0.8/1.0", "[-----] 0%", "1/0", ""},
		{"cmp3", "", "", "DOWN", "0", "0/0", "0.00x", "-- stale --", "0.0/0.0", "-- stale --", "0/0", ""},
		{"cmp4", "", "", "DOWN+DIS", "0", "0/0", "0.00x", "-- stale --", "0.0/0.0", "-- stale --", "0/0", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestColoursFollowTheThresholds(t *testing.T) {
	t.Parallel()
	table := gauge.Draw(hosts(), gauge.Options{Width: 80, Warn: 70, Crit: 90})
	style := func(row, column int) string {
		cell := table.Rows[row][column].Painted
		return strings.TrimSuffix(strings.TrimPrefix(cell[:strings.IndexByte(cell, 'm')+1], "\x1b["), "m")
	}
	for _, c := range []struct {
		row, column int
		want        string
	}{
		{0, 1, "32"}, {1, 1, "33"}, {2, 1, "1;31"}, {3, 1, "1;31"}, // health
		{0, 3, "33"}, {1, 3, "31"}, // overcommit
		{0, 4, "32"}, {1, 4, "33"}, {0, 5, "31"}, // bars
		{2, 0, "2"}, {2, 3, "2"}, {2, 4, "2"}, // a host that is down is dim
	} {
		if got := style(c.row, c.column); got != c.want {
			t.Errorf("row %d, column %d: style %s, want %s", c.row, c.column, got, c.want)
		}
	}
	if got := table.Rows[0][0].Painted; got != "cmp1" {
		t.Errorf("the name is painted: %q", got)
	}
}

// TestThresholds walks over the edges. Mutants it catches: > for >=, the
// thresholds swapped.
func TestThresholds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		percent float64
		want    string
	}{{69.9, "32"}, {70, "33"}, {89.9, "33"}, {90, "31"}, {200, "31"}} {
		h := gauge.Host{State: "up", RAM: gauge.Share{Used: c.percent, Total: 100}}
		got := gauge.Draw([]gauge.Host{h}, gauge.Options{Width: 80, Warn: 70, Crit: 90}).Rows[0][4].Painted
		if !strings.HasPrefix(got, "\x1b["+c.want+"m") {
			t.Errorf("%v%%: %q", c.percent, got)
		}
	}
}

func anyHost() *rapid.Generator[gauge.Host] {
	share := rapid.Custom(func(t *rapid.T) gauge.Share {
		return gauge.Share{Used: rapid.Float64Range(0, 1e6).Draw(t, "used"), Total: rapid.Float64Range(-1, 1e6).Draw(t, "total")}
	})
	return rapid.Custom(func(t *rapid.T) gauge.Host {
		h := gauge.Host{
			Name:      rapid.SampledFrom([]string{"a", "cmp-039", "узел", "計算機", "a-very-long-name.of.a.host.example"}).Draw(t, "name"),
			Aggregate: rapid.SampledFrom([]string{"", "az1", "az1, agg-ssd"}).Draw(t, "aggregate"),
			State:     rapid.SampledFrom([]string{"up", "down"}).Draw(t, "state"),
			Status:    rapid.SampledFrom([]string{"enabled", "disabled"}).Draw(t, "status"),
			VMs:       rapid.Int64Range(0, 5000).Draw(t, "vms"),
			VCPU:      share.Draw(t, "vcpu"), RAM: share.Draw(t, "ram"), Disk: share.Draw(t, "disk"),
		}
		if rapid.Bool().Draw(t, "measured") {
			h.Actual = &gauge.Actual{CPU: rapid.Float64Range(0, 100).Draw(t, "cpu"), RAM: share.Draw(t, "real")}
		}
		return h
	})
}

func anyOptions(t *rapid.T) gauge.Options {
	return gauge.Options{
		Width: rapid.IntRange(0, 300).Draw(t, "width"), Bar: rapid.IntRange(0, 60).Draw(t, "bar"),
		Warn: 70, Crit: 90, ASCII: rapid.Bool().Draw(t, "ascii"), Actual: rapid.Bool().Draw(t, "actual"),
	}
}

// drawnWidth is that of a table with borders.
func drawnWidth(table gauge.Table) int {
	total := 1
	for i, title := range table.Titles {
		w := displaywidth.String(title)
		for _, row := range table.Rows {
			w = max(w, displaywidth.String(row[i].Plain))
		}
		total += w + 3
	}
	return total
}

// bars are the insides of the bars of a table.
func bars(table gauge.Table) []string {
	var found []string
	for _, row := range table.Rows {
		for _, cell := range row {
			if inside, _, is := strings.Cut(strings.TrimPrefix(cell.Plain, "["), "] "); is && strings.HasPrefix(cell.Plain, "[") {
				found = append(found, inside)
			}
		}
	}
	return found
}

// TestBarsTakeTheRoomThereIs draws any hosts at any width. Mutants it catches: a
// bar that is longer when it is full, one that shrinks below four cells or while
// the table fits, a table that is too wide though bars could shrink, borders
// forgotten in the width, runes counted instead of columns.
func TestBarsTakeTheRoomThereIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(anyHost(), 0, 6).Draw(t, "hosts")
		o := anyOptions(t)
		table := gauge.Draw(all, o)

		widths := map[int]bool{}
		for _, bar := range bars(table) {
			widths[displaywidth.String(bar)] = true
		}
		if len(widths) > 1 {
			t.Fatalf("bars of several widths: %v", widths)
		}
		for bar := range widths {
			if bar < 4 {
				t.Fatalf("bar of %d cells", bar)
			}
			if bar > 4 && drawnWidth(table) > o.Width {
				t.Fatalf("%d columns wide in %d, with bars of %d", drawnWidth(table), o.Width, bar)
			}
			start := o.Bar
			if start == 0 {
				start = map[bool]int{true: 20, false: map[bool]int{true: 16, false: 8}[o.Width >= 160]}[o.Actual || o.Width >= 240]
			}
			if start = max(start, 4); bar > start {
				t.Fatalf("bars of %d cells, begun with %d", bar, start)
			}
			if bar < start && (o.Actual || o.Width >= 160) { // the columns are those of any wider terminal
				room := o.Width
				o.Bar, o.Width = bar+1, 1000
				if got := drawnWidth(gauge.Draw(all, o)); got <= room {
					t.Fatalf("bars of %d cells in %d columns, though those of %d take %d", bar, room, bar+1, got)
				}
			}
		}
	})
}

// TestEachWidthIsUsedUp draws the same hosts, one of a name in wide characters, in
// all widths around the one where the bars are whole. It catches a table that is a
// column too wide or too narrow.
func TestEachWidthIsUsedUp(t *testing.T) {
	t.Parallel()
	all := hosts()
	all[0].Name = "計算機計算機計算機"
	whole := drawnWidth(gauge.Draw(all, gauge.Options{Width: 159}))
	for width := whole - 10; width <= whole+2; width++ {
		got := drawnWidth(gauge.Draw(all, gauge.Options{Width: width}))
		// Two bars shrink together, until the texts that replace them are wider.
		want := whole
		if width < whole {
			want = max(width-(whole-width)%2, whole-6)
		}
		if got != want {
			t.Errorf("%d columns in %d, want %d", got, width, want)
		}
	}
}

// TestBarsFillByTheirNumber compares each bar with the number beside it. Mutants
// it catches: bars that overflow, that run backwards, that round down.
func TestBarsFillByTheirNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		percent := rapid.Float64Range(0, 300).Draw(t, "percent")
		bar := rapid.IntRange(4, 40).Draw(t, "bar")
		h := gauge.Host{State: "up", RAM: gauge.Share{Used: percent, Total: 100}}
		cell := gauge.Draw([]gauge.Host{h}, gauge.Options{Width: 1000, Bar: bar, ASCII: true}).Rows[0][7]
		inside, number, _ := strings.Cut(strings.TrimPrefix(cell.Plain, "["), "] ")
		filled := strings.TrimRight(inside, "-")
		if len(inside) != bar || strings.Trim(filled, "#") != "" {
			t.Fatalf("%q", cell.Plain)
		}
		if exact := min(percent, 100) * float64(bar) / 100; float64(len(filled)) < exact-0.51 || float64(len(filled)) > exact+0.51 {
			t.Fatalf("%q has %d cells, want %v", cell.Plain, len(filled), exact)
		}
		if number != fmt.Sprintf("%.0f%%", percent) {
			t.Fatalf("%q, want %v", cell.Plain, percent)
		}
	})
}

// TestPaintIsNothingButPaint takes the colours off. Mutants it catches: a cell
// whose painted text is another one, a colour that does not end.
func TestPaintIsNothingButPaint(t *testing.T) {
	t.Parallel()
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	rapid.Check(t, func(t *rapid.T) {
		for _, row := range gauge.Draw(rapid.SliceOfN(anyHost(), 1, 4).Draw(t, "hosts"), anyOptions(t)).Rows {
			for _, cell := range row {
				if got := sgr.ReplaceAllString(cell.Painted, ""); got != cell.Plain {
					t.Fatalf("%q without colours is %q, want %q", cell.Painted, got, cell.Plain)
				}
				if strings.Contains(cell.Painted, "\x1b") && !strings.HasSuffix(cell.Painted, "\x1b[0m") {
					t.Fatalf("%q does not end its colour", cell.Painted)
				}
			}
		}
	})
}

func TestSortIsStableBothWays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(anyHost(), 0, 8).Draw(t, "hosts")
		for i := range all {
			all[i].CPUModel = strconv.Itoa(i) // where it was
		}
		key := rapid.SampledFrom(gauge.SortKeys()).Draw(t, "key")
		reverse := rapid.Bool().Draw(t, "reverse")
		of := func(h gauge.Host) (string, float64) {
			switch key {
			case "name":
				return h.Name, 0
			case "aggregate":
				return h.Aggregate, 0
			case "vms":
				return "", float64(h.VMs)
			case "overcommit":
				return "", h.Overcommit()
			case "ram":
				return "", h.RAM.Percent()
			}
			return "", h.Disk.Percent()
		}
		sorted := slices.Clone(all)
		gauge.Sort(sorted, key, reverse)
		for i := 1; i < len(sorted); i++ {
			a, b := sorted[i-1], sorted[i]
			if reverse {
				a, b = b, a
			}
			at, an := of(a)
			bt, bn := of(b)
			if at > bt || an > bn {
				t.Fatalf("by %s: %q %v before %q %v", key, at, an, bt, bn)
			}
			if at == bt && an == bn && sorted[i-1].CPUModel > sorted[i].CPUModel {
				t.Fatalf("by %s: equal hosts changed places", key)
			}
		}
	})
}

func TestFooter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hosts []gauge.Host
		ascii bool
		want  string
	}{
		{hosts(), false, "4 hypervisors  ·  2 up  ·  2 down  ·  2 disabled"},
		{hosts()[:1], true, "1 hypervisor  |  1 up  |  0 down  |  0 disabled"},
		{nil, false, "No hypervisors matched your filters."},
	} {
		if got := gauge.Footer(c.hosts, c.ascii); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestRawNumbers(t *testing.T) {
	t.Parallel()
	h := hosts()[0]
	h.RAM = gauge.Share{Used: 1000, Total: 3000}
	h.VCPU = gauge.Share{Used: 3, Total: 7.5}
	row := gauge.Raw(h, true)
	if len(row) != len(gauge.RawTitles(true)) || len(gauge.Raw(h, false)) != len(gauge.RawTitles(false)) {
		t.Fatalf("%d cells", len(row))
	}
	want := []any{
		"cmp1", "az1", "QEMU", int64(3), int64(3), 7.5, 0.4, 33.33, 0.98, 2.93, 95.0, 95.0, 100.0, "Nehalem", "up", "enabled",
		40.0, nil, nil, nil, nil,
	}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Error(diff)
	}
	h.Actual = &gauge.Actual{CPU: 12.345, RAM: gauge.Share{Used: 1024, Total: 4096}}
	if diff := cmp.Diff([]any{12.35, 25.0, 1.0, nil}, gauge.Raw(h, true)[17:]); diff != "" {
		t.Error(diff)
	}
}

func TestMeasuredColumns(t *testing.T) {
	t.Parallel()
	all := hosts()[:3]
	all[0].Actual = &gauge.Actual{CPU: 50, RAM: gauge.Share{Used: 1024, Total: 2048}}
	all[1].Actual = &gauge.Actual{Err: errors.New("refused")}
	got := gauge.Draw(all, gauge.Options{Width: 300, Bar: 4, Warn: 70, Crit: 90, ASCII: true, Actual: true})
	var rows [][]string
	for _, row := range plain(got) {
		rows = append(rows, row[12:])
	}
	want := [][]string{
		{"CPUa%", "CPU_phys", "RAM_phys", "RAM_phys_used"},
		{"200%", "[##--] 50%", "[##--] 50%", "1.0 GiB"},
		{"500%", "err", "err", "err"},
		{"0%", "n/a (down)", "n/a (down)", "n/a (down)"},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
}
