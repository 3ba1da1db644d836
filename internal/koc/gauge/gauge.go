// Package gauge draws how much of compute hosts is allocated: bars with
// thresholds, in as many columns as the terminal has room for. It computes texts
// and asks nobody, apart from [Exporter], which measures what hosts really use.
package gauge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Share is how much of something is used, in the unit of the service.
type Share struct{ Used, Total float64 }

// Percent is the share in percent, 0 of nothing. It may be more than 100.
func (s Share) Percent() float64 {
	if s.Total <= 0 {
		return 0
	}
	return 100 * s.Used / s.Total
}

// Host is a compute host.
type Host struct {
	Name, Aggregate, Type, CPUModel string

	VMs       int64
	VCPU      Share
	RAM, Disk Share  // in MiB and GiB
	State     string // up or down
	Status    string // enabled or disabled
	Actual    *Actual
}

func (h *Host) down() bool     { return h.State == "down" }
func (h *Host) disabled() bool { return h.Status == "disabled" }

// Overcommit is how many virtual processors there are for each real one.
func (h *Host) Overcommit() float64 { return h.VCPU.Percent() / 100 }

// Options are how hosts are drawn.
type Options struct {
	Width      int // of the terminal
	Bar        int // of bars at first; 0 is that of the profile
	Warn, Crit float64
	ASCII      bool
	Actual     bool // show what was measured
}

// Cell is a text with and without colours.
type Cell struct{ Plain, Painted string }

// Table is a drawn table.
type Table struct {
	Titles []string
	Rows   [][]Cell
}

// least is how narrow bars may get.
const least = 4

// The styles, as SGR parameters.
const (
	green   = "32"
	yellow  = "33"
	red     = "31"
	boldRed = "1;31"
	dim     = "2"
)

func paint(style, text string) Cell {
	return Cell{text, "\x1b[" + style + "m" + text + "\x1b[0m"}
}

func bare(text string) Cell { return Cell{text, text} }

// column is a column of the table.
type column struct {
	title string
	wide  bool // not in the compact profile
	cell  func(h *Host, bar int) Cell
}

// Draw draws hosts with the widest bars that fit, down to four cells.
func Draw(hosts []Host, o Options) Table {
	compact, bar := o.profile()
	columns := o.columns(compact)
	for {
		t := draw(hosts, columns, bar)
		if bar <= least || t.width() <= o.Width {
			return t
		}
		bar--
	}
}

// profile is whether the columns are the few, and how wide bars are at first.
func (o Options) profile() (compact bool, bar int) {
	switch {
	case o.Width >= 240 || o.Actual:
		bar = 20
	case o.Width >= 160:
		bar = 16
	default:
		compact, bar = true, 8
	}
	if o.Bar > 0 {
		bar = max(o.Bar, least)
	}
	return compact, bar
}

func draw(hosts []Host, columns []column, bar int) Table {
	t := Table{Titles: make([]string, len(columns)), Rows: make([][]Cell, len(hosts))}
	for i, col := range columns {
		t.Titles[i] = col.title
	}
	for i := range hosts {
		h := &hosts[i]
		row := make([]Cell, len(columns))
		for j, col := range columns {
			row[j] = col.cell(h, bar)
			if h.down() && col.title != healthTitle {
				row[j] = paint(dim, row[j].Plain)
			}
		}
		t.Rows[i] = row
	}
	return t
}

// width is that of the table with its borders.
func (t Table) width() int {
	total := 1
	for i, title := range t.Titles {
		w := displaywidth.String(title)
		for _, row := range t.Rows {
			w = max(w, displaywidth.String(row[i].Plain))
		}
		total += w + len("|  ")
	}
	return total
}

const healthTitle = "Health"

