package inventory_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/inventory"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// machine is a node whose system has these files.
func machine(t *testing.T, files map[string]string, script string) inventory.Node {
	t.Helper()
	root := t.TempDir()
	h := host.Host{Paths: hosttest.Paths(t), Hostname: "n1", Self: "om", Runner: hosttest.NewScript(t, script)}
	for name, content := range files {
		write(t, filepath.Join(root, name), content, 0o644)
	}
	return inventory.Node{Host: h, Store: store.New(h, nil), Root: root, Version: "1.2", Drivers: []string{"fs.flag", "app.simple"}}
}

func write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func system() map[string]string {
	return map[string]string{
		"/etc/os-release":            "NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n# x\nodd\n",
		"/proc/sys/kernel/osrelease": "6.1.0\n",
		"/proc/meminfo":              "MemTotal:       16384 kB\nMemAvailable:    8192 kB\nSwapTotal: 0 kB\n",
		"/proc/cpuinfo":              "processor : 0\nmodel name : X 1\ncpu MHz : 2600.0\nphysical id : 0\ncore id : 0\n\nprocessor : 1\nphysical id : 0\ncore id : 0\n\nprocessor : 2\nphysical id : 1\ncore id : 0\n",
		"/proc/stat":                 "cpu 1\nbtime 1700000000\n",
		"/etc/passwd":                "root:x:0:0::/root:/bin/sh\n# c\nbad\nalice:x:1000:1000::/:/bin/sh\n",
		"/etc/group":                 "root:x:0:\nusers:x:100:alice\n",
		"/sys/bus/pci/devices/0000:00:03.0/class": "0x020000\n", "/sys/bus/pci/devices/0000:00:03.0/vendor": "0x8086\n", "/sys/bus/pci/devices/0000:00:03.0/device": "0x100e\n",
		"/etc/iscsi/initiatorname.iscsi":               "## x\nInitiatorName=iqn.1993-08.org.debian:01:aa\n",
		"/sys/class/fc_host/host7/port_name":           "0x2100\n",
		"/sys/class/fc_remote_ports/rport-7:0-1/roles": "FCP Target\n", "/sys/class/fc_remote_ports/rport-7:0-1/port_name": "0x5006\n",
		"/sys/class/fc_remote_ports/rport-8:0-1/roles": "FCP Target\n", "/sys/class/fc_remote_ports/rport-8:0-1/port_name": "0x5007\n",
		"/sys/block/vda/size": "4194304\n", "/sys/block/vda/vda1/partition": "1\n", "/sys/block/vda/vda1/size": "2048\n",
		"/sys/block/loop0/size": "0\n", "/sys/block/md0/size": "204800\n", "/sys/block/dm-0/size": "204800\n", "/sys/block/dm-0/dm/uuid": "LVM-x\n",
		"/var/lib/dpkg/status":  "Package: b\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:2-3\nDescription: x\n more: y\n\nPackage: gone\nStatus: deinstall ok config-files\nVersion: 1\n\nPackage: a\nStatus: install ok installed\nArchitecture: all\nVersion: 1\n",
		"/lib/apk/db/installed": "P:musl\nV:1.2.4-r2\nA:x86_64\nt:1700000000\n\n",
	}
}

func TestAsset(t *testing.T) {
	t.Parallel()
	n := machine(t, system(), "")
	write(t, filepath.Join(n.Host.Paths.Etc(), "node.conf"), "[node]\nloc_city = Gouvieux\nos_kernel = 5.4 by hand\nenv = PRD\nserial = {nosuch}\n", 0o600)

	a, err := n.Asset()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range a.Properties {
		value, err := json.Marshal(p.Value)
		if err != nil {
			t.Fatal(err)
		}
		got[p.Name] = p.Source + " " + string(value) + " " + p.Error
	}
	for name, want := range map[string]string{
		"nodename": `probe "n1" `, "version": `probe "1.2" `, "os_vendor": `probe "Debian GNU/Linux" `, "os_release": `probe "12" `,
		"os_kernel": `config "5.4 by hand" `, "mem_bytes": `probe 16777216 `, "cpu_model": `probe "X 1" `, "cpu_freq": `probe "2.60" `,
		"cpu_threads": `probe 3 `, "cpu_cores": `probe 2 `, "cpu_dies": `probe 2 `, "manufacturer": `probe null the system does not tell`,
		"loc_city": `config "Gouvieux" `, "node_env": `config "PRD" `,
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if !strings.Contains(got["serial"], "nosuch") || !strings.HasPrefix(got["serial"], "config null") {
		t.Errorf("serial: %q", got["serial"])
	}
	if diff := cmp.Diff([]api.User{{ID: 0, Name: "root"}, {ID: 1000, Name: "alice"}}, a.Users); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]api.Group{{ID: 0, Name: "root"}, {ID: 100, Name: "users"}}, a.Groups); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]api.Hardware{{Path: "0000:00:03.0", Type: "pci", Class: "network", Description: "8086:100e"}}, a.Hardware); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]api.SANPathInitiator{{Name: "iqn.1993-08.org.debian:01:aa", Type: "iscsi"}, {Name: "2100", Type: "fc"}}, a.Initiators); diff != "" {
		t.Error(diff)
	}
	fc := api.SANPath{Initiator: api.SANPathInitiator{Name: "2100", Type: "fc"}, Target: api.SANPathTarget{Name: "5006", Type: "fc"}}
	if diff := cmp.Diff([]api.SANPath{fc}, a.Paths); diff != "" {
		t.Error(diff)
	}
}

