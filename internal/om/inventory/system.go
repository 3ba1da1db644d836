package inventory

import (
	"bufio"
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// users lists the accounts of /etc/passwd: those a directory of the network has
// are not of this node.
func (n Node) users() []api.User {
	list := []api.User{}
	for _, a := range parseAccounts(n.read("/etc/passwd")) {
		list = append(list, api.User(a))
	}
	return list
}

func (n Node) groups() []api.Group {
	list := []api.Group{}
	for _, a := range parseAccounts(n.read("/etc/group")) {
		list = append(list, api.Group(a))
	}
	return list
}

type account struct {
	ID   int
	Name string
}

// parseAccounts reads the names and numbers of a passwd or group file.
func parseAccounts(data string) []account {
	var list []account
	for line := range strings.Lines(data) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 3 || fields[0] == "" || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if id, err := strconv.Atoi(fields[2]); err == nil {
			list = append(list, account{id, fields[0]})
		}
	}
	return list
}

// addresses lists those of the interfaces, the loopback left out.
func addresses() ([]api.IPAddress, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	list := []api.IPAddress{}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 {
			continue
		}
		all, err := i.Addrs()
		if err != nil {
			continue // it went meanwhile
		}
		for _, a := range all {
			network, ok := a.(*net.IPNet)
			if !ok {
				continue
			}
			ones, _ := network.Mask.Size()
			kind := "ipv6"
			if network.IP.To4() != nil {
				kind = "ipv4"
			}
			list = append(list, api.IPAddress{
				Mac: i.HardwareAddr.String(), Address: network.IP.String(), Intf: i.Name, Mask: strconv.Itoa(ones), Type: kind,
			})
		}
	}
	return list, nil
}

// hardware lists the devices of the PCI bus.
func (n Node) hardware() []api.Hardware {
	list := []api.Hardware{}
	const bus = "/sys/bus/pci/devices/"
	for _, at := range n.list(bus) {
		dir := bus + at + "/"
		list = append(list, api.Hardware{
			Path: at, Type: "pci", Driver: n.link(dir + "driver"), Class: className(n.read(dir + "class")),
			Description: strings.TrimPrefix(n.read(dir+"vendor"), "0x") + ":" + strings.TrimPrefix(n.read(dir+"device"), "0x"),
		})
	}
	return list
}

// className is the base class of a PCI device, "0x020000" for one.
func className(code string) string {
	names := map[string]string{
		"00": "unclassified", "01": "storage", "02": "network", "03": "display", "04": "multimedia", "05": "memory", "06": "bridge",
		"07": "communication", "08": "system", "09": "input", "0a": "dock", "0b": "processor", "0c": "serial bus", "0d": "wireless",
		"0e": "intelligent", "0f": "satellite", "10": "encryption", "11": "signal processing", "12": "accelerator", "13": "instrumentation",
	}
	code = strings.TrimPrefix(code, "0x")
	if len(code) < 2 {
		return ""
	}
	return cmp.Or(names[code[:2]], code)
}

// san lists the ports of the node on storage networks, and the ways from them.
func (n Node) san() ([]api.SANPathInitiator, []api.SANPath) {
	initiators, paths := []api.SANPathInitiator{}, []api.SANPath{}
	for line := range strings.Lines(n.read("/etc/iscsi/initiatorname.iscsi")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "InitiatorName="); ok && name != "" {
			initiators = append(initiators, api.SANPathInitiator{Name: name, Type: "iscsi"})
		}
	}
	const sessions = "/sys/class/iscsi_session/"
	for _, s := range n.list(sessions) {
		from, to := n.read(sessions+s+"/initiatorname"), n.read(sessions+s+"/targetname")
		if from != "" && to != "" {
			paths = append(paths, way(from, to, "iscsi"))
		}
	}
	const hosts, remotes = "/sys/class/fc_host/", "/sys/class/fc_remote_ports/"
	for _, h := range n.list(hosts) {
		name := portName(n.read(hosts + h + "/port_name"))
		if name == "" {
			continue
		}
		initiators = append(initiators, api.SANPathInitiator{Name: name, Type: "fc"})
		for _, r := range n.list(remotes) {
			// rport-<host>:<bus>-<port>
			if number, _, _ := strings.Cut(strings.TrimPrefix(r, "rport-"), ":"); "host"+number != h {
				continue
			}
			if strings.Contains(n.read(remotes+r+"/roles"), "Target") {
				paths = append(paths, way(name, portName(n.read(remotes+r+"/port_name")), "fc"))
			}
		}
	}
	return initiators, paths
}

func way(from, to, kind string) api.SANPath {
	return api.SANPath{Initiator: api.SANPathInitiator{Name: from, Type: kind}, Target: api.SANPathTarget{Name: to, Type: kind}}
}

func portName(text string) string { return strings.TrimPrefix(text, "0x") }

// disks lists the block devices that hold something, with their parts.
func (n Node) disks() []api.Disk {
	list := []api.Disk{}
	const block = "/sys/block/"
	names := n.list(block)
	slices.Sort(names)
	for _, name := range names {
		dir := block + name + "/"
		size := sectors(n.read(dir + "size"))
		if size == 0 || strings.HasPrefix(name, "ram") || strings.HasPrefix(name, "zram") || strings.HasPrefix(name, "sr") {
			continue
		}
		d := api.Disk{
			ID:      cmp.Or(n.read(dir+"device/wwid"), n.read(dir+"wwid"), n.read(dir+"dm/uuid"), n.read(dir+"md/uuid"), n.Host.Hostname+"."+name),
			Devpath: "/dev/" + name, Size: size, Vendor: n.read(dir + "device/vendor"), Model: n.read(dir + "device/model"),
			Type: diskType(name), Regions: []api.Region{},
		}
		parts := n.list(dir)
		slices.Sort(parts)
		for _, part := range parts {
			if n.read(dir+part+"/partition") != "" {
				d.Regions = append(d.Regions, api.Region{
					ID: part, Devpath: "/dev/" + part, Size: sectors(n.read(dir + part + "/size")), Group: strings.Join(n.list(dir+part+"/holders"), " "),
				})
			}
		}
		list = append(list, d)
	}
	return list
}

// sectors is a size in sectors, as megabytes.
func sectors(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n >> 11
}

func diskType(name string) string {
	for _, kind := range []string{"loop", "md", "dm", "nvme", "drbd", "nbd", "rbd", "zd"} {
		if rest, ok := strings.CutPrefix(name, kind); ok && (kind == "dm" || rest != "" && rest[0] >= '0' && rest[0] <= '9') {
			return kind
		}
	}
	return "disk"
}

// stanzas calls f with the fields of each paragraph of a control file.
func stanzas(data string, f func(fields map[string]string)) {
	fields := map[string]string{}
	flush := func() {
		if len(fields) > 0 {
			f(fields)
			fields = map[string]string{}
		}
	}
	s := bufio.NewScanner(strings.NewReader(data))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		if strings.TrimSpace(line) == "" {
			flush()
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if ok && !strings.ContainsAny(name, " \t") {
			fields[name] = strings.TrimSpace(value)
		}
	}
	flush()
}
