package inventory_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/inventory"
)

// Whatever the files of the system hold, they are read to their end.
func FuzzSystem(f *testing.F) {
	f.Add("processor : 0\nMemTotal: 1 kB\nPackage: a\nStatus: install ok installed\n\n/dev/a /b\\040c ext4 rw\nmd0 : active x\n [2/1]\nSlave Interface: a\n")
	f.Add("P:a\nV:1\nt:1\n\nname\t0:1-1\tx86_64\t1\tRSA, Key ID 1\n0x020000\nNAME=\"a b\"\nroot:x:0:\nSwapTotal: 1 kB\nSwapFree: 2 kB\n")
	f.Fuzz(func(_ *testing.T, text string) { inventory.ParseAll(text) })
}
