package inventory

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// Checks are the measures of the health of a node.
type Checks struct {
	Node   string    `json:"node"`
	At     time.Time `json:"at"`
	Checks []Check   `json:"checks"`
}

// Check is one measure, of a driver among fs_u, fs_i, eth, lag, md, mem and swap.
type Check = api.Check

// CheckItems are the measures of a node, as the API gives them.
func CheckItems(c Checks) []api.CheckItem {
	return items(c.Checks, func(k Check) api.CheckItem {
		return api.CheckItem{Kind: "CheckItem", Meta: api.NodeMeta{Node: c.Node}, Data: k}
	})
}

// LastChecks are the last measures, made when there are none.
func (n Node) LastChecks() (c Checks, err error) {
	if there, err := n.last(ReportChecks, &c); there || err != nil {
		return c, err
	}
	c = n.Check()
	return c, n.Keep(ReportChecks, c)
}

// Check measures the health of the node.
func (n Node) Check() Checks {
	c := Checks{Node: n.Host.Hostname, At: time.Now(), Checks: []Check{}}
	c.Checks = append(c.Checks, n.filesystems()...)
	c.Checks = append(c.Checks, n.links()...)
	c.Checks = append(c.Checks, parseMDStat(n.read("/proc/mdstat"))...)
	c.Checks = append(c.Checks, parseUsage(n.read("/proc/meminfo"))...)
	for _, bond := range n.list("/proc/net/bonding") {
		c.Checks = append(c.Checks, parseBond(bond, n.read("/proc/net/bonding/"+bond))...)
	}
	return c
}

// filesystems measures those that are on a device, each once.
func (n Node) filesystems() []Check {
	var list []Check
	for _, m := range parseMounts(n.read("/proc/self/mounts")) {
		var st unix.Statfs_t
		if err := unix.Statfs(m.dir, &st); err != nil || st.Blocks == 0 {
			continue
		}
		used := st.Blocks - st.Bfree
		list = append(list, Check{Driver: "fs_u", Path: m.dir, Name: m.device, Value: percent(used, used+st.Bavail), Unit: "%"})
		if st.Files > 0 {
			list = append(list, Check{Driver: "fs_i", Path: m.dir, Name: m.device, Value: percent(st.Files-st.Ffree, st.Files), Unit: "%"})
		}
	}
	return list
}

// percent rounds up: a filesystem is full before it is.
func percent(part, whole uint64) int64 {
	if whole == 0 || part > whole {
		return 0
	}
	return int64((float64(part)*100 + float64(whole) - 1) / float64(whole))
}

type mounted struct{ device, dir string }

// parseMounts lists the mounts of devices, the last one on each directory, each
// device once.
func parseMounts(data string) []mounted {
	var list []mounted
	seen := map[string]bool{}
	for line := range strings.Lines(data) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "/dev/") || f[2] == "squashfs" || f[2] == "iso9660" || seen[f[0]] {
			continue
		}
		seen[f[0]] = true
		list = append(list, mounted{unescape(f[0]), unescape(f[1])})
	}
	return list
}

// unescape reads the octal escapes of the mount table.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// links measures the interfaces that are devices.
func (n Node) links() []Check {
	var list []Check
	names := n.list("/sys/class/net")
	slices.Sort(names)
	for _, name := range names {
		dir := "/sys/class/net/" + name + "/"
		if len(n.list(dir+"device")) == 0 {
			continue
		}
		up, err := strconv.ParseInt(n.read(dir+"carrier"), 10, 64)
		if err != nil {
			up = 0 // the interface is down
		}
		list = append(list, Check{Driver: "eth", Path: name, Name: "link", Value: up})
		if speed, err := strconv.ParseInt(n.read(dir+"speed"), 10, 64); err == nil && speed > 0 {
			list = append(list, Check{Driver: "eth", Path: name, Name: "speed", Value: speed, Unit: "Mb/s"})
		}
	}
	return list
}

// parseBond counts the links of a bond that are down.
func parseBond(name, data string) []Check {
	slaves, down := int64(0), int64(0)
	in := false
	for line := range strings.Lines(data) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case key == "Slave Interface":
			in = true
			slaves++
		case key == "MII Status" && in && strings.TrimSpace(value) != "up":
			down++
		}
	}
	return []Check{{Driver: "lag", Path: name, Name: "links", Value: slaves}, {Driver: "lag", Path: name, Name: "links down", Value: down}}
}

// parseMDStat counts the devices an array misses.
func parseMDStat(data string) []Check {
	var list []Check
	name := ""
	for line := range strings.Lines(data) {
		f := strings.Fields(line)
		if len(f) > 2 && f[1] == ":" {
			name = f[0]
			continue
		}
		for _, word := range f {
			want, have, ok := strings.Cut(strings.Trim(word, "[]"), "/")
			if name == "" || !ok || !strings.HasPrefix(word, "[") {
				continue
			}
			w, err1 := strconv.ParseInt(want, 10, 32)
			h, err2 := strconv.ParseInt(have, 10, 32)
			if err1 == nil && err2 == nil {
				list = append(list, Check{Driver: "md", Path: name, Name: "missing", Value: max(w-h, 0)})
				name = ""
			}
		}
	}
	return list
}

// parseUsage measures the memory and the swap that are used.
func parseUsage(data string) []Check {
	values := map[string]uint64{}
	for line := range strings.Lines(data) {
		f := strings.Fields(line)
		if len(f) >= 2 {
			if v, err := strconv.ParseUint(f[1], 10, 64); err == nil {
				values[strings.TrimSuffix(f[0], ":")] = v
			}
		}
	}
	var list []Check
	for _, c := range []struct{ driver, total, free string }{{"mem", "MemTotal", "MemAvailable"}, {"swap", "SwapTotal", "SwapFree"}} {
		total, free := values[c.total], values[c.free]
		if total > 0 && free <= total {
			list = append(list, Check{Driver: c.driver, Path: c.driver, Name: "used", Value: percent(total-free, total), Unit: "%"})
		}
	}
	return list
}
