package multicast

import (
	"net/netip"
	"time"
)

// Bounds of what is under way.
const (
	MostBytes   = mostBytes
	MostSources = mostSources
	Lifetime    = lifetime
)

// Cut makes datagrams of a frame.
func Cut(frame []byte) [][]byte { return cut(frame, newID()) }

// Assembler puts frames together.
type Assembler struct{ a *assembler }

// NewAssembler returns one that has nothing.
func NewAssembler() Assembler { return Assembler{newAssembler()} }

// Add takes a datagram.
func (a Assembler) Add(from netip.Addr, datagram []byte, now time.Time) []byte {
	return a.a.add(from, datagram, now)
}

// Expire forgets what is old.
func (a Assembler) Expire(now time.Time) { a.a.expire(now) }

// Held is what is under way: how many sources, and how many bytes.
func (a Assembler) Held() (sources, bytes int) {
	for _, p := range a.a.sources {
		for _, b := range p.pieces {
			bytes += len(b)
		}
	}
	if bytes != a.a.bytes {
		panic("the count of bytes is wrong")
	}
	return len(a.a.sources), bytes
}
