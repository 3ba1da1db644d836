package inventory_test

import (
	"path/filepath"
	"testing"
)

// Whatever the files of the system hold, an inventory is made of them.
func FuzzSystem(f *testing.F) {
	f.Add("processor : 0\nMemTotal: 1 kB\nPackage: a\nStatus: install ok installed\n\n/dev/a /b\\040c ext4 rw\nmd0 : active x\n [2/1]\nSlave Interface: a\n")
	f.Fuzz(func(t *testing.T, text string) {
		n := machine(t, nil, "")
		for _, name := range []string{
			"proc/cpuinfo", "proc/meminfo", "proc/mdstat", "proc/stat", "etc/passwd", "etc/group", "etc/os-release", "proc/net/bonding/b",
			"var/lib/dpkg/status", "lib/apk/db/installed", "sys/block/vda/size", "proc/self/mounts",
		} {
			write(t, filepath.Join(n.Root, name), text, 0o644)
		}
		if _, err := n.Asset(); err != nil {
			t.Error(err)
		}
		if _, err := n.Packages(t.Context()); err != nil {
			t.Error(err)
		}
		n.Check()
	})
}