func (o Options) columns(compact bool) []column {
	text := func(of func(h *Host) string) func(*Host, int) Cell {
		return func(h *Host, _ int) Cell { return bare(of(h)) }
	}
	gauge := func(of func(h *Host) Share) func(*Host, int) Cell {
		return func(h *Host, bar int) Cell {
			if h.down() {
				return bare(o.stale())
			}
			return o.bar(of(h).Percent(), bar)
		}
	}
	all := []column{
		{"Name", false, text(func(h *Host) string { return h.Name })},
		{"Aggregate", true, text(func(h *Host) string { return h.Aggregate })},
		{"Type", true, text(func(h *Host) string { return h.Type })},
		{healthTitle, false, func(h *Host, _ int) Cell { return o.health(h) }},
		{"VMs", false, text(func(h *Host) string { return strconv.FormatInt(h.VMs, 10) })},
		{"vCPU(u/t)", true, text(func(h *Host) string { return fmt.Sprintf("%.0f/%.0f", h.VCPU.Used, h.VCPU.Total) })},
		{"OC", false, func(h *Host, _ int) Cell { return overcommit(h.Overcommit()) }},
		{"RAM", false, gauge(func(h *Host) Share { return h.RAM })},
		{"RAM(u/t GiB)", true, text(func(h *Host) string { return fmt.Sprintf("%.1f/%.1f", h.RAM.Used/1024, h.RAM.Total/1024) })},
		{"Disk", false, gauge(func(h *Host) Share { return h.Disk })},
		{"Disk(u/t GiB)", true, text(func(h *Host) string { return fmt.Sprintf("%.0f/%.0f", h.Disk.Used, h.Disk.Total) })},
		{"CPU Model", true, text(func(h *Host) string { return h.CPUModel })},
	}
	if o.Actual {
		all = append(
			all,
			column{"CPUa%", true, func(h *Host, _ int) Cell { return o.number(h.VCPU.Percent()) }},
			column{"CPU_phys", true, o.actual(func(a *Actual, bar int) Cell { return o.bar(a.CPU, bar) })},
			column{"RAM_phys", true, o.actual(func(a *Actual, bar int) Cell { return o.bar(a.RAM.Percent(), bar) })},
			column{"RAM_phys_used", true, o.actual(func(a *Actual, _ int) Cell { return bare(fmt.Sprintf("%.1f GiB", a.RAM.Used/1024)) })},
		)
	}
	return slices.DeleteFunc(all, func(col column) bool { return compact && col.wide })
}

// actual is the cell of a measured figure, where there is one.
func (o Options) actual(cell func(a *Actual, bar int) Cell) func(*Host, int) Cell {
	return func(h *Host, bar int) Cell {
		switch {
		case h.down():
			return bare("n/a (down)")
		case h.Actual == nil:
			return bare("-")
		case h.Actual.Err != nil:
			return paint(red, "err")
		}
		return cell(h.Actual, bar)
	}
}

func (o Options) style(percent float64) string {
	switch {
	case percent >= o.Crit:
		return red
	case percent >= o.Warn:
		return yellow
	default:
		return green
	}
}

func (o Options) number(percent float64) Cell {
	return paint(o.style(percent), fmt.Sprintf("%.0f%%", percent))
}

// bar is a bar with its number. The bar ends at 100, the number does not.
func (o Options) bar(percent float64, width int) Cell {
	full, empty := "█", " "
	if o.ASCII {
		full, empty = "#", "-"
	}
	filled := min(max(int(math.Round(float64(width)*percent/100)), 0), width)
	return paint(o.style(percent), fmt.Sprintf("[%s%s] %.0f%%", strings.Repeat(full, filled), strings.Repeat(empty, width-filled), percent))
}

func (o Options) stale() string {
	if o.ASCII {
		return "-- stale --"
	}
	return "·· stale ··"
}

func overcommit(ratio float64) Cell {
	style := green
	switch {
	case ratio >= 4:
		style = red
	case ratio >= 1:
		style = yellow
	}
	return paint(style, fmt.Sprintf("%.2fx", ratio))
}

func (o Options) health(h *Host) Cell {
	style, icon, text := green, "● ", "up"
	switch {
	case h.down() && h.disabled():
		style, icon, text = boldRed, "✖ ", "DOWN+DIS"
	case h.down():
		style, icon, text = boldRed, "✖ ", "DOWN"
	case h.disabled():
		style, icon, text = yellow, "⚠ ", "DISABLED"
	}
	if o.ASCII {
		icon = ""
	}
	return paint(style, icon+text)
}

