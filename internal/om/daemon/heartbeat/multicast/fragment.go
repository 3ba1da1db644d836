package multicast

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"time"

	daemon "github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
)

// A datagram is a piece of a frame:
//
//	"HFMC" | version 1 | length of a piece 2 | number of the piece 2 | length of the frame 4 | frame 8 | piece
//
// Every piece of a frame but the last is of one length. Nothing of it is authenticated:
// a frame that was put together wrong does not open.
const (
	magic       = "HFMC"
	version     = 1
	headerSize  = len(magic) + 1 + 2 + 2 + 4 + idSize
	idSize      = 8
	pieceSize   = 1400 - headerSize // with the headers below, no link cuts it further
	leastPiece  = 256
	mostPieces  = daemon.MaxFrame/leastPiece + 1
	lifetime    = 5 * time.Second // of a frame that does not become whole
	mostSources = 256             // that have a frame under way
	mostBytes   = 8 << 20         // of all frames under way
)

// frameID tells a frame from the others of its sender.
type frameID [idSize]byte

func newID() (id frameID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// cut makes datagrams of a frame.
func cut(frame []byte, id frameID) [][]byte {
	var all [][]byte
	for n := 0; n*pieceSize < len(frame); n++ {
		piece := frame[n*pieceSize : min((n+1)*pieceSize, len(frame))]
		b := make([]byte, 0, headerSize+len(piece))
		b = append(append(b, magic...), version)
		b = binary.BigEndian.AppendUint16(b, uint16(pieceSize))
		b = binary.BigEndian.AppendUint16(b, uint16(n))
		b = binary.BigEndian.AppendUint32(b, uint32(len(frame))) //nolint:gosec // bounded by MaxFrame
		all = append(all, append(append(b, id[:]...), piece...))
	}
	return all
}

// piece is a datagram that was read.
type piece struct {
	id     frameID
	number int
	of     int // pieces
	whole  int // length of the frame
	bytes  []byte
}

func parse(datagram []byte) (p piece, ok bool) {
	if len(datagram) <= headerSize || string(datagram[:4]) != magic || datagram[4] != version {
		return p, false
	}
	length := int(binary.BigEndian.Uint16(datagram[5:]))
	p.number = int(binary.BigEndian.Uint16(datagram[7:]))
	p.whole = int(binary.BigEndian.Uint32(datagram[9:]))
	p.id = frameID(datagram[13:headerSize])
	p.bytes = datagram[headerSize:]
	if length < leastPiece || p.whole == 0 || p.whole > daemon.MaxFrame {
		return p, false
	}
	p.of = (p.whole + length - 1) / length
	want := length
	if p.number == p.of-1 {
		want = p.whole - length*(p.of-1)
	}
	return p, p.number < p.of && len(p.bytes) == want
}

// assembler puts frames together. A source has one frame under way, the newest: what
// is missing of the one before will not come any more.
type assembler struct {
	sources map[netip.Addr]*partial
	bytes   int
}

type partial struct {
	id     frameID
	of     int
	whole  int
	pieces map[int][]byte
	began  time.Time
	bytes  int
	done   bool // it was whole: what comes of it again is nothing new
}

func newAssembler() *assembler { return &assembler{sources: map[netip.Addr]*partial{}} }

// add takes a datagram of a source, and returns the frame that it makes whole.
func (a *assembler) add(from netip.Addr, datagram []byte, now time.Time) []byte {
	p, ok := parse(datagram)
	if !ok {
		return nil
	}
	if p.of == 1 {
		return append([]byte(nil), p.bytes...)
	}
	was := a.sources[from]
	if was == nil || was.id != p.id {
		a.drop(from)
		a.makeRoom(now)
		was = &partial{id: p.id, of: p.of, whole: p.whole, pieces: map[int][]byte{}, began: now}
		a.sources[from] = was
	}
	if was.done || was.of != p.of || was.whole != p.whole || was.pieces[p.number] != nil {
		return nil
	}
	for a.bytes+len(p.bytes) > mostBytes && a.dropOldest(from) {
	}
	if a.bytes+len(p.bytes) > mostBytes {
		return nil
	}
	was.pieces[p.number] = append([]byte(nil), p.bytes...)
	was.bytes += len(p.bytes)
	a.bytes += len(p.bytes)
	if len(was.pieces) < was.of {
		return nil
	}
	frame := make([]byte, 0, was.whole)
	for n := range was.of {
		frame = append(frame, was.pieces[n]...)
	}
	a.bytes -= was.bytes
	was.bytes, was.pieces, was.done = 0, nil, true
	return frame
}

// expire forgets what does not become whole.
func (a *assembler) expire(now time.Time) {
	for from, p := range a.sources {
		if now.Sub(p.began) >= lifetime {
			a.drop(from)
		}
	}
}

func (a *assembler) drop(from netip.Addr) {
	if p := a.sources[from]; p != nil {
		a.bytes -= p.bytes
		delete(a.sources, from)
	}
}

// makeRoom lets one more source in.
func (a *assembler) makeRoom(now time.Time) {
	if len(a.sources) < mostSources {
		return
	}
	a.expire(now)
	for len(a.sources) >= mostSources && a.dropOldest(netip.Addr{}) {
	}
}

// dropOldest forgets what is under way for the longest time, of another source.
func (a *assembler) dropOldest(except netip.Addr) bool {
	var oldest netip.Addr
	for from, p := range a.sources {
		if from != except && (!oldest.IsValid() || p.began.Before(a.sources[oldest].began)) {
			oldest = from
		}
	}
	a.drop(oldest)
	return oldest.IsValid()
}
