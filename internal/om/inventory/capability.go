package inventory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/linux/launch"
)

// tools are the programs of the system that drivers run, and what having them is
// called.
func tools() map[string]string {
	return map[string]string{
		"blkid": "blkid", "brctl": "brctl", "btrfs": "btrfs", "cryptsetup": "cryptsetup", "docker": "docker", "drbdadm": "drbd",
		"exportfs": "nfs", //nolint:misspell // a program
		"findmnt":  "findmnt", "ip": "ip", "iscsiadm": "iscsi", "losetup": "losetup", "lsblk": "lsblk", "lvm": "lvm2",
		"lxc-info": "lxc", "mdadm": "md", "mkfs.btrfs": "mkfs.btrfs", "mkfs.ext4": "mkfs.ext4", "mkfs.xfs": "mkfs.xfs", "mount": "mount",
		"multipath": "multipath", "nft": "nft", "podman": "podman", "rbd": "rbd", "rsync": "rsync", "sg_persist": "sg_persist",
		"mpathpersist": "mpathpersist", "ssh": "ssh", "systemctl": "systemd", "virsh": "libvirt", "VBoxManage": "vbox", "zfs": "zfs", "zpool": "zpool",
	}
}

// Scan looks for what the node can do, and keeps it for the next reader.
func (n Node) Scan() ([]string, error) {
	names := []string{}
	for _, d := range n.Drivers {
		names = append(names, "drivers.resource."+d)
	}
	for tool, name := range tools() {
		if n.find(tool) != "" {
			names = append(names, "node.x."+name)
		}
	}
	if n.read("/sys/fs/cgroup/cgroup.controllers") != "" {
		names = append(names, "node.cgroup2")
	}
	slices.Sort(names)
	return names, keep(n.capabilities(), names)
}

// Capabilities are those of the last scan; one is made when there was none.
func (n Node) Capabilities() (names []string, err error) {
	if there, err := load(n.capabilities(), &names); there || err != nil {
		return names, err
	}
	return n.Scan()
}

func (n Node) capabilities() string { return filepath.Join(n.Host.Paths.Var(), capabilityFile) }

// find is where a program is, empty when the node has not got it.
func (n Node) find(tool string) string {
	for dir := range strings.SplitSeq(launch.DefaultPath, ":") {
		name := n.path(filepath.Join(dir, tool))
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return name
		}
	}
	return ""
}