// Footer counts hosts. Whether one is disabled has nothing to do with whether it
// is up.
func Footer(hosts []Host, ascii bool) string {
	if len(hosts) == 0 {
		return "No hypervisors matched your filters."
	}
	down, disabled := 0, 0
	for i := range hosts {
		if hosts[i].down() {
			down++
		}
		if hosts[i].disabled() {
			disabled++
		}
	}
	between := "  ·  "
	if ascii {
		between = "  |  "
	}
	noun := "hypervisors"
	if len(hosts) == 1 {
		noun = "hypervisor"
	}
	return strings.Join([]string{
		fmt.Sprintf("%d %s", len(hosts), noun), fmt.Sprintf("%d up", len(hosts)-down),
		fmt.Sprintf("%d down", down), fmt.Sprintf("%d disabled", disabled),
	}, between)
}

// SortKeys are what hosts are sorted by.
func SortKeys() []string { return []string{"name", "aggregate", "vms", "overcommit", "ram", "disk"} }

// Sort sorts hosts by a key; hosts that are equal stay as they are.
func Sort(hosts []Host, key string, reverse bool) {
	by := func(a, b *Host) int { return strings.Compare(a.Name, b.Name) }
	switch key {
	case "aggregate":
		by = func(a, b *Host) int { return strings.Compare(a.Aggregate, b.Aggregate) }
	case "vms":
		by = func(a, b *Host) int { return cmp.Compare(a.VMs, b.VMs) }
	case "overcommit":
		by = func(a, b *Host) int { return cmp.Compare(a.Overcommit(), b.Overcommit()) }
	case "ram":
		by = func(a, b *Host) int { return cmp.Compare(a.RAM.Percent(), b.RAM.Percent()) }
	case "disk":
		by = func(a, b *Host) int { return cmp.Compare(a.Disk.Percent(), b.Disk.Percent()) }
	}
	slices.SortStableFunc(hosts, func(a, b Host) int {
		if reverse {
			return by(&b, &a)
		}
		return by(&a, &b)
	})
}

// RawTitles are the columns of [Raw].
func RawTitles(actual bool) []string {
	titles := []string{
		"Name", "Aggregate", "Type", "VMs", "vCPUs Used", "vCPUs Total", "Overcommit", "RAM %", "RAM Used GiB", "RAM Total GiB",
		"Disk %", "Disk Used GiB", "Disk Total GiB", "CPU Model", "State", "Status",
	}
	if actual {
		titles = append(titles, "CPU Alloc %", "CPU Phys %", "RAM Phys %", "RAM Phys Used GiB", "Actual Error")
	}
	return titles
}

// Raw is a host in numbers, for programs. What is not known is nil.
func Raw(h Host, actual bool) []any {
	row := []any{
		h.Name, h.Aggregate, h.Type, h.VMs, whole(h.VCPU.Used), whole(h.VCPU.Total), round(h.Overcommit()),
		round(h.RAM.Percent()), round(h.RAM.Used / 1024), round(h.RAM.Total / 1024),
		round(h.Disk.Percent()), round(h.Disk.Used), round(h.Disk.Total), h.CPUModel, h.State, h.Status,
	}
	if !actual {
		return row
	}
	row = append(row, round(h.VCPU.Percent()))
	switch {
	case h.Actual == nil:
		return append(row, nil, nil, nil, nil)
	case h.Actual.Err != nil:
		return append(row, nil, nil, nil, h.Actual.Err.Error())
	}
	return append(row, round(h.Actual.CPU), round(h.Actual.RAM.Percent()), round(h.Actual.RAM.Used/1024), nil)
}

func round(f float64) float64 { return math.Round(f*100) / 100 }

// whole is a count, which is an integer unless an allocation ratio made it none.
func whole(f float64) any {
	if f == math.Trunc(f) {
		return int64(f)
	}
	return round(f)
}
