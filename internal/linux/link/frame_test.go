package link_test

import (
	"bytes"
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/linux/link"
)

func mac(last byte) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, last} }

func TestAProbeClaimsNothingAndAnAnnouncementDoes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"192.0.2.7", "2001:db8::7"} {
		addr, other := netip.MustParseAddr(text), netip.MustParseAddr(text).Next()

		if got := link.Claimed(link.Announcement(mac(1), addr), addr); !bytes.Equal(got, mac(1)) {
			t.Errorf("%s: announced by %s, want %s", addr, got, mac(1))
		}
		if got := link.Claimed(link.Announcement(mac(1), other), addr); got != nil {
			t.Errorf("%s: an announcement of %s claims it for %s", addr, other, got)
		}
		// Two that probe at once both learn of it.
		if got := link.Claimed(link.Probe(mac(2), addr), addr); !bytes.Equal(got, mac(2)) {
			t.Errorf("%s: probed by %s, want %s", addr, got, mac(2))
		}
		if got := link.Claimed(link.Probe(mac(2), other), addr); got != nil {
			t.Errorf("%s: a probe of %s claims it for %s", addr, other, got)
		}
	}
}

// The bytes are those of RFC 5227 and RFC 4861, written by hand.
func TestFramesAreThoseOfTheStandards(t *testing.T) {
	t.Parallel()
	for want, got := range map[string][]byte{
		"ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 00000000 000000000000 c0000207":                                                                          link.Probe(mac(1), netip.MustParseAddr("192.0.2.7")),
		"ffffffffffff 020000000001 0806 0001 0800 06 04 0002 020000000001 c0000207 020000000001 c0000207":                                                                          link.Announcement(mac(1), netip.MustParseAddr("192.0.2.7")),
		"3333ff000007 020000000001 86dd 60000000 0018 3a ff 00000000000000000000000000000000 ff0200000000000000000001ff000007 8700 4ce1 00000000 20010db8000000000000000000000007": link.Probe(mac(1), netip.MustParseAddr("2001:db8::7")),
	} {
		if hex.EncodeToString(got) != strings.ReplaceAll(want, " ", "") {
			t.Errorf("got  %x\nwant %s", got, strings.ReplaceAll(want, " ", ""))
		}
	}
}

func TestAFrameThatIsCutOrChangedSaysNothing(t *testing.T) {
	t.Parallel()
	addr := netip.MustParseAddr("2001:db8::7")
	frame := link.Announcement(mac(1), addr)
	for n := range frame {
		if got := link.Claimed(frame[:n], addr); got != nil {
			t.Errorf("the first %d bytes claim it for %s", n, got)
		}
	}
	for n := 14; n < len(frame); n++ {
		changed := bytes.Clone(frame)
		changed[n] ^= 0x41
		// The class and the label of a flow are of no weight.
		if got := link.Claimed(changed, addr); got != nil && (n < 14 || n > 17) {
			t.Errorf("with byte %d changed it claims it for %s", n, got)
		}
	}
}

func FuzzClaimed(f *testing.F) {
	v4, v6 := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")
	for _, addr := range []netip.Addr{v4, v6} {
		f.Add(link.Probe(mac(1), addr))
		f.Add(link.Announcement(mac(1), addr))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		for _, addr := range []netip.Addr{v4, v6} {
			if got := link.Claimed(frame, addr); got != nil && len(got) != 6 {
				t.Errorf("claimed by %q", got)
			}
		}
	})
}
