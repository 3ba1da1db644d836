package compute

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/gauge"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func gaugeFlags() []command.Flag {
	flags := []command.Flag{
		{Name: "gauge", Help: "Show how much of each hypervisor is allocated"},
		{Name: "effective", Help: "Gauge: measure by what may be promised, with reserve and allocation ratio, not by what is there"},
		{Name: "aggregate", Value: "<aggregate>", Help: "Gauge: those of this aggregate, by name or id", Complete: "aggregate"},
		{Name: "include-ironic", Help: "Gauge: bare metal nodes too"},
		{Name: "sort", Value: "<key>", Default: "name", Choices: gauge.SortKeys(), Help: "Gauge: sort by this"},
		{Name: "reverse", Help: "Gauge: sort downwards"},
		{Name: "warn-pct", Value: "<percent>", Type: command.Float, Default: "70", Help: "Gauge: yellow from this on"},
		{Name: "crit-pct", Value: "<percent>", Type: command.Float, Default: "90", Help: "Gauge: red from this on"},
		{Name: "width", Value: "<columns>", Type: command.Natural, Help: "Gauge: fit into this width, not that of the terminal"},
		{Name: "bar-width", Value: "<cells>", Type: command.Natural, Help: "Gauge: begin with bars of this width, which shrink to fit"},
		{Name: "ascii", Help: "Gauge: draw with plain characters"},
		{Name: "color", Value: "<when>", Default: "auto", Choices: []string{"auto", "always", "never"}, Help: "Gauge: use colours"},
		{Name: "check-actual", Help: "Gauge: ask the node_exporter of each host what is really used"},
		{Name: "ne-scheme", Value: "<scheme>", Default: "http", Choices: []string{"http", "https"}, Help: "Of node_exporter: how to reach it"},
		{Name: "ne-port", Value: "<port>", Type: command.Natural, Default: "9100", Help: "Of node_exporter: its port"},
		{Name: "ne-address-from", Value: "<source>", Default: "host_ip", Choices: []string{"host_ip", "hostname"}, Help: "Of node_exporter: where the address of a host is from"},
		{Name: "ne-domain-suffix", Value: "<suffix>", Help: "Of node_exporter: what goes behind a host name"},
		{Name: "ne-insecure", Help: "Of node_exporter: do not verify its certificate"},
		{Name: "ne-concurrency", Value: "<count>", Type: command.Natural, Default: "8", Help: "Of node_exporter: ask this many hosts at a time"},
		{Name: "ne-sample-interval", Value: "<seconds>", Type: command.Float, Default: "1", Help: "Of node_exporter: time between the two looks at the processors"},
		{Name: "ne-timeout", Value: "<seconds>", Type: command.Float, Default: "5", Help: "Of node_exporter: give up a host after this"},
	}
	for i := range flags {
		flags[i].Koc = true
	}
	return flags
}

// gaugeOnly refuses flags that mean nothing without --gauge.
func gaugeOnly(c *command.Call) error {
	for _, f := range gaugeFlags() {
		if c.Given(f.Name) && f.Name != "gauge" {
			return command.Reject("--%s needs --gauge", f.Name)
		}
	}
	return nil
}

// gaugeAgainst refuses flags that mean nothing with --gauge, and numbers that
// make no sense together.
func gaugeAgainst(c *command.Call) error {
	for _, flag := range [...]string{"marker", "limit", "long"} {
		if c.Given(flag) {
			return command.Reject("--gauge and --%s exclude each other", flag)
		}
	}
	if c.Float("warn-pct") > c.Float("crit-pct") {
		return command.Reject("--warn-pct %s is more than --crit-pct %s", c.Text("warn-pct"), c.Text("crit-pct"))
	}
	if c.Float("ne-sample-interval") <= 0 || c.Float("ne-timeout") <= 0 {
		return command.Reject("--ne-sample-interval and --ne-timeout must be more than 0")
	}
	return nil
}

// gauged is a hypervisor on its way to a gauge.
type gauged struct {
	gauge.Host
	address string // of its host
	host    string // of its service
}

