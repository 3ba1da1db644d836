package multicast_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	daemon "github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/multicast"
)

func source(n int) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 0x0a000000+uint32(n))))
}

func frame(size int, seed byte) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i*7) ^ seed ^ byte(i>>8)
	}
	return b
}

// Datagrams come in any order, twice, and mixed with those of other sources: each frame
// of which all came is whole, once.
func TestFramesBecomeWholeInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		type sent struct {
			from     int
			datagram []byte
		}
		var wire []sent
		want := map[int][]byte{}
		for from := range rapid.IntRange(1, 4).Draw(rt, "sources") {
			size := rapid.SampledFrom([]int{1, 100, 1378, 1379, 1380, 5000, 20000}).Draw(rt, "size")
			want[from] = frame(size, byte(from))
			for _, d := range multicast.Cut(want[from]) {
				for range rapid.IntRange(1, 2).Draw(rt, "times") {
					wire = append(wire, sent{from, d})
				}
			}
		}
		wire = rapid.Permutation(wire).Draw(rt, "order")

		a, got := multicast.NewAssembler(), map[int][]byte{}
		for _, s := range wire {
			if whole := a.Add(source(s.from), s.datagram, time.Time{}); whole != nil {
				if got[s.from] != nil && len(whole) > 1400 {
					rt.Errorf("source %d: whole twice", s.from)
				}
				got[s.from] = whole
			}
		}

		for from, w := range want {
			if !bytes.Equal(got[from], w) {
				rt.Errorf("source %d: %d bytes, want %d", from, len(got[from]), len(w))
			}
		}
		if _, held := a.Held(); held > 0 {
			rt.Errorf("%d bytes are held", held)
		}
	})
}

func TestAFrameOfWhichOneDatagramIsLostIsNone(t *testing.T) {
	t.Parallel()
	all := multicast.Cut(frame(10000, 1))
	for lost := range all {
		a := multicast.NewAssembler()
		for n, d := range all {
			if n != lost && a.Add(source(1), d, time.Time{}) != nil {
				t.Fatalf("whole without datagram %d", lost)
			}
		}
		a.Expire(time.Time{}.Add(multicast.Lifetime))
		if sources, held := a.Held(); sources > 0 || held > 0 {
			t.Errorf("%d sources, %d bytes are held for ever", sources, held)
		}
	}
}

func TestTheNextFrameOfASourceTakesThePlaceOfTheOneBefore(t *testing.T) {
	t.Parallel()
	a := multicast.NewAssembler()
	a.Add(source(1), multicast.Cut(frame(5000, 1))[0], time.Time{})
	next := frame(5000, 2)
	var got []byte
	for _, d := range multicast.Cut(next) {
		got = a.Add(source(1), d, time.Time{})
	}
	if !bytes.Equal(got, next) {
		t.Errorf("%d bytes", len(got))
	}
}

// Whoever floods the group has this node hold no more than its bounds.
func TestWhatIsUnderWayIsBounded(t *testing.T) {
	t.Parallel()
	a := multicast.NewAssembler()
	big := multicast.Cut(frame(daemon.MaxFrame, 1))
	now := time.Time{}
	for from := range 2000 {
		for _, d := range big[:40] {
			now = now.Add(time.Microsecond)
			a.Add(source(from), d, now)
		}
		if sources, held := a.Held(); sources > multicast.MostSources || held > multicast.MostBytes {
			t.Fatalf("%d sources, %d bytes are held", sources, held)
		}
	}
	// Who sends now is heard all the same.
	var got []byte
	for _, d := range big {
		now = now.Add(time.Microsecond)
		got = a.Add(source(9999), d, now)
	}
	if len(got) != daemon.MaxFrame {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzAdd(f *testing.F) {
	for _, d := range multicast.Cut(frame(3000, 1)) {
		f.Add(d, d)
	}
	f.Add([]byte("HFMC"), []byte{})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		a := multicast.NewAssembler()
		for _, d := range [][]byte{one, two, one} {
			if got := a.Add(source(1), d, time.Time{}); len(got) > daemon.MaxFrame || len(got) > len(one)+len(two) {
				t.Errorf("%d bytes", len(got))
			}
		}
		a.Held()
	})
}