func TestDisks(t *testing.T) {
	t.Parallel()
	d := machine(t, system(), "").Disks()
	want := []api.Disk{
		{ID: "LVM-x", Devpath: "/dev/dm-0", Size: 100, Type: "dm", Regions: []api.Region{}},
		{ID: "n1.md0", Devpath: "/dev/md0", Size: 100, Type: "md", Regions: []api.Region{}},
		{ID: "n1.vda", Devpath: "/dev/vda", Size: 2048, Type: "disk", Regions: []api.Region{{ID: "vda1", Devpath: "/dev/vda1", Size: 1}}},
	}
	if diff := cmp.Diff(want, d.Disks); diff != "" {
		t.Error(diff)
	}
}

func TestPackages(t *testing.T) {
	t.Parallel()
	p, err := machine(t, system(), "").Packages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []api.Package{
		{Name: "a", Version: "1", Arch: "all", Type: "deb"},
		{Name: "b", Version: "1:2-3", Arch: "amd64", Type: "deb"},
		{Name: "musl", Version: "1.2.4-r2", Arch: "x86_64", Type: "apk", InstalledAt: time.Unix(1700000000, 0).UTC()},
	}
	if diff := cmp.Diff(want, p.Packages); diff != "" {
		t.Error(diff)
	}
}

func TestTheLastReportIsGivenAndMadeWhenThereIsNone(t *testing.T) {
	t.Parallel()
	files := system()
	n := machine(t, files, "")
	first, err := n.LastDisks()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(n.Root, "/sys/block/vdb/size"), "4194304\n", 0o644)
	again, err := n.LastDisks()
	if err != nil || len(again.Disks) != len(first.Disks) {
		t.Errorf("%d disks, then %d without a new inventory, %v", len(first.Disks), len(again.Disks), err)
	}
	if err := n.Keep(inventory.ReportDisk, n.Disks()); err != nil {
		t.Fatal(err)
	}
	if again, err = n.LastDisks(); err != nil || len(again.Disks) != len(first.Disks)+1 {
		t.Errorf("%d disks after a new inventory, %v", len(again.Disks), err)
	}
	info, err := os.Stat(filepath.Join(n.Host.Paths.Var(), "node/disk.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	n := machine(t, nil, "")
	write(t, filepath.Join(n.Root, "usr/sbin/lvm"), "", 0o755)
	write(t, filepath.Join(n.Root, "sbin/zfs"), "not executable", 0o644)
	want := []string{"drivers.resource.app.simple", "drivers.resource.fs.flag", "node.x.lvm2"}
	for range 2 {
		got, err := n.Capabilities()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
		write(t, filepath.Join(n.Root, "usr/bin/podman"), "", 0o755)
	}
	got, err := n.Scan()
	if err != nil || !slices.Contains(got, "node.x.podman") {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/proc/mdstat":                 "Personalities : [raid1]\nmd0 : active raid1 vdb[0] vdc[1](F)\n      204608 blocks super 1.2 [2/1] [U_]\n\nunused devices: <none>\n",
		"/proc/meminfo":                "MemTotal: 1000 kB\nMemAvailable: 249 kB\nSwapTotal: 100 kB\nSwapFree: 100 kB\n",
		"/proc/net/bonding/bond0":      "Bonding Mode: x\nMII Status: up\n\nSlave Interface: eth0\nMII Status: up\n\nSlave Interface: eth1\nMII Status: down\n",
		"/sys/class/net/eth0/device/x": "", "/sys/class/net/eth0/carrier": "1\n", "/sys/class/net/eth0/speed": "1000\n",
		"/sys/class/net/veth0/carrier": "1\n",
		"/proc/self/mounts":            "proc /proc proc rw 0 0\n/dev/nosuch /no\\040such ext4 rw 0 0\n",
	}
	got := machine(t, files, "").Check().Checks
	want := []inventory.Check{
		{Driver: "eth", Path: "eth0", Name: "link", Value: 1},
		{Driver: "eth", Path: "eth0", Name: "speed", Value: 1000, Unit: "Mb/s"},
		{Driver: "md", Path: "md0", Name: "missing", Value: 1},
		{Driver: "mem", Path: "mem", Name: "used", Value: 76, Unit: "%"},
		{Driver: "swap", Path: "swap", Name: "used", Value: 0, Unit: "%"},
		{Driver: "lag", Path: "bond0", Name: "links", Value: 2},
		{Driver: "lag", Path: "bond0", Name: "links down", Value: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