func listGauges(ctx context.Context, c *command.Call) error {
	if err := gaugeAgainst(c); err != nil {
		return err
	}
	found, err := gaugedHosts(ctx, c)
	if err != nil {
		return err
	}
	if err := placed(ctx, c, found); err != nil {
		if ctx.Err() != nil {
			return err
		}
		c.Notef("koc: the figures are those of nova, since placement could not be read: %v\n", err)
	}
	actual := c.Is("check-actual")
	if actual {
		measure(ctx, c, found)
	}
	hosts := make([]gauge.Host, len(found))
	for i := range found {
		hosts[i] = found[i].Host
	}
	gauge.Sort(hosts, c.Text("sort"), c.Is("reverse"))
	if c.Output.Format != "" && c.Output.Format != "table" {
		return c.List(titled(gauge.RawTitles(actual)), func(yield func([]any, error) bool) {
			for i := range hosts {
				if !yield(gauge.Raw(hosts[i], actual), nil) {
					return
				}
			}
		})
	}
	return drawGauges(c, hosts)
}

func titled(titles []string) []render.Column {
	columns := make([]render.Column, len(titles))
	for i, title := range titles {
		columns[i] = render.Column{Title: title}
	}
	return columns
}

func drawGauges(c *command.Call, hosts []gauge.Host) error {
	width := c.Int("width")
	switch {
	case width > 0 && c.Output.MaxWidth == 0:
		c.Output.MaxWidth = width
	case width == 0:
		if width = c.Streams.Width; width == 0 {
			width, _ = strconv.Atoi(c.Env("COLUMNS"))
		}
		if width <= 0 {
			width = 80
		}
	}
	switch c.Text("color") {
	case "always":
		c.Streams.Color = true
	case "never":
		c.Streams.Color = false
	}
	ascii := c.Is("ascii")
	if len(hosts) > 0 || c.Output.PrintEmpty {
		t := gauge.Draw(hosts, gauge.Options{
			Width: width, Bar: c.Int("bar-width"), Warn: c.Float("warn-pct"), Crit: c.Float("crit-pct"), ASCII: ascii, Actual: c.Is("check-actual"),
		})
		err := c.List(titled(t.Titles), func(yield func([]any, error) bool) {
			for _, cells := range t.Rows {
				row := make([]any, len(cells))
				for i, cell := range cells {
					row[i] = render.Painted{Cell: render.TextCell(cell.Plain, cell.Plain), Text: cell.Painted}
				}
				if !yield(row, nil) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
		c.Printf("\n")
	}
	c.Printf("%s\n", gauge.Footer(hosts, ascii))
	return nil
}

// gaugedHosts are the hypervisors that the flags select, with the figures of Nova.
func gaugedHosts(ctx context.Context, c *command.Call) ([]gauged, error) {
	s, err := openServers(ctx, c, "")
	if err != nil {
		return nil, err
	}
	s.Service = s.At("2.1") // later ones tell nothing of usage, or take the ids for others
	members := map[string][]string{}
	wanted, known := c.Text("aggregate"), false
	for o, err := range noun.Pages(ctx, s.Service, "/os-aggregates", nil, "aggregates", 0, nil) {
		if err != nil {
			if wanted != "" || ctx.Err() != nil {
				return nil, err
			}
			break // only their names are missing then
		}
		selected := wanted != "" && (o.Text("name") == wanted || o.Text("id") == wanted)
		known = known || selected
		if wanted == "" || selected {
			for _, host := range o.Texts("hosts") {
				members[host] = append(members[host], o.Text("name"))
			}
		}
	}
	if wanted != "" && !known {
		return nil, &noun.NotFound{Noun: "aggregate", Ref: wanted}
	}
	var found []gauged
	for o, err := range noun.Pages(ctx, s.Service, "/os-hypervisors/detail", nil, "hypervisors", 0, nil) {
		if err != nil {
			return nil, err
		}
		g := readGauged(o)
		in := members[g.host]
		switch {
		case g.Type == "ironic" && !c.Is("include-ironic"),
			wanted != "" && len(in) == 0,
			!strings.Contains(strings.ToLower(g.Name), strings.ToLower(c.Text("matching"))):
			continue
		}
		g.Aggregate = strings.Join(in, ", ")
		found = append(found, g)
	}
	return found, nil
}

func readGauged(o noun.Object) gauged {
	share := func(used, total string) gauge.Share {
		return gauge.Share{Used: number(o.Get(used)), Total: number(o.Get(total))}
	}
	model := o.Text("cpu_info.model")
	if text, ok := o.Get("cpu_info").(string); ok && text != "" {
		var info noun.Object
		if info.UnmarshalJSON([]byte(text)) == nil {
			model = info.Text("model")
		}
	}
	return gauged{
		Host: gauge.Host{
			Name: o.Text("hypervisor_hostname"), Type: o.Text("hypervisor_type"), CPUModel: model, VMs: o.Int("running_vms"),
			VCPU: share("vcpus_used", "vcpus"), RAM: share("memory_mb_used", "memory_mb"), Disk: share("local_gb_used", "local_gb"),
			State: o.Text("state"), Status: o.Text("status"),
		},
		address: o.Text("host_ip"), host: o.Text("service.host"),
	}
}

// placed replaces the figures of Nova by those of placement, which counts what
// was promised. Of a host that it cannot tell of, those of Nova stay.
func placed(ctx context.Context, c *command.Call, hosts []gauged) error {
	s, err := c.Cloud.Service(ctx, "placement")
	if err != nil {
		return err
	}
	s = s.Default("1.14") // with the roots of trees
	roots, trees := map[string]string{}, map[string][]string{}
	for o, err := range noun.Pages(ctx, s, "/resource_providers", nil, "resource_providers", 0, nil) {
		if err != nil {
			return err
		}
		id, root := o.Text("uuid"), o.Text("root_provider_uuid")
		if root == "" {
			root = id
		}
		if root == id {
			roots[o.Text("name")] = id
		}
		trees[root] = append(trees[root], id)
	}
	failed := make([]error, len(hosts))
	together(8, len(hosts), func(i int) {
		if root := roots[hosts[i].Name]; root != "" {
			failed[i] = hosts[i].place(ctx, s, trees[root], c.Is("effective"))
		}
	})
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// place reads what the providers of a host have and what of it is promised.
func (g *gauged) place(ctx context.Context, s cloud.Service, providers []string, effective bool) error {
	sums := map[string]gauge.Share{}
	for _, id := range providers {
		var inventories, usages noun.Object
		path := "/resource_providers/" + url.PathEscape(id)
		if err := s.Do(ctx, cloud.Request{Path: path + "/inventories", Into: &inventories}); err != nil {
			return err
		}
		if err := s.Do(ctx, cloud.Request{Path: path + "/usages", Into: &usages}); err != nil {
			return err
		}
		for _, class := range inventories.Object("inventories") {
			inventory := inventories.Object("inventories").Object(class.Name)
			total := number(inventory.Get("total"))
			if effective {
				total = (total - number(inventory.Get("reserved"))) * number(inventory.Get("allocation_ratio"))
			}
			sum := sums[class.Name]
			sum.Total += total
			sum.Used += number(usages.Object("usages").Get(class.Name))
			sums[class.Name] = sum
		}
	}
	for class, share := range map[string]*gauge.Share{"VCPU": &g.VCPU, "MEMORY_MB": &g.RAM, "DISK_GB": &g.Disk} {
		if sum, there := sums[class]; there {
			*share = sum
		}
	}
	return nil
}

// together calls do with each number below n, some at a time.
func together(width, n int, do func(i int)) {
	gate := make(chan struct{}, max(width, 1))
	var group sync.WaitGroup
	for i := range n {
		gate <- struct{}{}
		group.Go(func() {
			defer func() { <-gate }()
			do(i)
		})
	}
	group.Wait()
}

// measure asks the node_exporter of each host that is up.
func measure(ctx context.Context, c *command.Call, hosts []gauged) {
	seconds := func(flag string) time.Duration { return time.Duration(c.Float(flag) * float64(time.Second)) }
	exporter := gauge.NewExporter(c.Is("ne-insecure"), seconds("ne-sample-interval"), seconds("ne-timeout"))
	defer exporter.Client.CloseIdleConnections()
	together(c.Int("ne-concurrency"), len(hosts), func(i int) {
		if hosts[i].State == "down" {
			return
		}
		address := hosts[i].address
		if c.Text("ne-address-from") == "hostname" {
			address = hosts[i].Name + c.Text("ne-domain-suffix")
		}
		if address == "" {
			hosts[i].Actual = &gauge.Actual{Err: errors.New("the host has no address: try --ne-address-from hostname")}
			return
		}
		u := url.URL{Scheme: c.Text("ne-scheme"), Host: net.JoinHostPort(address, c.Text("ne-port")), Path: "/metrics"}
		hosts[i].Actual = exporter.Measure(ctx, u.String())
	})
}

// isStatus reports whether a service refused with one of the statuses.
func isStatus(err error, statuses ...int) bool {
	var fault *cloud.Fault
	return errors.As(err, &fault) && slices.Contains(statuses, fault.Status)
}
