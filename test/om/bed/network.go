package bed

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Network is a switch for each network of the bed, in this process. It forwards
// frames between nodes, as far as the faults let it.
type Network struct {
	mu     sync.Mutex
	random *rand.Rand
	ports  map[socket]*port
	seats  map[seat]socket // where the address of an interface was seen
	faults map[way]Fault
	counts map[string]Count
}

// Fault is what happens to frames on their way from a node to another.
type Fault struct {
	Loss  float64       // share that is lost: 1 is a cut
	Delay time.Duration // of each frame
}

// Count is what a node has sent to other nodes.
type Count struct{ Frames, Bytes int64 }

// socket is an interface of a node.
type socket struct {
	network int
	node    string
}

type seat struct {
	network int
	mac     [6]byte
}

// way is one direction between two nodes; network -1 is all of them.
type way struct {
	network  int
	from, to string
}

type port struct {
	tap *os.File
	in  chan []byte
}

// queue bounds the frames that wait for a node: more are lost, as on any switch.
const queue = 1024

func newNetwork(seed uint64) *Network {
	return &Network{
		random: rand.New(rand.NewPCG(seed, 1)),
		ports:  map[socket]*port{}, seats: map[seat]socket{}, faults: map[way]Fault{}, counts: map[string]Count{},
	}
}

// plug connects an interface of a node.
func (w *Network) plug(network int, node string, fd int) {
	_ = unix.SetNonblock(fd, true)
	p := &port{tap: os.NewFile(uintptr(fd), "tap"), in: make(chan []byte, queue)}
	s := socket{network, node}
	w.mu.Lock()
	w.ports[s] = p
	w.mu.Unlock()
	go func() { // the node hears
		for frame := range p.in {
			_, _ = p.tap.Write(frame)
		}
		_ = p.tap.Close()
	}()
	go func() { // the node speaks
		b := make([]byte, 1<<16)
		for {
			n, err := p.tap.Read(b)
			if err != nil {
				return
			}
			w.forward(s, p, append([]byte(nil), b[:n]...))
		}
	}()
}

// unplug disconnects a node from everything.
func (w *Network) unplug(node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s, p := range w.ports {
		if s.node == node {
			delete(w.ports, s)
			close(p.in)
		}
	}
}

func (w *Network) forward(from socket, p *port, frame []byte) {
	if len(frame) < 14 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ports[from] != p {
		return // it was unplugged
	}
	w.seats[seat{from.network, [6]byte(frame[6:12])}] = from
	to, ok := w.seats[seat{from.network, [6]byte(frame[:6])}]
	// What the kernel says of itself over IPv6 is not counted, nor what the client is answered.
	if kind := binary.BigEndian.Uint16(frame[12:]); kind != 0x86dd && to.node != Client {
		c := w.counts[from.node]
		w.counts[from.node] = Count{c.Frames + 1, c.Bytes + int64(len(frame))}
	}
	if ok {
		w.deliver(from, to, frame)
		return
	}
	for to := range w.ports {
		if to.network == from.network && to.node != from.node {
			w.deliver(from, to, frame)
		}
	}
}

func (w *Network) deliver(from, to socket, frame []byte) {
	f, ok := w.faults[way{from.network, from.node, to.node}]
	if !ok {
		f = w.faults[way{-1, from.node, to.node}]
	}
	if f.Loss > 0 && w.random.Float64() < f.Loss {
		return
	}
	if f.Delay == 0 {
		w.put(to, frame)
		return
	}
	time.AfterFunc(f.Delay, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.put(to, frame)
	})
}

func (w *Network) put(to socket, frame []byte) {
	p := w.ports[to]
	if p == nil {
		return
	}
	select {
	case p.in <- frame:
	default:
	}
}

// All is every network of the bed.
const All = -1

// Set puts a fault on the way from a node to another, this way only. The zero Fault
// mends it.
func (w *Network) Set(network int, from, to string, f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f == (Fault{}) {
		delete(w.faults, way{network, from, to})
		return
	}
	w.faults[way{network, from, to}] = f
}

// Between puts a fault on both ways between two nodes.
func (w *Network) Between(network int, a, b string, f Fault) {
	w.Set(network, a, b, f)
	w.Set(network, b, a, f)
}

// Cut separates the nodes of a side from those of the other, on all networks.
func (w *Network) Cut(side, other []string) {
	for _, a := range side {
		for _, b := range other {
			w.Between(All, a, b, Fault{Loss: 1})
		}
	}
}

// Heal mends everything.
func (w *Network) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.faults)
}

// Sent is what a node has sent to others since the bed was made.
func (w *Network) Sent(node string) Count {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[node]
}
