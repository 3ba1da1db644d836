package inventory

import (
	"bufio"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// property is a fact: its name, and how it is found. A keyword node.<name>, when
// there is one and it is set, wins over what is found.
type property struct {
	name  string
	probe func() (any, error) // nil: only the configuration tells
}

var errUnknown = errors.New("the system does not tell")

// text is what a file says, unknown when it says nothing.
func text(value string) (any, error) {
	if value == "" {
		return nil, errUnknown
	}
	return value, nil
}

func number(value int64) (any, error) {
	if value == 0 {
		return nil, errUnknown
	}
	return value, nil
}

func (n Node) facts() ([]property, error) {
	cluster, err := n.Store.Cluster()
	if err != nil {
		return nil, err
	}
	listener, err := n.Store.Listener()
	if err != nil {
		return nil, err
	}
	release := osRelease(n.read("/etc/os-release"))
	cpu := parseCPUs(n.read("/proc/cpuinfo"))
	says := func(value string) func() (any, error) { return func() (any, error) { return text(value) } }
	counts := func(value int64) func() (any, error) { return func() (any, error) { return number(value) } }
	file := func(name string) func() (any, error) { return func() (any, error) { return text(n.read(name)) } }
	list := []property{
		{"nodename", says(n.Host.Hostname)},
		{"version", says(n.Version)},
		{"cluster_id", says(cluster.ID)},
		{"listener_port", counts(int64(listener.Port))},
		{"os_name", says("Linux")},
		{"os_vendor", says(release["NAME"])},
		{"os_release", says(release["VERSION_ID"])},
		{"os_kernel", file("/proc/sys/kernel/osrelease")},
		{"os_arch", says(machine())},
		{"mem_bytes", counts(parseMemory(n.read("/proc/meminfo")))},
		{"mem_banks", nil},
		{"mem_slots", nil},
		{"cpu_model", says(cpu.model)},
		{"cpu_freq", says(cpu.frequency)},
		{"cpu_threads", counts(int64(cpu.threads))},
		{"cpu_cores", counts(int64(cpu.cores))},
		{"cpu_dies", counts(int64(cpu.dies))},
		{"manufacturer", file("/sys/class/dmi/id/sys_vendor")},
		{"model", file("/sys/class/dmi/id/product_name")},
		{"serial", file("/sys/class/dmi/id/product_serial")},
		{"bios_version", file("/sys/class/dmi/id/bios_version")},
		{"sp_version", nil},
		{"enclosure", nil},
		{"boot_id", file("/proc/sys/kernel/random/boot_id")},
		{"last_boot", n.lastBoot},
		{"tz", says(time.Now().Format("-0700"))},
		{"connect_to", nil},
	}
	for _, name := range []string{
		"node_env", "asset_env", "loc_country", "loc_city", "loc_zip", "loc_addr", "loc_building", "loc_floor", "loc_room", "loc_rack",
		"sec_zone", "team_integ", "team_support",
	} {
		list = append(list, property{name, nil})
	}
	return list, nil
}

func (n Node) properties() ([]api.Property, error) {
	facts, err := n.facts()
	if err != nil {
		return nil, err
	}
	doc, err := n.Store.Merged()
	if err != nil {
		return nil, err
	}
	ev, err := n.Store.Evaluator(object.Path{}, doc, "")
	if err != nil {
		return nil, err
	}
	list := make([]api.Property, 0, len(facts))
	for _, f := range facts {
		p := api.Property{Name: f.name, Title: strings.ReplaceAll(f.name, "_", " ")}
		value, written, known, err := configured(ev, f.name)
		switch {
		case err != nil:
			p.Source, p.Error = "config", err.Error()
		case written:
			p.Source, p.Value = "config", value
		case f.probe != nil:
			p.Source = "probe"
			if p.Value, err = f.probe(); err != nil {
				p.Error = err.Error()
			}
		case known:
			p.Source, p.Value = "default", value
		default:
			p.Source, p.Error = "default", errUnknown.Error()
		}
		list = append(list, p)
	}
	return list, nil
}

// configured is the value of the node keyword of a property; node_env is that of
// node.env.
func configured(ev *config.Evaluator, name string) (value string, written, known bool, err error) {
	name = strings.TrimPrefix(name, "node_")
	if slices.Contains([]string{"nodename", "version", "cluster_id", "listener_port", "os_name", "boot_id", "last_boot", "cpu_cores"}, name) {
		return "", false, false, nil
	}
	o, ok := ev.Options("node", name)
	if !ok {
		return "", false, false, nil
	}
	_, _, written, err = ev.Raw("node", o)
	if err != nil {
		return "", false, false, err
	}
	value, _, err = ev.Value("node", o)
	return value, written && err == nil, true, err
}

// machine is the name of the processor architecture, as uname has it.
func machine() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return runtime.GOARCH
	}
	return unix.ByteSliceToString(u.Machine[:])
}

func (n Node) lastBoot() (any, error) {
	for line := range strings.Lines(n.read("/proc/stat")) {
		if rest, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("/proc/stat: %w", err)
			}
			return time.Unix(seconds, 0).Format(time.RFC3339), nil
		}
	}
	return nil, errUnknown
}

// osRelease reads the assignments of an os-release file.
func osRelease(data string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(data) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if words, err := config.ParseShlex(value); err == nil && len(words) == 1 {
			value = words[0]
		}
		values[name] = value
	}
	return values
}

// parseMemory is the total of /proc/meminfo, in bytes.
func parseMemory(data string) int64 {
	for line := range strings.Lines(data) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err == nil && kilobytes > 0 && kilobytes < 1<<50 {
				return kilobytes << 10
			}
		}
	}
	return 0
}

type cpus struct {
	model, frequency     string // frequency in GHz
	threads, cores, dies int
}

// parseCPUs reads /proc/cpuinfo.
func parseCPUs(data string) cpus {
	var c cpus
	dies, cores := map[string]bool{}, map[string]bool{}
	die := ""
	s := bufio.NewScanner(strings.NewReader(data))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		name, value, _ := strings.Cut(s.Text(), ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "processor":
			c.threads++
			die = ""
		case "physical id":
			die = value
			dies[value] = true
		case "core id":
			cores[die+"/"+value] = true
		case "model name", "Model":
			c.model = value
		case "cpu MHz":
			if mhz, err := strconv.ParseFloat(value, 64); err == nil && mhz > 0 && c.frequency == "" {
				c.frequency = strconv.FormatFloat(mhz/1000, 'f', 2, 64)
			}
		}
	}
	c.cores, c.dies = max(len(cores), min(c.threads, 1)), max(len(dies), min(c.threads, 1))
	if len(cores) == 0 {
		c.cores = c.threads
	}
	return c
}
